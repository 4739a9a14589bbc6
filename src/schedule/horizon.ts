/** Schedules work for the years 1 to 9999, as ISO 8601 and RFC 5545 can write no others. */
export const FIRST_INSTANT = -62_135_596_800_000
export const LAST_INSTANT = 253_402_300_799_999
export const FIRST_SECOND = FIRST_INSTANT / 1000
export const LAST_SECOND = Math.floor(LAST_INSTANT / 1000)

/** Means that nothing follows. Used for every unit of time. */
export const NEVER = Infinity
