import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { type Duration, formatDuration, parseDuration } from '../../time/index.js'
import { FIRST_INSTANT, LAST_INSTANT, NEVER } from '../horizon.js'
import type { Rule } from '../rule.js'
import { Schedule } from '../schedule.js'
import type { EveryJson } from '../schedule-json.js'
import { readTerms, termOptionNames, type TermOptions } from '../terms.js'
import { parseInstant } from '../zone/wall-text.js'
import { type Zone, zoneOf } from '../zone/zone.js'

/** The options of `every`. */
export interface EveryOptions extends TermOptions {
  /**
   * One instant of the series, as epoch milliseconds or a string. The series runs in both directions from it.
   * Default: the epoch.
   */
  readonly anchor?: number | string
}

/**
 * Occurs at regular intervals of elapsed time, whatever the clocks do. `every('15m')` occurs at :00, :15, :30
 * and :45 in UTC. `every('1d', { anchor })` occurs every 24 hours.
 *
 * @example
 * ```ts
 * every('15m')
 * ```
 */
export function every(duration: Duration, options: EveryOptions = {}): Schedule {
  checkOptions('every', options, ['anchor', ...termOptionNames])
  const everyMs = parseDuration(duration)
  if (everyMs === 0) {
    throw new InvalidInputError(
      'invalid-option',
      `every takes a duration of at least 1ms, got ${shown(duration)}`,
    )
  }
  const zone = zoneOf('UTC')
  const anchor = options.anchor === undefined ? 0 : parseInstant('anchor', options.anchor, zone)
  const rule = new EveryRule(everyMs, anchor, zone)
  return new Schedule(rule, readTerms(options, zone, rule.startsAt))
}

class EveryRule implements Rule {
  readonly zone: Zone
  readonly startsAt = -Infinity
  readonly #everyMs: number
  readonly #anchor: number

  constructor(everyMs: number, anchor: number, zone: Zone) {
    this.#everyMs = everyMs
    this.#anchor = anchor
    this.zone = zone
  }

  next(after: number): number {
    const from = Math.max(after, FIRST_INSTANT - 1)
    const at = this.#anchor + (Math.floor((from - this.#anchor) / this.#everyMs) + 1) * this.#everyMs
    return at <= LAST_INSTANT ? at : NEVER
  }

  count(after: number, at: number): number {
    const indexOf = (instant: number) => Math.floor((instant - this.#anchor) / this.#everyMs)
    return indexOf(at) - indexOf(after)
  }

  reasons(): string[] {
    return []
  }

  describe(): string {
    const anchored = this.#anchor === 0 ? '' : `, counted from ${new Date(this.#anchor).toISOString()}`
    return `every ${formatDuration(this.#everyMs)}${anchored}`
  }

  toJSON(): EveryJson {
    return { type: 'every', everyMs: this.#everyMs, anchor: this.#anchor }
  }
}
