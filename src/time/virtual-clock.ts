import { checkInstant, checkOptions, InvalidInputError, shown } from '../error/index.js'
import type { Clock, Wake, WakeOptions } from './clock.js'
import { type Duration, parseDuration } from './duration.js'
import { type Entry, Timeline } from './timeline.js'

const DEFAULT_START = Date.UTC(2026, 0, 1)

// Absorbs what repeated multiplication by a drift rate loses: a millisecond that is due has come.
const ROUNDING_MS = 1e-3

/**
 * A clock that stands still until told to move, for tests and simulations. Wakes come in due order, those of
 * one instant in the order they were asked for, so a run is the same every time. A clock can be set (`jump`)
 * and made to run fast or slow (`drift`); forks share the passage of time and are wrong each in its own way,
 * as the clocks of several machines are.
 */
export class VirtualClock implements Clock {
  readonly #timeline: Timeline<VirtualWake>
  #since: number
  #wallAtSince: number
  #monotonicAtSince = 0
  #rate = 1

  /** `start` is the first wall time, 2026-01-01 unless given; `beside` is a clock to share time with. */
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

  /** At once: nothing comes from outside while time is told to move, and none may pass unseen meanwhile. */
  turnEnd(): Promise<void> {
    return Promise.resolve()
  }

  /** How many wakes of this clock and its forks are still to come. */
  get pending(): number {
    return this.#timeline.size
  }

  /** True milliseconds until the next wake of this clock or a fork; undefined when there is none. */
  untilNext(): number | undefined {
    return this.#timeline.untilNext()
  }

  /**
   * Lets time pass and wakes whoever is due meanwhile, each at its own moment; after every wake the promises
   * it set off get to run. Answers how many were woken. An error thrown by a wake ends the advance there.
   */
  async advance(duration: Duration): Promise<number> {
    return await this.#timeline.advance(parseDuration(duration))
  }

  /** As `advance`, without leaving the current turn: promises set off by a wake run only afterwards. */
  advanceSync(duration: Duration): number {
    return this.#timeline.advanceSync(parseDuration(duration))
  }

  /** Sets the wall clock forward or back; the monotonic clock knows nothing of it. */
  jump(byMs: number): void {
    checkInstant(byMs)
    this.#reckonFromHere(this.#rate)
    this.#wallAtSince += byMs
    this.#askAnew()
  }

  /** Runs both readings at `rate` of true time from now on: 1.0001 gains a tenth of a second in 1000 s. */
  drift(rate: number): void {
    if (!(typeof rate === 'number' && rate > 0 && Number.isFinite(rate))) {
      throw new InvalidInputError('invalid-option', `drift takes a finite rate above 0, got ${shown(rate)}`)
    }
    this.#reckonFromHere(rate)
    this.#askAnew()
  }

  /** Another clock on the same passage of time, showing the same wall time until one of them is set. */
  fork(): VirtualClock {
    return new VirtualClock({ beside: this })
  }

  #elapsed(): number {
    return (this.#timeline.time - this.#since) * this.#rate
  }

  #reckonFromHere(rate: number): void {
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

  /** When a wake comes if the clock goes on as it goes now. */
  #trueTimeOf({ dueAt, isByWall }: VirtualWake): number {
    const reading = (isByWall ? this.#wallAtSince : this.#monotonicAtSince) + this.#elapsed()
    return this.#timeline.time + (dueAt - reading) / this.#rate
  }

  #askAnew(): void {
    this.#timeline.setAnew((wake) => (wake.clock === this ? this.#trueTimeOf(wake) : wake.at))
  }
}

/** All that a wake needs in one object: whoever fast-forwards through days asks for millions of them. */
class VirtualWake implements Wake, Entry {
  at = 0
  readonly order: number
  readonly clock: VirtualClock
  /** On the reading that it was asked on. */
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
