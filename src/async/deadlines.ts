import type { Clock, Wake } from '../time/index.js'
import { CallLimit } from './call-limit.js'

// Calls whose deadlines fall into the same slice of time end together, by the same wake.
const SLICE_MS = 20

/**
 * The deadlines of all calls under way, with one wake for all of them: a hundred thousand calls at once need no hundred
 * thousand timers. A call may end up to 20 ms after its deadline. The process stays alive while a call is under way.
 * Proven by test/async/deadlines.test.ts.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #slices = new Map<number, Set<CallLimit>>()
  readonly #aborts = new Map<CallLimit, () => void>()
  #wake: Wake | undefined
  #wakeSlice = Infinity
  #count = 0
  #isRestPlanned = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A call begins. `end` must follow when it has its answer. */
  begin(timeoutMs: number, signal?: AbortSignal): CallLimit {
    const limit = new CallLimit(this.#clock.monotonic() + timeoutMs, timeoutMs)
    const slice = sliceOf(limit)
    const limits = this.#slices.get(slice)
    if (limits === undefined) this.#slices.set(slice, new Set([limit]))
    else limits.add(limit)
    this.#count++
    if (slice < this.#wakeSlice) this.#wakeAt(slice)
    if (signal !== undefined) this.#watch(limit, signal)
    return limit
  }

  /** The call has its answer. */
  end(limit: CallLimit): void {
    const slice = sliceOf(limit)
    const limits = this.#slices.get(slice)
    limit.forget()
    if (limits?.delete(limit) === true) {
      if (limits.size === 0) this.#slices.delete(slice)
      this.#onGone(limit)
    }
  }

  #watch(limit: CallLimit, signal: AbortSignal): void {
    const abort = (): void => limit.end(signal.reason ?? new Error('aborted without a reason'))
    if (signal.aborted) {
      abort()
      return
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#aborts.set(limit, () => signal.removeEventListener('abort', abort))
  }

  #onGone(limit: CallLimit): void {
    this.#aborts.get(limit)?.()
    this.#aborts.delete(limit)
    if (--this.#count > 0 || this.#isRestPlanned) return
    this.#isRestPlanned = true
    void this.#clock.turnEnd().then(() => this.#rest())
  }

  /** A wake without a call would keep the process alive. But calls in a row, one after the other, share it. */
  #rest(): void {
    this.#isRestPlanned = false
    if (this.#count > 0) return
    this.#wake?.cancel()
    this.#wakeSlice = Infinity
  }

  #wakeAt(slice: number): void {
    this.#wake?.cancel()
    this.#wakeSlice = slice
    this.#wake = this.#clock.wakeAfter(Math.max(0, slice * SLICE_MS - this.#clock.monotonic()), () =>
      this.#onWake(),
    )
  }

  #onWake(): void {
    const now = this.#clock.monotonic()
    this.#wakeSlice = Infinity
    const over: CallLimit[] = []
    let next = Infinity
    for (const [slice, limits] of this.#slices) {
      if (slice * SLICE_MS > now) next = Math.min(next, slice)
      else {
        this.#slices.delete(slice)
        for (const limit of limits) over.push(limit)
      }
    }
    for (const limit of over) this.#onGone(limit)
    if (next < Infinity) this.#wakeAt(next)
    for (const limit of over) limit.end()
  }
}

function sliceOf({ deadline }: CallLimit): number {
  return Math.ceil(deadline / SLICE_MS)
}
