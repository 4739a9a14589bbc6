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
    const gated = new GatedWake(this.#gate, wake)
    gated.asked = this.#clock.wakeAt(dueAt, gated.enter, options)
    return gated
  }

  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake {
    const gated = new GatedWake(this.#gate, wake)
    gated.asked = this.#clock.wakeAfter(delayMs + this.#aheadMs, gated.enter, options)
    return gated
  }

  turnEnd(): Promise<void> {
    return this.#clock.turnEnd()
  }

  get #aheadMs(): number {
    return this.#gate.aheadMs * this.#clock.rate
  }
}

/** A wake that passes the gate. A simulation asks for some thousand of them. */
class GatedWake implements Wake {
  asked: Wake | undefined = undefined
  readonly #gate: Gate
  readonly #wake: () => void
  #isWanted = true

  constructor(gate: Gate, wake: () => void) {
    this.#gate = gate
    this.#wake = wake
  }

  readonly enter = (): void => this.#gate.enter(this.#run)

  readonly #run = (): void => {
    if (this.#isWanted) this.#wake()
  }

  cancel(): void {
    // The wake may already wait at the gate.
    this.#isWanted = false
    this.asked?.cancel()
  }
}
