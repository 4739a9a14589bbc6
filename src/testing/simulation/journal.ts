import type { VirtualClock } from '../../time/index.js'
import type { PromiseName, Violation } from './violation.js'

const MOST_VIOLATIONS = 20

/**
 * What a run leaves behind: the violations that were seen, a count for each thing that happened, and, when
 * asked for, a readable line for each event. It never changes the course of the run.
 */
export class Journal {
  readonly violations: Violation[] = []
  readonly counts = new Map<string, number>()
  readonly lines: string[] = []
  readonly #clock: VirtualClock
  readonly #isTraced: boolean
  readonly #promises: readonly PromiseName[] | undefined
  readonly #began: number

  /** `promises` are those that are looked at; all unless given. */
  constructor(clock: VirtualClock, isTraced: boolean, promises: readonly PromiseName[] | undefined) {
    this.#clock = clock
    this.#isTraced = isTraced
    this.#promises = promises
    this.#began = clock.monotonic()
  }

  /** True milliseconds since the run began. */
  get at(): number {
    return this.#clock.monotonic() - this.#began
  }

  broken(promise: PromiseName, text: string): void {
    if (this.violations.length >= MOST_VIOLATIONS) return
    if (this.#promises?.includes(promise) === false) return
    this.violations.push({ promise, text, at: this.at })
    this.say('!', () => `BROKEN ${promise}: ${text}`)
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by)
  }

  say(who: string, text: () => string): void {
    if (this.#isTraced)
      this.lines.push(`${(this.at / 1000).toFixed(4).padStart(9)} ${who.padEnd(5)} ${text()}`)
  }
}
