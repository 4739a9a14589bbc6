/** The instants JavaScript can name, and with them the instants a schedule can answer. */
export const LAST_INSTANT = 8.64e15
export const FIRST_SECOND = -8.64e12
export const LAST_SECOND = 8.64e12

/** What is answered, in any unit, when nothing follows. */
export const NEVER = Infinity
