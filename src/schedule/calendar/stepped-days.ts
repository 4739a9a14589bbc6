import { modulo, weekdayOf } from './calendar.js'
import { bitCount, lowestBit } from './field-set.js'
import type { Days } from './month-days.js'
import type { Grid } from './pattern.js'

/**
 * Every n-th day, or certain weekdays of every n-th week, in both directions from a start. Counting is
 * arithmetic.
 */
export class SteppedDays implements Days {
  readonly yearPeriod = 0
  readonly dayGrid: Grid
  readonly #start: number
  readonly #step: number
  /** The matching days of a step as bits. Bit 0 is its first day. Never 0, and never longer than a step. */
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

  /** Sunday is 0. `weekStart` is the weekday on which a week begins. */
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
    const index = day - begin
    const bits = index < 7 ? this.#days >>> index : 0
    return bits === 0 ? begin + this.#step + lowestBit(this.#days) : day + lowestBit(bits)
  }

  includes(day: number): boolean {
    return this.firstFrom(day) === day
  }

  count(from: number, untilExclusive: number): number {
    return this.#countBefore(untilExclusive) - this.#countBefore(from)
  }

  /** Counts the matches before a day, relative to the start. */
  #countBefore(day: number): number {
    const steps = Math.floor((day - this.#start) / this.#step)
    const index = Math.min(day - this.#start - steps * this.#step, 7)
    return steps * this.#perStep + bitCount(this.#days & ((1 << index) - 1))
  }
}
