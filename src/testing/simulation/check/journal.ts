import type { VirtualClock } from '../../../time/index.js'
import type { PromiseName, Violation } from './violation.js'

const MAX_VIOLATIONS = 20

/**
 * The record of a run: violations, a count of each thing that happened and, with `isTraced`, a line for each event. It
 * never influences the run.
 */
export class Journal {
  readonly violations: Violation[] = []
  readonly counts = new Map<string, number>()
  readonly lines: string[] = []
  readonly #clock: VirtualClock
  readonly #isTraced: boolean
  readonly #promises: readonly PromiseName[] | undefined
  readonly #began: number

  /** Violations of other promises than `promises` are ignored; undefined for all. */
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

  violated(promise: PromiseName, text: string): void {
    if (this.violations.length >= MAX_VIOLATIONS) return
    if (this.#promises?.includes(promise) === false) return
    this.violations.push({ promise, text, at: this.at })
    this.log('!', () => `BROKEN ${promise}: ${text}`)
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by)
  }

  log(who: string, text: () => string): void {
    if (this.#isTraced)
      this.lines.push(`${(this.at / 1000).toFixed(4).padStart(9)} ${who.padEnd(5)} ${text()}`)
  }
}
