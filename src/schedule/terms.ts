import { InvalidInputError } from '../error/index.js'
import { type Duration, formatDuration, parseDuration } from '../time/index.js'
import { checkChoice, checkCount } from './choice.js'
import { defaults, limits } from './defaults.js'
import { formatLocal, parseInstant } from './wall-text.js'
import type { Zone } from './zone.js'

/** What happens to occurrences that came while nobody was there to fire them. */
export type Missed = 'skip' | 'once' | 'all'

/** What every builder takes beside its rule. */
export interface TermOptions {
  /** The first instant that may occur: epoch ms, or text, local to the schedule's zone if it has no offset. */
  readonly from?: number | string
  /** The first instant that no longer occurs. */
  readonly until?: number | string
  /** How many occurrences there are, counted from `from`. */
  readonly times?: number
  /** Missed occurrences: none of them, the latest (the default), or all up to `missedLimit`. */
  readonly missed?: Missed
  /** The most missed occurrences that are made up for, the latest ones. Default 100. */
  readonly missedLimit?: number
  /** Each timer is this much later at the most, and always by the same amount. */
  readonly jitter?: Duration
  /** An occurrence may fire at any time this long after its instant; the engine picks a quiet one. */
  readonly window?: Duration
}

export const termNames = [
  'from',
  'until',
  'times',
  'missed',
  'missedLimit',
  'jitter',
  'window',
] as const satisfies readonly (keyof TermOptions)[]

/** The terms in their stored form: instants and durations in milliseconds, what was not given left out. */
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
 * Reads the terms a schedule runs under. `ruleFrom` is where the rule itself begins, -Infinity if anywhere:
 * counting needs a first occurrence.
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
    throw new InvalidInputError(
      'invalid-option',
      'times counts occurrences from `from` on: give `from` as well',
    )
  }
  const jitterMs = readSpread('jitter', options.jitter, limits.jitterMs)
  const windowMs = readSpread('window', options.window, limits.windowMs)
  if (jitterMs !== undefined && windowMs !== undefined) {
    throw new InvalidInputError(
      'invalid-option',
      'jitter fixes the place of a timer and window leaves it to the engine: give one of them',
    )
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

function readSpread(what: string, duration: Duration | undefined, most: number): number | undefined {
  if (duration === undefined) return undefined
  const ms = parseDuration(duration)
  if (ms >= 1 && ms <= most) return ms
  throw new InvalidInputError(
    'invalid-option',
    `${what} must be from 1ms to ${formatDuration(most)}, got ${formatDuration(ms)}`,
  )
}
