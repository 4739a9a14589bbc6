/** The defaults of schedule options, and below them the limits of everything in this folder. */
export const defaults = Object.freeze({
  zone: 'UTC',
  gap: 'next',
  overlap: 'first',
  invalidDate: 'backward',
  missed: 'once',
  missedLimit: 100,
  /** With `missed: 'skip'`, an occurrence fires if it is at most this late. */
  missedGraceMs: 60_000,
  simulateLimit: 100_000,
} as const)

export const limits = Object.freeze({
  cronLength: 256,
  rruleLength: 1024,
  scheduleJsonLength: 16_384,
  zoneNameLength: 64,
  /** The rule together with its DTSTART, EXDATE and RDATE lines. */
  rruleLinesLength: 16_384,
  /** The most exceptions of a rule, and the most additions. */
  amendments: 256,
  timesPerDay: 96,
  times: 5000,
  missed: 1000,
  preview: 10_000,
  simulate: 1_000_000,
  jitterMs: 366 * 86_400_000,
  windowMs: 366 * 86_400_000,
  cachedZones: 512,
  cachedFormatters: 32,
} as const)
