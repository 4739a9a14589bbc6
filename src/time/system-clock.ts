import { checkInstant } from '../error/index.js'
import { parseDuration } from './duration.js'
import type { Clock, Wake, WakeOptions } from './clock.js'

/**
 * The clock of the machine. It sleeps for at most a second at a time and then checks the time again. So a suspended
 * laptop, a step of the wall clock or a due time beyond 2^31 ms delays a wake by at most that second. It checks before
 * each wake, because Node's own timers may run up to a millisecond early. Proven by test/time/system-clock.test.ts.
 */
export class SystemClock implements Clock {
  readonly #machine: Machine

  constructor(machine: Machine = thisMachine) {
    this.#machine = machine
  }

  now(): number {
    return this.#machine.wallMs()
  }

  monotonic(): number {
    return this.#machine.monotonicMs()
  }

  wakeAt(dueAt: number, wake: () => void, options?: WakeOptions): Wake {
    checkInstant(dueAt)
    return new Sleep(this.#machine, () => dueAt - this.#machine.wallMs(), wake, options)
  }

  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake {
    const dueAt = this.#machine.monotonicMs() + parseDuration(delayMs)
    return new Sleep(this.#machine, () => dueAt - this.#machine.monotonicMs(), wake, options)
  }

  turnEnd(): Promise<void> {
    return new Promise((resolve) => {
      atTurnEnd(resolve)
    })
  }
}

/** What a system clock needs from the machine. Tests pass one whose clock they can set. */
export interface Machine {
  wallMs(): number
  monotonicMs(): number
  /** Calls back after about `delayMs`, which is at most a second. */
  sleep(delayMs: number, wake: () => void, keepAlive: boolean): Wake
}

// Captured at load: a test framework may later replace the global by a fake that never runs. Browsers have none.
const atTurnEnd: (run: () => void) => unknown =
  'setImmediate' in globalThis ? setImmediate : (run) => setTimeout(run, 0)

const MAX_SLEEP_MS = 1000

const thisMachine: Machine = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep(delayMs, wake, keepAlive) {
    const timeout = setTimeout(wake, delayMs)
    // In a browser it is a number, and keeps nothing alive.
    if (!keepAlive && typeof timeout === 'object') timeout.unref()
    return { cancel: () => clearTimeout(timeout) }
  },
}

/** The clock of this machine. It never sleeps longer than about a second at a time. */
export const systemClock: Clock = new SystemClock()

class Sleep implements Wake {
  readonly #machine: Machine
  readonly #remainingMs: () => number
  readonly #wake: () => void
  readonly #keepAlive: boolean
  #timeout: Wake

  constructor(machine: Machine, remainingMs: () => number, wake: () => void, options: WakeOptions = {}) {
    this.#machine = machine
    this.#remainingMs = remainingMs
    this.#wake = wake
    this.#keepAlive = options.keepAlive ?? true
    this.#timeout = this.#sleep()
  }

  cancel(): void {
    this.#timeout.cancel()
  }

  #sleep(): Wake {
    const delayMs = Math.min(Math.max(Math.ceil(this.#remainingMs()), 0), MAX_SLEEP_MS)
    return this.#machine.sleep(delayMs, this.#wakeIfDue, this.#keepAlive)
  }

  readonly #wakeIfDue = (): void => {
    if (this.#remainingMs() > 0) this.#timeout = this.#sleep()
    else this.#wake()
  }
}
