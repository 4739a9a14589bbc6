import type { Clock, Wake, WakeOptions } from '../../time/index.js'
import type { Gate } from './gate.js'

/** The clock of a machine as one process on it sees it: it reads as ever, its wakes come through the gate. */
export class GatedClock implements Clock {
  readonly #clock: Clock
  readonly #gate: Gate

  constructor(clock: Clock, gate: Gate) {
    this.#clock = clock
    this.#gate = gate
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  wakeAt(dueAt: number, wake: () => void, options?: WakeOptions): Wake {
    return this.#ask((run) => this.#clock.wakeAt(dueAt, run, options), wake)
  }

  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake {
    return this.#ask((run) => this.#clock.wakeAfter(delayMs, run, options), wake)
  }

  turnEnd(): Promise<void> {
    return this.#clock.turnEnd()
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
        // It may stand behind the gate already.
        isWanted = false
        asked.cancel()
      },
    }
  }
}
