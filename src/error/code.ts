/**
 * Every error code of Carillon, with what to do about it. Codes are stable: programs may branch on them.
 * `docs/errors.md` carries one row for each; a test holds the two together.
 */
export const errorCodes = Object.freeze({
  'clock-busy': 'Await the running `advance` of this virtual clock before you start another.',
  'clock-stuck': 'A wake keeps re-arming itself at one instant: let it wait at least a millisecond.',
  'expression-too-long': 'Shorten the expression; the message says how long it may be.',
  'invalid-cron': 'Correct the field the message names.',
  'invalid-duration':
    "Give milliseconds, a text such as '5m' or '1h30m', or an ISO 8601 duration such as 'PT5M'.",
  'invalid-handle': 'Give the number that `set` returned.',
  'invalid-instant': 'Give epoch milliseconds as a finite number.',
  'invalid-option': 'Correct the option the message names.',
  'invalid-rrule': 'Correct the part the message names; see RFC 5545, section 3.3.10.',
  'invalid-schedule': 'Give what `JSON.stringify` made of a schedule of this version or an older one.',
  'invalid-tick': 'Give a whole number from 0 to 2^53 - 1.',
  'invalid-time': "Give a time of day such as '09:00' or '09:00:30'.",
  'invalid-token': 'Give a whole number from 0 to 2^53 - 1.',
  'invalid-zone': "Give an IANA name such as 'Europe/Paris', 'UTC', or an offset such as '+05:30'.",
  'never-matches': 'Name a date that exists: nothing would ever occur.',
  'tick-went-back': 'Advance a wheel only forward; read the tick from a clock that does not go back.',
  'too-many-occurrences': 'Ask for fewer, or for a shorter time; the message says how many there may be.',
  'unknown-option': 'Remove the option or mend its spelling; the message lists what is accepted.',
  'wheel-busy': 'Call `advance` and `drain` from outside `fire`.',
  'wheel-full': 'Spread the timers over several wheels.',
  stopped: 'It was stopped: make a new one.',
} as const)

export type ErrorCode = keyof typeof errorCodes
