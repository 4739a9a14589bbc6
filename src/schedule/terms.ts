import { InvalidInputError } from '../error/index.js'
import { type Duration, formatDuration, parseDuration } from '../time/index.js'
import { checkChoice, checkCount } from './option-checks.js'
import { defaults, limits } from './defaults.js'
import { formatLocal, parseInstant } from './zone/wall-text.js'
import type { Zone } from './zone/zone.js'

/** What to do with occurrences that passed while no process was running. */
export type Missed = 'skip' | 'once' | 'all'

/** The options that every builder takes besides its rule. */
export interface TermOptions {
  /**
   * The first instant that may occur: epoch milliseconds, or a string. A string without an offset is a local
   * time in the schedule's zone.
   */
  readonly from?: number | string
  /** The first instant that no longer occurs. */
  readonly until?: number | string
  /** How many occurrences there are, counted from `from`. */
  readonly times?: number
  /** Which missed occurrences to fire: none, the latest (the default), or all up to `missedLimit`. */
  readonly missed?: Missed
  /** The most missed occurrences to fire. The latest ones win. Default: 100. */
  readonly missedLimit?: number
  /** Delays each timer by up to this much, always by the same amount. */
  readonly jitter?: Duration
  /**
   * An occurrence may fire at any time up to this long after its instant. The engine picks a quiet moment.
   */
  readonly window?: Duration
}

export const termOptionNames = [
  'from',
  'until',
  'times',
  'missed',
  'missedLimit',
  'jitter',
  'window',
] as const satisfies readonly (keyof TermOptions)[]

/**
 * The stored form of the terms: instants and durations in milliseconds, without the options that were not
 * given.
 */
export interface TermsJson {
  readonly from?: number
  readonly until?: number
  readonly times?: number
  readonly missed: Missed
  readonly missedLimit: number
  readonly jitterMs?: number
  readonly windowMs?: number
}

/**
 * Reads the terms of a schedule. `ruleFrom` is the instant at which the rule itself begins, or -Infinity.
 * `times` needs a first occurrence to count from.
 */
export function readTerms(options: TermOptions, zone: Zone, ruleFrom: number): TermsJson {
  const { missed = defaults.missed, missedLimit = defaults.missedLimit } = options
  const from = options.from === undefined ? undefined : parseInstant('from', options.from, zone)
  const until = options.until === undefined ? undefined : parseInstant('until', options.until, zone)
  if (from !== undefined && until !== undefined && until <= from) {
    throw new InvalidInputError(
      'invalid-option',
      `until must be later than from: from=${from} until=${until}`,
    )
  }
  const times = options.times === undefined ? undefined : checkCount('times', options.times, limits.times)
  if (times !== undefined && from === undefined && ruleFrom === -Infinity) {
    throw new InvalidInputError('invalid-option', 'times needs an instant to count from: give `from` as well')
  }
  const jitterMs = readDelay('jitter', options.jitter, limits.jitterMs)
  const windowMs = readDelay('window', options.window, limits.windowMs)
  if (jitterMs !== undefined && windowMs !== undefined) {
    throw new InvalidInputError('invalid-option', 'jitter and window cannot be combined: give one of them')
  }
  return {
    ...(from !== undefined && { from }),
    ...(until !== undefined && { until }),
    ...(times !== undefined && { times }),
    missed: checkChoice('missed', missed, ['skip', 'once', 'all']),
    missedLimit: checkCount('missedLimit', missedLimit, limits.missed),
    ...(jitterMs !== undefined && { jitterMs }),
    ...(windowMs !== undefined && { windowMs }),
  }
}

export function describeTerms(terms: TermsJson, zone: Zone): string {
  const parts = [
    terms.from === undefined ? '' : `from ${instantText(terms.from, zone)}`,
    terms.until === undefined ? '' : `until ${instantText(terms.until, zone)}`,
    terms.times === undefined ? '' : terms.times === 1 ? 'once' : `${terms.times} times`,
    terms.jitterMs === undefined
      ? ''
      : `up to ${formatDuration(terms.jitterMs)} later, the same for each timer`,
    terms.windowMs === undefined ? '' : `at some time within ${formatDuration(terms.windowMs)}`,
  ]
  return parts.map((part) => (part === '' ? '' : `, ${part}`)).join('')
}

function instantText(instant: number, zone: Zone): string {
  const second = Math.floor(instant / 1000)
  return formatLocal(second + zone.segmentAt(second).offset).replace(/:00$/, '')
}

function readDelay(what: string, duration: Duration | undefined, most: number): number | undefined {
  if (duration === undefined) return undefined
  const ms = parseDuration(duration)
  if (ms >= 1 && ms <= most) return ms
  throw new InvalidInputError(
    'invalid-option',
    `${what} must be from 1ms to ${formatDuration(most)}, got ${formatDuration(ms)}`,
  )
}
