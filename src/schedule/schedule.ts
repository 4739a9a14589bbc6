import { checkInstant, checkOptions, InvalidInputError, shown } from '../error/index.js'
import { formatDuration, systemClock } from '../time/index.js'
import { checkCount } from './option-checks.js'
import { Countdown } from './count/countdown.js'
import { limits } from './defaults.js'
import { LAST_INSTANT, NEVER } from './horizon.js'
import { jitterOf } from './jitter.js'
import type { Rule } from './rule.js'
import type { RuleJson, ScheduleJson } from './schedule-json.js'
import { describeTerms, type Missed, type TermsJson } from './terms.js'
import { formatLocal, formatOffset } from './zone/wall-text.js'

/** The seed that chooses where in an hour or minute a hashed field falls. */
export interface SeedOptions {
  /**
   * The timer's identity, any stable string: it determines the timer's delay within the jitter. Without it,
   * or without jitter, the result is the rule's own instant.
   */
  readonly seed?: string
}

/** From when to preview, and with which seed. */
export interface PreviewOptions extends SeedOptions {
  /** The first instant to include, in epoch milliseconds. Default: now. */
  readonly from?: number
}

/** One occurrence, as a preview shows it. */
export interface Occurrence {
  /** Epoch milliseconds. */
  readonly at: number
  /** The local time in the zone: `'2027-03-14T03:00:00'`. */
  readonly local: string
  /** Local time minus UTC: `'-04:00'`. */
  readonly offset: string
  /** Why the occurrence is not simply what was written. Mostly empty. */
  readonly reasons: readonly string[]
}

/**
 * A rule with its terms: an immutable value that computes when something occurs. `next` is pure. It works for
 * any instant, also in the past, and its result is always strictly later. `JSON.stringify` writes a stable
 * form that `parseSchedule` restores.
 *
 * Proven by test/schedule/property.test.ts, test/schedule/terms.test.ts and
 * test/schedule/schedule-json.test.ts.
 */
export class Schedule {
  readonly #rule: Rule
  readonly #terms: TermsJson
  readonly #earliest: number
  readonly #latest: number
  readonly #countdown: Countdown | undefined

  /** Only the builders and `parseSchedule` make schedules. */
  constructor(rule: Rule, terms: TermsJson) {
    this.#rule = rule
    this.#terms = terms
    this.#earliest = terms.from ?? -Infinity
    this.#latest = (terms.until ?? NEVER) - 1
    if (terms.times !== undefined) {
      const first = Math.max(this.#earliest, rule.startsAt)
      this.#countdown = new Countdown((after, at, most) => rule.count(after, at, most), first, terms.times)
    }
    Object.freeze(this)
  }

  get type(): RuleJson['type'] {
    return this.#rule.toJSON().type
  }

  get zone(): string {
    return this.#rule.zone.name
  }

  get missed(): Missed {
    return this.#terms.missed
  }

  get missedLimit(): number {
    return this.#terms.missedLimit
  }

  /** How long after its instant an occurrence may fire. The engine picks the moment. 0 means at once. */
  get windowMs(): number {
    return this.#terms.windowMs ?? 0
  }

  get jitterMs(): number {
    return this.#terms.jitterMs ?? 0
  }

  /**
   * Returns the first occurrence strictly later than `afterEpochMs`, or undefined if the schedule has ended.
   */
  next(afterEpochMs: number, options?: SeedOptions): number | undefined {
    checkInstant(afterEpochMs)
    if (options === undefined) {
      const nominal = this.#next(Math.floor(afterEpochMs))
      return nominal <= LAST_INSTANT ? nominal : undefined
    }
    checkOptions('next', options, ['seed'])
    const shift = this.#shift(options.seed)
    const at = this.#next(Math.floor(afterEpochMs) - shift) + shift
    return at <= LAST_INSTANT ? at : undefined
  }

  /** Returns the first `count` occurrences at or after `from`, each with the reason for every adjustment. */
  preview(count: number, options: PreviewOptions = {}): Occurrence[] {
    checkCount('preview', count, limits.preview)
    checkOptions('preview', options, ['from', 'seed'])
    const { from = systemClock.now() } = options
    checkInstant(from)
    const shift = this.#shift(options.seed)
    const occurrences: Occurrence[] = []
    let after = Math.ceil(from) - 1 - shift
    while (occurrences.length < count) {
      const nominal = this.#next(after)
      if (nominal + shift > LAST_INSTANT) break
      occurrences.push(this.#occurrence(Math.max(after, this.#earliest - 1), nominal, shift))
      after = nominal
    }
    return occurrences
  }

  /** Describes the schedule in words. */
  describe(): string {
    return this.#rule.describe() + describeTerms(this.#terms, this.#rule.zone)
  }

  toJSON(): ScheduleJson {
    return { version: 1, ...this.#rule.toJSON(), ...this.#terms }
  }

  #next(after: number): number {
    const at = this.#rule.next(after < this.#earliest ? this.#earliest - 1 : after)
    if (at > this.#latest) return NEVER
    return this.#countdown === undefined || this.#countdown.includes(at) ? at : NEVER
  }

  #shift(seed: string | undefined): number {
    if (seed === undefined || this.#terms.jitterMs === undefined) return 0
    if (typeof seed === 'string') return jitterOf(seed, this.#terms.jitterMs)
    throw new InvalidInputError('invalid-option', `seed must be a string, got ${shown(seed)}`)
  }

  #occurrence(after: number, nominal: number, shift: number): Occurrence {
    const at = nominal + shift
    const second = Math.floor(at / 1000)
    const { offset } = this.#rule.zone.segmentAt(second)
    const reasons = this.#rule.reasons(after, nominal)
    if (shift > 0) reasons.push(`${formatDuration(shift)} later by jitter`)
    return { at, local: formatLocal(second + offset), offset: formatOffset(offset), reasons }
  }
}
