import type { Clock, Wake, WakeOptions } from '../../time/index.js'
import { CLOCK_MEASUREMENTS, EXPECTED_DRIFT, MAX_DRIFT } from '../defaults.js'

/** One heartbeat: the store's clock, and this machine's monotonic clock before and after. */
export interface ClockSample {
  readonly storeNow: number
  readonly sentAt: number
  readonly answeredAt: number
}

/**
 * The store's clock as seen from this machine. Every heartbeat measures it, and the monotonic clock carries it on in
 * between. It shows the earliest time that the store's clock can show. So nothing that waits for it is early by the
 * store's clock, unless that was set back since the last heartbeat. A step back that is smaller than the round trip of a
 * heartbeat may go unnoticed for three heartbeats. This machine's wall clock plays no part in it.
 *
 * Proven by test/engine/store-clock.test.ts and the mutants 'store time is the latest possible instead of the earliest', 'a measure from before the clock was set still counts'.
 */
export class StoreClock implements Clock {
  readonly #machine: Clock
  readonly #wakes = new Set<StoreWake>()
  #measures: readonly Measure[] = []
  // At #measuredAt, store time minus monotonic time was at least this, by all measurements.
  #least = -Infinity
  #measuredAt = 0
  #offsetMs = 0

  constructor(machine: Clock) {
    this.#machine = machine
  }

  /** How far the store's clock is ahead of this machine's wall clock; 0 if the wall clock may be right. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  measure({ storeNow, sentAt, answeredAt }: ClockSample): void {
    // The store read its clock between the call and the answer, perhaps in whole milliseconds.
    const measure: Measure = {
      least: storeNow - answeredAt,
      most: storeNow + (Number.isInteger(storeNow) ? 1 : 0) - sentAt,
      at: answeredAt,
    }
    const all = [...this.#measures.slice(1 - CLOCK_MEASUREMENTS), measure]
    const leastNow = ({ least, at }: Measure): number => least - (answeredAt - at) * MAX_DRIFT
    const mostNow = ({ most, at }: Measure): number => most + (answeredAt - at) * MAX_DRIFT
    let least = Math.max(...all.map(leastNow))
    let most = Math.min(...all.map(mostNow))
    this.#measures = all
    if (least > most) {
      // The measurements contradict each other, so the store's clock was set since.
      this.#measures = [measure]
      ;({ least, most } = measure)
    }
    this.#least = least
    this.#measuredAt = answeredAt
    this.#offsetMs = this.#offset(least, most)
    for (const wake of this.#wakes) wake.reset()
  }

  now(): number {
    return Math.floor(this.#reading())
  }

  monotonic(): number {
    return this.#machine.monotonic()
  }

  wakeAt(dueAt: number, wake: () => void, options?: WakeOptions): Wake {
    const asked = new StoreWake({
      clock: this.#machine,
      remainingMs: () => dueAt - this.#reading(),
      wake,
      options,
      onEnd: () => this.#wakes.delete(asked),
    })
    this.#wakes.add(asked)
    return asked
  }

  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake {
    return this.#machine.wakeAfter(delayMs, wake, options)
  }

  turnEnd(): Promise<void> {
    return this.#machine.turnEnd()
  }

  /** Before the first heartbeat it shows this machine's own clock. */
  #reading(): number {
    if (this.#least === -Infinity) return this.#machine.now()
    const monotonic = this.#machine.monotonic()
    return monotonic + this.#least - (monotonic - this.#measuredAt) * EXPECTED_DRIFT
  }

  #offset(least: number, most: number): number {
    const wall = this.#machine.now() - this.#measuredAt
    if (least > wall) return least - wall
    return most < wall ? most - wall : 0
  }
}

/** At the monotonic time `at`, store time minus monotonic time was between `least` and `most`. */
interface Measure {
  readonly least: number
  readonly most: number
  readonly at: number
}

/** A wake-up at a time of the store's clock. It is set again whenever the clock is measured. */
class StoreWake implements Wake {
  readonly #parts: StoreWakeParts
  #inner: Wake

  constructor(parts: StoreWakeParts) {
    this.#parts = parts
    this.#inner = this.#set()
  }

  cancel(): void {
    this.#parts.onEnd()
    this.#inner.cancel()
  }

  reset(): void {
    this.#inner.cancel()
    this.#inner = this.#set()
  }

  #set(): Wake {
    const { clock, remainingMs, options } = this.#parts
    return clock.wakeAfter(Math.max(0, Math.ceil(remainingMs())), this.#onWake, options)
  }

  readonly #onWake = (): void => {
    if (this.#parts.remainingMs() > 0) {
      this.#inner = this.#set()
      return
    }
    this.#parts.onEnd()
    this.#parts.wake()
  }
}

interface StoreWakeParts {
  readonly clock: Clock
  readonly remainingMs: () => number
  readonly wake: () => void
  readonly options: WakeOptions | undefined
  readonly onEnd: () => void
}
