import timers, { type FastTimer } from 'undici/lib/util/timers.js'
import type { Subject, SubjectKind } from './subject.js'

/** How far undici's first tick moves its time, when it happens as usual. */
const FIRST_STEP_MS = 998

/**
 * undici's fast timers: one array that is scanned twice per second. The bench uses the hook of undici's own tests, which
 * scans the array twice, as in any second.
 */
export const fastTimers: SubjectKind<FastTimer> = {
  open: (fire) => new FastTimersSubject(fire),
  handles: (n) => {
    const none = timers.setFastTimeout(() => {}, 1, 0)
    timers.clearFastTimeout(none)
    return Array.from({ length: n }, () => none)
  },
  stepTicks: 1000,
  knowsStale: false,
  firesAll: true,
  notes: ['move is a clear and a new timer: its delay cannot be changed'],
}

class FastTimersSubject implements Subject<FastTimer> {
  readonly #fire: (token: number) => void
  #tick = 0

  constructor(fire: (token: number) => void) {
    this.#fire = fire
    timers.reset()
  }

  set(dueTick: number, token: number): FastTimer {
    return timers.setFastTimeout(this.#fire, dueTick - this.#tick, token)
  }

  move(handle: FastTimer, dueTick: number, token: number): FastTimer {
    timers.clearFastTimeout(handle)
    return this.set(dueTick, token)
  }

  cancel(handle: FastTimer): boolean {
    timers.clearFastTimeout(handle)
    return true
  }

  advance(tick: number): void {
    // A new timer counts from the scan before the one that first sees it, so the first scan must be at 499.
    if (timers.now() === 0) timers.tick(FIRST_STEP_MS + 1)
    else timers.tick(tick - timers.now() + 1)
    this.#tick = tick
  }
}
