/** What a schedule does when nothing else is said, and how far anything here may go. */
export const defaults = Object.freeze({
  zone: 'UTC',
  gap: 'next',
  overlap: 'first',
  invalidDate: 'backward',
  missed: 'once',
  missedLimit: 100,
  /** An occurrence this late still counts as in time when missed ones are skipped. */
  missedGraceMs: 60_000,
  simulateLimit: 100_000,
} as const)

export const limits = Object.freeze({
  cronLength: 256,
  rruleLength: 1024,
  /** With the DTSTART, EXDATE and RDATE lines. */
  rruleLinesLength: 16_384,
  /** How many dates and times a rule may leave out, and how many it may add. */
  amendments: 256,
  timesPerDay: 96,
  times: 5000,
  missed: 1000,
  preview: 10_000,
  simulate: 1_000_000,
  jitterMs: 366 * 86_400_000,
  windowMs: 366 * 86_400_000,
} as const)
