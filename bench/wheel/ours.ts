import { Wheel } from 'carillon/wheel'
import type { Subject, SubjectKind } from './subject.js'

/** Carillon's wheel with handles, and memory reserved for a number of timers. */
export function ours(reserve: number): SubjectKind<number> {
  return {
    open: (fire) => new WheelSubject(fire, reserve),
    handles: (n) => new Float64Array(n).fill(-1),
    stepTicks: 1,
    knowsStale: true,
    firesAll: true,
    notes: [],
  }
}

class WheelSubject implements Subject<number> {
  readonly #wheel: Wheel
  readonly #fire: (token: number) => void

  constructor(fire: (token: number) => void, reserve: number) {
    this.#wheel = new Wheel({ reserve })
    this.#fire = fire
  }

  set(dueTick: number, token: number): number {
    return this.#wheel.set(dueTick, token)
  }

  move(handle: number, dueTick: number): number {
    this.#wheel.move(handle, dueTick)
    return handle
  }

  cancel(handle: number): boolean {
    return this.#wheel.cancel(handle)
  }

  advance(tick: number): void {
    this.#wheel.advance(tick, this.#fire)
  }

  heldBytes(): number {
    return this.#wheel.stats().bytes
  }
}
