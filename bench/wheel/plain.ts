import { PlainWheel } from '../peers/plain-wheel.js'
import { HORIZON_TICKS } from '../workload/script.js'
import type { Subject, SubjectKind } from './subject.js'

/** The plain-object wheel. The token is the key and the handle. */
export function plain(slots: number): SubjectKind<number> {
  const firesAll = slots >= HORIZON_TICKS
  return {
    open: (fire) => new PlainSubject(slots, fire),
    handles: (n) => new Float64Array(n).fill(-1),
    stepTicks: 1,
    knowsStale: true,
    firesAll,
    notes: firesAll ? [] : ['live fire is skipped: every tick visits timers of later turns'],
  }
}

class PlainSubject implements Subject<number> {
  readonly #wheel: PlainWheel<number, number>
  #tick = 0

  constructor(slots: number, fire: (token: number) => void) {
    this.#wheel = new PlainWheel(slots, (_key, token) => fire(token))
  }

  set(dueTick: number, token: number): number {
    this.#wheel.set(token, token, dueTick - this.#tick)
    return token
  }

  move(handle: number, dueTick: number): number {
    this.#wheel.move(handle, dueTick - this.#tick)
    return handle
  }

  cancel(handle: number): boolean {
    return this.#wheel.remove(handle)
  }

  advance(tick: number): void {
    while (this.#tick < tick) {
      this.#tick++
      this.#wheel.tick()
    }
  }
}
