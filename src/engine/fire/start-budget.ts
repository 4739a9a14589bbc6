import type { Clock } from '../../time/index.js'
import { IGNORED_BELOW_MS, QUICK_STARTS, START_BUDGET_MS } from '../defaults.js'

/**
 * The time that starting timers may take in one turn of the event loop, over all shards of an instance. Once it is used
 * up, lanes wait for the next turn.
 *
 * Proven by test/engine/blocked-loop.test.ts.
 */
export class StartBudget {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #tookMs = 0
  #started = 0
  #isEnding = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isOver(): boolean {
    return this.#tookMs >= START_BUDGET_MS
  }

  /** Whether the handlers that have used it are quick. */
  get isQuick(): boolean {
    return this.#started >= QUICK_STARTS
  }

  /** Starting so many timers took this long. */
  took(ms: number, started: number): void {
    this.#tookMs += ms
    this.#started += started
    if (this.#tookMs >= IGNORED_BELOW_MS) this.#awaitEnd()
  }

  /** Calls back in the next turn of the event loop. */
  next(resume: () => void): void {
    this.#waiting.add(resume)
    this.#awaitEnd()
  }

  #awaitEnd(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    void this.#clock.turnEnd().then(() => this.#end())
  }

  #end(): void {
    this.#isEnding = false
    this.#tookMs = 0
    this.#started = 0
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resume of waiting) resume()
  }
}
