import type { Clock, Wake } from '../time/index.js'

const AGAIN_MS = 60_000

/** Keeps the process alive from `begin` to `end`, also while nothing is planned. */
export class KeepAlive {
  readonly #clock: Clock
  #wake: Wake | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin(): void {
    this.#wake?.cancel()
    this.#wake = this.#clock.wakeAfter(AGAIN_MS, () => this.begin())
  }

  end(): void {
    this.#wake?.cancel()
    this.#wake = undefined
  }
}
