import { adjustmentReasons } from './zone/adjustment-reasons.js'
import { DAY_S } from './calendar/calendar.js'
import { checkChoice } from './option-checks.js'
import { Countdown } from './count/countdown.js'
import { defaults } from './defaults.js'
import { NEVER } from './horizon.js'
import type { Pattern } from './calendar/pattern.js'
import type { Rule } from './rule.js'
import type { RuleJson, WallJson } from './schedule-json.js'
import { type Gap, type Overlap, WallClock } from './zone/wall-clock.js'
import { formatLocal } from './zone/wall-text.js'
import { type LocalTimesAndDays, ExceptPattern } from './amend/except-pattern.js'
import { type Zone, zoneOf } from './zone/zone.js'

/** How a schedule translates local times into instants. */
export interface WallOptions {
  /** An IANA name, `'UTC'` (the default) or a fixed offset such as `'+05:30'`. */
  readonly zone?: string
  /**
   * What to do with a local time that does not exist: take the first instant after the gap (`'next'`, the
   * default), the same distance after it (`'shift'`, as in RFC 5545), or nothing (`'skip'`).
   */
  readonly gap?: Gap
  /**
   * Which instant to take for a local time that comes twice: the first (the default), the second, or both.
   */
  readonly overlap?: Overlap
}

export const wallOptionNames = ['zone', 'gap', 'overlap'] as const satisfies readonly (keyof WallOptions)[]

export interface WallSettings {
  readonly zone: Zone
  readonly gap: Gap
  readonly overlap: Overlap
}

export function readWallOptions(options: WallOptions): WallSettings {
  const { zone = defaults.zone, gap = defaults.gap, overlap = defaults.overlap } = options
  return {
    zone: zoneOf(zone),
    gap: checkChoice('gap', gap, ['next', 'shift', 'skip']),
    overlap: checkChoice('overlap', overlap, ['first', 'second', 'both']),
  }
}

export function wallJson(wall: WallSettings): WallJson {
  return { zone: wall.zone.name, gap: wall.gap, overlap: wall.overlap }
}

// A preview mentions at most this many exceptions.
const MAX_EXCEPTIONS_SHOWN = 3

export interface WallRuleParts {
  readonly pattern: Pattern
  /** Exceptions from the pattern. They still count towards `count`. */
  readonly except?: LocalTimesAndDays
  readonly wall: WallSettings
  readonly json: RuleJson
  readonly words: string
  /** Whether every instant with a matching local time counts, regardless of the gap and overlap rules. */
  readonly followsElapsedTime?: boolean
  /** Explains why the days after one and up to another are not the dates that were written. */
  readonly dateReasons?: (afterDay: number, day: number) => string[]
  /** Epoch milliseconds. The rule itself has no occurrences before the first and after the second. */
  readonly from?: number
  readonly untilInclusive?: number
  /** How many occurrences the rule itself has, counted from `from`. */
  readonly count?: number
}

/**
 * A pattern of local times in a zone, as a rule.
 *
 * Proven by test/schedule/dst-table.test.ts and test/schedule/walk.test.ts.
 */
export class WallRule implements Rule {
  readonly zone: Zone
  readonly startsAt: number
  readonly #clock: WallClock
  readonly #parts: WallRuleParts
  readonly #latest: number
  readonly #exceptPattern: ExceptPattern | undefined
  readonly #countdown: Countdown | undefined

  constructor(parts: WallRuleParts) {
    const { wall, pattern } = parts
    // Under `skip` and `both`, every instant counts exactly once: a missing local time has none, and a
    // repeated one has two. That is elapsed time.
    const clockOf = (given: Pattern) =>
      parts.followsElapsedTime
        ? new WallClock(given, wall.zone, 'skip', 'both')
        : new WallClock(given, wall.zone, wall.gap, wall.overlap)
    if (parts.except !== undefined) {
      this.#exceptPattern = new ExceptPattern(pattern, parts.except)
    }
    this.#clock = clockOf(this.#exceptPattern ?? pattern)
    this.zone = wall.zone
    this.startsAt = parts.from ?? -Infinity
    this.#parts = parts
    this.#latest = parts.untilInclusive ?? NEVER
    if (parts.count !== undefined) {
      const counted = this.#exceptPattern === undefined ? this.#clock : clockOf(pattern)
      this.#countdown = new Countdown(
        (after, at, most) => counted.count(after, at, most),
        this.startsAt,
        parts.count,
      )
    }
  }

  next(after: number): number {
    const at = this.#clock.next(after < this.startsAt ? this.startsAt - 1 : after)
    if (at > this.#latest) return NEVER
    return this.#countdown === undefined || this.#countdown.includes(at) ? at : NEVER
  }

  count(after: number, at: number, most: number): number {
    return this.#clock.count(Math.max(after, this.startsAt - 1), at, most)
  }

  reasons(after: number, at: number): string[] {
    const afterSecond = Math.max(Math.floor(after / 1000), Math.floor(at / 1000) - 400 * DAY_S)
    const local = (second: number) => second + this.zone.segmentAt(second).offset
    const leftOut =
      this.#exceptPattern?.leftOut(local(afterSecond) + 1, local(at / 1000), MAX_EXCEPTIONS_SHOWN) ?? []
    const leftOutReasons = leftOut.map((time) => `${formatLocal(time)} is left out`)
    if (this.#parts.followsElapsedTime) return leftOutReasons
    const days = [local(afterSecond), local(at / 1000)].map((second) => Math.floor(second / DAY_S))
    return [
      ...leftOutReasons,
      ...(this.#parts.dateReasons?.(days[0]!, days[1]!) ?? []),
      ...adjustmentReasons(this.#clock, afterSecond, at / 1000),
    ]
  }

  describe(): string {
    return `${this.#parts.words} in ${this.zone.name}`
  }

  toJSON(): RuleJson {
    return this.#parts.json
  }
}
