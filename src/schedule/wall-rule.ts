import { wallReasons } from './adjustment.js'
import { DAY_S } from './calendar.js'
import { checkChoice } from './choice.js'
import { Countdown } from './countdown.js'
import { defaults } from './defaults.js'
import { NEVER } from './horizon.js'
import type { Pattern } from './pattern.js'
import type { Rule } from './rule.js'
import type { RuleJson, WallJson } from './schedule-json.js'
import { type Gap, type Overlap, WallClock } from './wall-clock.js'
import { formatLocal } from './wall-text.js'
import { type Locals, Without } from './without.js'
import { type Zone, zoneOf } from './zone.js'

/** How a schedule reads the clocks on the wall. */
export interface WallOptions {
  /** An IANA name, `'UTC'` (the default) or a fixed offset such as `'+05:30'`. */
  readonly zone?: string
  /**
   * A local time that does not exist: the first instant after the gap (`'next'`, the default), the same
   * distance after it (`'shift'`, as RFC 5545 reads it), or not at all (`'skip'`).
   */
  readonly gap?: Gap
  /** A local time that comes twice: the first of the two (the default), the second, or both. */
  readonly overlap?: Overlap
}

export const wallNames = ['zone', 'gap', 'overlap'] as const satisfies readonly (keyof WallOptions)[]

export interface Wall {
  readonly zone: Zone
  readonly gap: Gap
  readonly overlap: Overlap
}

export function readWall(options: WallOptions): Wall {
  const { zone = defaults.zone, gap = defaults.gap, overlap = defaults.overlap } = options
  return {
    zone: zoneOf(zone),
    gap: checkChoice('gap', gap, ['next', 'shift', 'skip']),
    overlap: checkChoice('overlap', overlap, ['first', 'second', 'both']),
  }
}

export function wallJson(wall: Wall): WallJson {
  return { zone: wall.zone.name, gap: wall.gap, overlap: wall.overlap }
}

// A preview tells of a few.
const MOST_LEFT_OUT = 3

export interface WallRuleParts {
  readonly pattern: Pattern
  /** What is left out of the pattern; `count` counts it all the same. */
  readonly except?: Locals
  readonly wall: Wall
  readonly json: RuleJson
  readonly words: string
  /** Whether every instant with a matching local time counts, whatever the gap and overlap rules say. */
  readonly running?: boolean
  /** Why the days after one and up to another are not the dates that were written. */
  readonly dateReasons?: (afterDay: number, day: number) => string[]
  /** Epoch milliseconds before which and after which the rule itself has no occurrences. */
  readonly from?: number
  readonly untilInclusive?: number
  /** How many occurrences the rule itself has, counted from `from`. */
  readonly count?: number
}

/** A pattern of local times in a zone, as a rule. */
export class WallRule implements Rule {
  readonly zone: Zone
  readonly from: number
  readonly #clock: WallClock
  readonly #parts: WallRuleParts
  readonly #latest: number
  readonly #without: Without | undefined
  readonly #countdown: Countdown | undefined

  constructor(parts: WallRuleParts) {
    const { wall, pattern } = parts
    // An instant that exists once is met once, one that does not exist never: that is time as it passes.
    const clockOf = (named: Pattern) =>
      parts.running
        ? new WallClock(named, wall.zone, 'skip', 'both')
        : new WallClock(named, wall.zone, wall.gap, wall.overlap)
    if (parts.except !== undefined) {
      this.#without = new Without(pattern, parts.except)
    }
    this.#clock = clockOf(this.#without ?? pattern)
    this.zone = wall.zone
    this.from = parts.from ?? -Infinity
    this.#parts = parts
    this.#latest = parts.untilInclusive ?? NEVER
    if (parts.count !== undefined) {
      const counted = this.#without === undefined ? this.#clock : clockOf(pattern)
      this.#countdown = new Countdown(
        (after, at, most) => counted.count(after, at, most),
        this.from,
        parts.count,
      )
    }
  }

  next(after: number): number {
    const at = this.#clock.next(after < this.from ? this.from - 1 : after)
    if (at > this.#latest) return NEVER
    return this.#countdown === undefined || this.#countdown.includes(at) ? at : NEVER
  }

  count(after: number, at: number, most: number): number {
    return this.#clock.count(Math.max(after, this.from - 1), at, most)
  }

  reasons(after: number, at: number): string[] {
    const afterSecond = Math.max(Math.floor(after / 1000), Math.floor(at / 1000) - 400 * DAY_S)
    const local = (second: number) => second + this.zone.segmentAt(second).offset
    const leftOut = this.#without?.leftOut(local(afterSecond) + 1, local(at / 1000), MOST_LEFT_OUT) ?? []
    const leftOutReasons = leftOut.map((time) => `${formatLocal(time)} is left out`)
    if (this.#parts.running) return leftOutReasons
    const days = [local(afterSecond), local(at / 1000)].map((second) => Math.floor(second / DAY_S))
    return [
      ...leftOutReasons,
      ...(this.#parts.dateReasons?.(days[0]!, days[1]!) ?? []),
      ...wallReasons(this.#clock, afterSecond, at / 1000),
    ]
  }

  describe(): string {
    return `${this.#parts.words} in ${this.zone.name}`
  }

  toJSON(): RuleJson {
    return this.#parts.json
  }
}
