import type { Clock, VirtualClock, Wake, WakeOptions } from '../../../time/index.js'
import type { Gate } from './gate.js'

/**
 * A machine's clock as one process sees it. Wakes pass the gate. While the process is busy, the clock shows the time at
 * which it will be free.
 */
export class GatedClock implements Clock {
  readonly #clock: VirtualClock
  readonly #gate: Gate

  constructor(clock: VirtualClock, gate: Gate) {
    this.#clock = clock
    this.#gate = gate
  }

  now(): number {
    return Math.floor(this.#clock.now() + this.#aheadMs)
  }

  monotonic(): number {
    return this.#clock.monotonic() + this.#aheadMs
  }

  wakeAt(dueAt: number, wake: () => void, options?: WakeOptions): Wake {
    return this.#ask((run) => this.#clock.wakeAt(dueAt, run, options), wake)
  }

  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake {
    return this.#ask((run) => this.#clock.wakeAfter(delayMs + this.#aheadMs, run, options), wake)
  }

  turnEnd(): Promise<void> {
    return this.#clock.turnEnd()
  }

  get #aheadMs(): number {
    return this.#gate.aheadMs * this.#clock.rate
  }

  #ask(ask: (run: () => void) => Wake, wake: () => void): Wake {
    let isWanted = true
    const asked = ask(() =>
      this.#gate.enter(() => {
        if (isWanted) wake()
      }),
    )
    return {
      cancel: () => {
        // The wake may already wait at the gate.
        isWanted = false
        asked.cancel()
      },
    }
  }
}
