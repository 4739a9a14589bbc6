import { PlainWheel } from '../peers/plain-wheel.js'
import type { KeyedKind, KeyedSubject } from './subject.js'

/** The plain-object wheel, with its Map from string to object. */
export function plain(slots: number): KeyedKind {
  return { open: (fire) => new PlainSubject(slots, fire), notes: () => [] }
}

class PlainSubject implements KeyedSubject {
  readonly #wheel: PlainWheel<string, number>

  constructor(slots: number, fire: (token: number) => void) {
    this.#wheel = new PlainWheel(slots, (_key, token) => fire(token))
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
    this.#wheel.tick()
  }

  stop(): void {}
}
