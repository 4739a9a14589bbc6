import { checkFunction, checkOptions, InvalidInputError, shown, StateError } from '../error/index.js'
import {
  type Clock,
  type Duration,
  MAX_DURATION_MS,
  parseDuration,
  systemClock,
  type Wake,
} from '../time/index.js'
import { KeyTable } from './key-table.js'
import { Wheel } from './wheel.js'

/** The options of a `TimingWheel`. */
export interface TimingWheelOptions<K, V> {
  /** The length of a tick. Timers run up to this much late, never early. */
  readonly intervalMs: number
  /** Called for each due timer. */
  readonly execute: (key: K, value: V) => unknown
  /** Receives errors that `execute` throws or rejects with. Default: writes them to the console. */
  readonly onError?: (error: unknown, key: K, value: V) => void
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Whether pending timers keep the process alive. Default true. */
  readonly keepAlive?: boolean
  /** Allocates room for this many timers in advance. Default 0. */
  readonly reserve?: number
}

// Removed timers are cancelled in the wheel in batches of this size.
const REMOVE_BATCH = 32

// The wake tick during an advance. No timer is due before it, so none asks for a wake.
const ADVANCING = -1

/**
 * In-memory timers by key: set, move, remove, drain, stop. Each key has at most one timer. `execute` runs once for each
 * due timer: never early, and late by at most an interval plus the delay of the clock's wake. An error in `execute`
 * does not affect other timers. Delays are measured on the monotonic clock.
 * Proven by test/wheel/timing-wheel.test.ts.
 */
export class TimingWheel<K, V> {
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #execute: (key: K, value: V) => unknown
  readonly #onError: (error: unknown, key: K, value: V) => void
  readonly #wakeOptions: { readonly keepAlive: boolean }
  readonly #startMs: number
  #wheel: Wheel
  #timers = new KeyTable<K, V>()
  #wake: Wake | undefined
  #wakeTick = Infinity
  #isStopped = false
  // While the wheel hands out timers, removals take effect in it at once.
  #isHandingOut = false
  readonly #removed = new Int32Array(REMOVE_BATCH)
  #removedCount = 0

  constructor(options: TimingWheelOptions<K, V>) {
    checkOptions('TimingWheel', options, [
      'intervalMs',
      'execute',
      'onError',
      'clock',
      'keepAlive',
      'reserve',
    ])
    const { intervalMs, execute, onError = reportError, clock = systemClock, keepAlive = true } = options
    const { reserve = 0 } = options
    if (!(typeof intervalMs === 'number' && intervalMs > 0 && Number.isFinite(intervalMs))) {
      throw new InvalidInputError(
        'invalid-option',
        `intervalMs must be above 0 and finite, got ${shown(intervalMs)}`,
      )
    }
    checkFunction('execute', execute)
    checkFunction('onError', onError)
    this.#intervalMs = intervalMs
    this.#execute = execute
    this.#onError = onError
    this.#clock = clock
    this.#wakeOptions = { keepAlive }
    this.#startMs = clock.monotonic()
    this.#wheel = new Wheel({ reserve })
    if (reserve > 0) this.#timers.reserve(reserve)
  }

  /** The number of pending timers. It is 0 after `stop`. */
  get size(): number {
    return this.#timers.size
  }

  /** Sets a timer. An existing timer with this key gets the new value and the new delay. */
  set(key: K, value: V, delay: Duration): void {
    this.#checkRunning()
    const dueTick = this.#dueTick(parseDuration(delay))
    const timers = this.#timers
    const index = timers.find(key)
    if (index >= 0) {
      timers.setValue(index, value)
      this.#wheel.moveAt(index, dueTick)
    } else {
      const handle = this.#wheel.setIndexed(dueTick)
      timers.add(key, this.#wheel.indexOf(handle), value)
    }
    if (dueTick < this.#wakeTick) this.#sleepUntil(dueTick)
  }

  /**
   * Gives a timer another delay. If that is shorter than an interval, the timer is executed at once, inside this call.
   * False if there is no timer with this key.
   */
  move(key: K, delay: Duration): boolean {
    this.#checkRunning()
    const delayMs = parseDuration(delay)
    const index = this.#timers.find(key)
    if (index < 0) return false
    if (delayMs < this.#intervalMs) {
      this.#wheel.cancelAt(index)
      this.#run(index)
      this.#restIfEmpty()
      return true
    }
    const dueTick = this.#dueTick(delayMs)
    this.#wheel.moveAt(index, dueTick)
    if (dueTick < this.#wakeTick) this.#sleepUntil(dueTick)
    return true
  }

  /** Removes a timer without executing it. False if there is no timer with this key. */
  remove(key: K): boolean {
    this.#checkRunning()
    const index = this.#timers.find(key)
    if (index < 0) return false
    this.#timers.remove(index)
    this.#removed[this.#removedCount++] = index
    if (this.#removedCount === REMOVE_BATCH || this.#isHandingOut) this.#cancelRemoved()
    this.#restIfEmpty()
    return true
  }

  /** The value of a pending timer. */
  get(key: K): V | undefined {
    this.#checkRunning()
    const index = this.#timers.find(key)
    return index < 0 ? undefined : this.#timers.valueOf(index)
  }

  /** Removes every timer and passes it to `fn`, in no particular order. */
  drain(fn: (key: K, value: V) => void): void {
    this.#checkRunning()
    checkFunction('drain', fn)
    const timers = this.#timers
    const was = this.#isHandingOut
    this.#cancelRemoved()
    this.#isHandingOut = true
    try {
      this.#wheel.drain((index) => {
        // `fn` may have called `stop`.
        if (this.#isStopped) return
        const key = timers.keyOf(index)
        const value = timers.valueOf(index)
        timers.remove(index)
        fn(key, value)
      })
    } finally {
      this.#isHandingOut = was
    }
    this.#restIfEmpty()
  }

  /** Drops every timer and ends all activity. From then on every other call throws. */
  stop(): void {
    this.#isStopped = true
    this.#wake?.cancel()
    this.#wake = undefined
    this.#wheel = new Wheel()
    this.#timers = new KeyTable()
    this.#removedCount = 0
  }

  #checkRunning(): void {
    if (this.#isStopped) throw new StateError('stopped', 'this timing wheel was stopped: create a new one')
  }

  /** The first tick that does not begin before the delay is over. */
  #dueTick(delayMs: number): number {
    const tick = Math.ceil((this.#clock.monotonic() - this.#startMs + delayMs) / this.#intervalMs)
    return Math.min(tick, Number.MAX_SAFE_INTEGER)
  }

  /**
   * Cancels the removed timers in the wheel. Each one has to wait for its record to come from memory. In a batch these
   * waits overlap.
   */
  #cancelRemoved(): void {
    const wheel = this.#wheel
    for (let k = 0; k < this.#removedCount; k++) wheel.cancelAt(this.#removed[k]!)
    this.#removedCount = 0
  }

  /** If no timer is pending, cancels the wake, which may keep the process alive. */
  #restIfEmpty(): void {
    if (this.#timers.size > 0 || this.#wakeTick === ADVANCING) return
    this.#wake?.cancel()
    this.#wake = undefined
    this.#wakeTick = Infinity
  }

  #sleepUntil(tick: number): void {
    this.#wake?.cancel()
    this.#wakeTick = tick
    const delayMs = tick * this.#intervalMs - (this.#clock.monotonic() - this.#startMs)
    this.#wake = this.#clock.wakeAfter(
      Math.min(Math.max(delayMs, 0), MAX_DURATION_MS),
      this.#advance,
      this.#wakeOptions,
    )
  }

  readonly #advance = (): void => {
    const wheel = this.#wheel
    const elapsedMs = this.#clock.monotonic() - this.#startMs
    let tick = Math.floor(elapsedMs / this.#intervalMs)
    // Rounding must not skip a tick that has come by the calculation in #sleepUntil.
    while ((tick + 1) * this.#intervalMs <= elapsedMs) tick++
    this.#wake = undefined
    // Timers that are set inside `execute` must not ask for wakes: that is done once, at the end.
    this.#wakeTick = ADVANCING
    this.#cancelRemoved()
    this.#isHandingOut = true
    try {
      wheel.advance(Math.max(tick, wheel.tick), this.#fire, this.#near)
    } finally {
      this.#isHandingOut = false
      this.#wakeTick = Infinity
      const next = wheel.nextDue()
      if (next !== undefined && !this.#isStopped) this.#sleepUntil(next)
    }
  }

  readonly #near = (index: number): void => {
    this.#timers.touch(index)
  }

  readonly #fire = (index: number): void => {
    // `execute` may have called `stop` during this advance.
    if (!this.#isStopped) this.#run(index)
  }

  #run(index: number): void {
    const key = this.#timers.keyOf(index)
    const value = this.#timers.valueOf(index)
    this.#timers.remove(index)
    try {
      const result = this.#execute(key, value)
      if (result instanceof Promise) result.catch((error: unknown) => this.#report(error, key, value))
    } catch (error) {
      this.#report(error, key, value)
    }
  }

  #report(error: unknown, key: K, value: V): void {
    try {
      this.#onError(error, key, value)
    } catch (second) {
      reportError(second, key)
    }
  }
}

function reportError(error: unknown, key: unknown): void {
  console.error(`carillon: timer ${shown(key)} of a timing wheel failed:`, error)
}
