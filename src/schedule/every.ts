import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { type Duration, formatDuration, parseDuration } from '../time/index.js'
import { FIRST_INSTANT, LAST_INSTANT, NEVER } from './horizon.js'
import type { Rule } from './rule.js'
import { Schedule } from './schedule.js'
import type { EveryJson } from './schedule-json.js'
import { readTerms, termNames, type TermOptions } from './terms.js'
import { parseInstant } from './wall-text.js'
import { type Zone, zoneOf } from './zone.js'

export interface EveryOptions extends TermOptions {
  /** An instant of the series, from which it runs both ways: epoch ms or text. The epoch unless given. */
  readonly anchor?: number | string
}

/**
 * A schedule at even distances of elapsed time, whatever clocks do: `every('15m')` is at :00, :15, :30 and
 * :45 of UTC, `every('1d', { anchor })` is always 24 hours apart.
 */
export function every(duration: Duration, options: EveryOptions = {}): Schedule {
  checkOptions('every', options, ['anchor', ...termNames])
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
  return new Schedule(rule, readTerms(options, zone, rule.from))
}

class EveryRule implements Rule {
  readonly zone: Zone
  readonly from = -Infinity
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
    const place = (instant: number) => Math.floor((instant - this.#anchor) / this.#everyMs)
    return place(at) - place(after)
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
