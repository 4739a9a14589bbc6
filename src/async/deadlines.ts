import type { Clock, Wake } from '../time/index.js'
import { CallLimit } from './call-limit.js'

// Calls whose deadlines fall into the same slice of time end together, by the same wake.
const SLICE_MS = 20

/** A call under way, linked with the other calls of its slice. */
class PendingCall extends CallLimit {
  slice: Slice | undefined
  previous: PendingCall | undefined
  next: PendingCall | undefined
}

/** The calls whose deadlines fall into one slice of time. */
interface Slice {
  readonly number: number
  first: PendingCall | undefined
  last: PendingCall | undefined
}

/**
 * The deadlines of all calls under way, with one wake for all of them: a hundred thousand calls at once need no hundred
 * thousand timers. A call may end up to 20 ms after its deadline. The process stays alive while a call is under way.
 * Proven by test/async/deadlines.test.ts.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #slices = new Map<number, Slice>()
  // What removes the listeners of signals.
  readonly #unwatch = new Map<CallLimit, () => void>()
  #lastSlice: Slice | undefined
  #wake: Wake | undefined
  #wakeSlice = Infinity
  #count = 0
  #isRestPlanned = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A call begins. `end` must follow when it has its answer. */
  begin(timeoutMs: number, signal?: AbortSignal): CallLimit {
    const call = new PendingCall(this.#clock.monotonic() + timeoutMs, timeoutMs)
    const slice = this.#sliceOf(Math.ceil(call.deadline / SLICE_MS))
    call.slice = slice
    call.previous = slice.last
    if (slice.last === undefined) slice.first = call
    else slice.last.next = call
    slice.last = call
    this.#count++
    if (slice.number < this.#wakeSlice) this.#wakeAt(slice.number)
    if (signal !== undefined) this.#watch(call, signal)
    return call
  }

  /** The call has its answer. */
  end(limit: CallLimit): void {
    limit.forget()
    const call = limit as PendingCall
    const { slice, previous, next } = call
    if (slice === undefined) return
    if (previous === undefined) slice.first = next
    else previous.next = next
    if (next === undefined) slice.last = previous
    else next.previous = previous
    // The slice that new calls go to is kept, although it may be empty for the moment.
    if (slice.first === undefined && slice !== this.#lastSlice) this.#slices.delete(slice.number)
    this.#onGone(call)
  }

  #sliceOf(number: number): Slice {
    const last = this.#lastSlice
    if (last?.number === number) return last
    if (last !== undefined && last.first === undefined) this.#slices.delete(last.number)
    let slice = this.#slices.get(number)
    if (slice === undefined) this.#slices.set(number, (slice = { number, first: undefined, last: undefined }))
    this.#lastSlice = slice
    return slice
  }

  #watch(call: CallLimit, signal: AbortSignal): void {
    const abort = (): void => call.end(signal.reason ?? new Error('aborted without a reason'))
    if (signal.aborted) {
      abort()
      return
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#unwatch.set(call, () => signal.removeEventListener('abort', abort))
  }

  #stopWatching(call: CallLimit): void {
    this.#unwatch.get(call)?.()
    this.#unwatch.delete(call)
  }

  #onGone(call: PendingCall): void {
    call.slice = undefined
    call.previous = undefined
    call.next = undefined
    if (this.#unwatch.size > 0) this.#stopWatching(call)
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
    const delayMs = Math.max(0, slice * SLICE_MS - this.#clock.monotonic())
    this.#wake = this.#clock.wakeAfter(delayMs, () => this.#onWake())
  }

  #onWake(): void {
    const now = this.#clock.monotonic()
    this.#wakeSlice = Infinity
    const over: PendingCall[] = []
    let next = Infinity
    for (const [number, slice] of this.#slices) {
      if (number * SLICE_MS > now) {
        next = Math.min(next, number)
        continue
      }
      this.#slices.delete(number)
      if (slice === this.#lastSlice) this.#lastSlice = undefined
      for (let call = slice.first; call !== undefined; call = call.next) over.push(call)
    }
    for (const call of over) this.#onGone(call)
    if (next < Infinity) this.#wakeAt(next)
    for (const call of over) call.end()
  }
}
