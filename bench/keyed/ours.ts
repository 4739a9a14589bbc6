import { VirtualClock } from 'carillon/time'
import { TimingWheel } from 'carillon/wheel'
import type { KeyedKind, KeyedSubject } from './subject.js'

/** Carillon's keyed wheel on a virtual clock, one interval at a time, with memory reserved for a number of timers. */
export function ours(reserve: number): KeyedKind {
  return {
    open: (fire) => new TimingWheelSubject(fire, reserve),
    notes: () => [`its ticks include ${clockNs().toFixed(0)} ns each for the virtual clock`],
  }
}

class TimingWheelSubject implements KeyedSubject {
  readonly #clock = new VirtualClock()
  readonly #wheel: TimingWheel<string, number>

  constructor(fire: (token: number) => void, reserve: number) {
    this.#wheel = new TimingWheel<string, number>({
      intervalMs: 1,
      clock: this.#clock,
      reserve,
      execute: (_key, token) => fire(token),
    })
  }

  set(key: string, token: number, delayTicks: number): void {
    this.#wheel.set(key, token, delayTicks)
  }

  move(key: string, delayTicks: number): void {
    this.#wheel.move(key, delayTicks)
  }

  remove(key: string): boolean {
    return this.#wheel.remove(key)
  }

  tick(): void {
    this.#clock.advanceSync(1)
  }

  stop(): void {
    this.#wheel.stop()
  }
}

/** The cost of an advance when the woken function only requests the next wake-up. */
function clockNs(): number {
  const clock = new VirtualClock()
  const wake = (): void => {
    clock.wakeAfter(1, wake)
  }
  wake()
  const advances = 100_000
  const from = performance.now()
  for (let i = 0; i < advances; i++) clock.advanceSync(1)
  return ((performance.now() - from) * 1e6) / advances
}
