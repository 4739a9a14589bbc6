import { checkInstant, checkOptions, InvalidInputError, shown } from '../error/index.js'
import type { Clock, Wake, WakeOptions } from './clock.js'
import { type Duration, parseDuration } from './duration.js'
import { type Entry, Timeline } from './timeline.js'

const DEFAULT_START = Date.UTC(2026, 0, 1)

// Absorbs the rounding errors of a drift rate, so that `now` has reached a due time when its wake comes.
const ROUNDING_MS = 1e-3

/**
 * A clock for tests and simulations: time passes only in `advance`. Wakes come in due order, and those of one instant
 * in the order in which they were asked for, so every run is the same. A clock can be set (`jump`) and can run fast or
 * slow (`drift`). Forks share true time, but each can be wrong in its own way, as the clocks of several machines are.
 * Proven by test/time/virtual-clock.test.ts.
 */
export class VirtualClock implements Clock {
  readonly #timeline: Timeline<VirtualWake>
  #since: number
  #wallAtSince: number
  #monotonicAtSince = 0
  #rate = 1

  /** `start` is the first wall time, by default 2026-01-01. `beside` is a clock to share true time with. */
  constructor(options: { readonly start?: number; readonly beside?: VirtualClock } = {}) {
    checkOptions('VirtualClock', options, ['start', 'beside'])
    const { beside } = options
    const start = options.start ?? beside?.now() ?? DEFAULT_START
    checkInstant(start)
    this.#timeline = beside === undefined ? new Timeline<VirtualWake>() : beside.#timeline
    this.#since = this.#timeline.time
    this.#wallAtSince = start
  }

  now(): number {
    return Math.floor(this.#wallAtSince + this.#elapsed() + ROUNDING_MS)
  }

  monotonic(): number {
    return this.#monotonicAtSince + this.#elapsed()
  }

  wakeAt(dueAt: number, wake: () => void, _options?: WakeOptions): Wake {
    checkInstant(dueAt)
    return this.#ask(dueAt, true, wake)
  }

  wakeAfter(delayMs: number, wake: () => void, _options?: WakeOptions): Wake {
    return this.#ask(this.monotonic() + parseDuration(delayMs), false, wake)
  }

  /** Resolves at once. Nothing arrives from outside during an advance, and no virtual time may pass here. */
  turnEnd(): Promise<void> {
    return Promise.resolve()
  }

  /** How many wakes of this clock and its forks are pending. */
  get pending(): number {
    return this.#timeline.size
  }

  /** True milliseconds until the next wake of this clock or a fork; undefined if there is none. */
  untilNext(): number | undefined {
    return this.#timeline.untilNext()
  }

  /**
   * Lets time pass and runs every wake that becomes due, each at its own instant. After each wake, the promises that
   * it resolved run. Returns the number of wakes. An error thrown by a wake ends the advance at that instant.
   */
  async advance(duration: Duration): Promise<number> {
    return await this.#timeline.advance(parseDuration(duration))
  }

  /** Like `advance`, but synchronous: promises that a wake resolves run only afterwards. */
  advanceSync(duration: Duration): number {
    return this.#timeline.advanceSync(parseDuration(duration))
  }

  /** Sets the wall clock forward or back. The monotonic clock does not change. */
  jump(byMs: number): void {
    checkInstant(byMs)
    this.#rebase(this.#rate)
    this.#wallAtSince += byMs
    this.#reschedule()
  }

  /** How fast both readings run, relative to true time. */
  get rate(): number {
    return this.#rate
  }

  /** From now on both readings run at `rate` times true time: 1.0001 gains a tenth of a second in 1000 s. */
  drift(rate: number): void {
    if (!(typeof rate === 'number' && rate > 0 && Number.isFinite(rate))) {
      throw new InvalidInputError(
        'invalid-option',
        `the rate of drift must be a finite number above 0, got ${shown(rate)}`,
      )
    }
    this.#rebase(rate)
    this.#reschedule()
  }

  /** Another clock that shares true time. It shows the same wall time until one of the two is set or drifts. */
  fork(): VirtualClock {
    return new VirtualClock({ beside: this })
  }

  #elapsed(): number {
    return (this.#timeline.time - this.#since) * this.#rate
  }

  /** Makes this instant the one from which the readings are computed, with another rate. */
  #rebase(rate: number): void {
    const elapsed = this.#elapsed()
    this.#wallAtSince += elapsed
    this.#monotonicAtSince += elapsed
    this.#since = this.#timeline.time
    this.#rate = rate
  }

  #ask(dueAt: number, isByWall: boolean, run: () => void): Wake {
    const timeline = this.#timeline
    const wake = new VirtualWake(this, timeline, dueAt, isByWall, run)
    wake.at = this.#trueTimeOf(wake)
    timeline.add(wake)
    return wake
  }

  /** The true time of a wake, if the clock is neither set nor drifts differently until then. */
  #trueTimeOf({ dueAt, isByWall }: VirtualWake): number {
    const reading = (isByWall ? this.#wallAtSince : this.#monotonicAtSince) + this.#elapsed()
    return this.#timeline.time + (dueAt - reading) / this.#rate
  }

  #reschedule(): void {
    this.#timeline.reschedule((wake) => (wake.clock === this ? this.#trueTimeOf(wake) : wake.at))
  }
}

/** One object per wake and no more: a simulation of many days asks for millions of them. */
class VirtualWake implements Wake, Entry {
  at = 0
  readonly order: number
  readonly clock: VirtualClock
  /** By wall time or monotonic time, see `isByWall`. */
  readonly dueAt: number
  readonly isByWall: boolean
  run: (() => void) | undefined
  readonly #timeline: Timeline<VirtualWake>

  constructor(
    clock: VirtualClock,
    timeline: Timeline<VirtualWake>,
    dueAt: number,
    isByWall: boolean,
    run: () => void,
  ) {
    this.order = timeline.nextOrder()
    this.clock = clock
    this.dueAt = dueAt
    this.isByWall = isByWall
    this.run = run
    this.#timeline = timeline
  }

  cancel(): void {
    this.#timeline.remove(this)
  }
}
