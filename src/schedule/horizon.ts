/** The years schedules answer for, 1 to 9999: what ISO 8601 dates and RFC 5545 can write. */
export const FIRST_INSTANT = -62_135_596_800_000
export const LAST_INSTANT = 253_402_300_799_999
export const FIRST_SECOND = FIRST_INSTANT / 1000
export const LAST_SECOND = Math.floor(LAST_INSTANT / 1000)

/** What is answered, in any unit, when nothing follows. */
export const NEVER = Infinity
