import timers, { type FastTimer } from 'undici/lib/util/timers.js'
import type { Subject, SubjectKind } from './subject.js'

/** What the first of undici's ticks, taken as it would come by itself, moves its time by. */
const FIRST_STEP_MS = 998

/**
 * undici's fast timers: one array, walked twice a second. They are driven by the hook of undici's own tests,
 * which walks the array twice, as it is walked in any second.
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
    // A new timer counts from the walk before the one that first meets it, so the first walk must be at 499.
    if (timers.now() === 0) timers.tick(FIRST_STEP_MS + 1)
    else timers.tick(tick - timers.now() + 1)
    this.#tick = tick
  }
}
