import { modulo, weekdayOf } from './calendar.js'
import { bitCount, lowestBit } from './field-set.js'
import type { Days } from './month-days.js'
import type { Grid } from './pattern.js'

/**
 * Certain days of every so many weeks or, with a week of one day, every so many days: both ways from a start, and
 * counted without looking at any of them.
 */
export class SteppedDays implements Days {
  readonly yearPeriod = 0
  readonly dayGrid: Grid
  readonly #start: number
  readonly #step: number
  /** Bit 0 is the first day of a step. Never empty, and no step is shorter. */
  readonly #days: number
  readonly #perStep: number

  private constructor(start: number, step: number, days: number) {
    this.#start = start
    this.#step = step
    this.#days = days
    this.#perStep = bitCount(days)
    this.dayGrid = { base: start, step, span: 31 - Math.clz32(days) }
  }

  static everyDays(startDay: number, interval: number): SteppedDays {
    return new SteppedDays(startDay, interval, 1)
  }

  /** Weekdays with Sunday as 0; `weekStart` is the one a week begins on. */
  static everyWeeks(
    startDay: number,
    interval: number,
    weekdays: readonly number[],
    weekStart: number,
  ): SteppedDays {
    const start = startDay - modulo(weekdayOf(startDay) - weekStart, 7)
    const days = weekdays.reduce((bits, weekday) => bits | (1 << modulo(weekday - weekStart, 7)), 0)
    return new SteppedDays(start, interval * 7, days)
  }

  firstFrom(day: number): number {
    const begin = day - modulo(day - this.#start, this.#step)
    const place = day - begin
    const bits = place < 7 ? this.#days >>> place : 0
    return bits === 0 ? begin + this.#step + lowestBit(this.#days) : day + lowestBit(bits)
  }

  includes(day: number): boolean {
    return this.firstFrom(day) === day
  }

  count(from: number, untilExclusive: number): number {
    return this.#countBefore(untilExclusive) - this.#countBefore(from)
  }

  /** How many there are before a day, counted from the start. */
  #countBefore(day: number): number {
    const steps = Math.floor((day - this.#start) / this.#step)
    const place = Math.min(day - this.#start - steps * this.#step, 7)
    return steps * this.#perStep + bitCount(this.#days & ((1 << place) - 1))
  }
}
