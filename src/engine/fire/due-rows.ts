import type { Window } from '../load/window.js'

/**
 * Due rows, in order, that have no attempt yet, because the start budget of this turn of the event loop is used up. Only
 * numbers are kept: attempts that were made now would live through garbage collections until a later turn starts them.
 *
 * Proven by test/engine/blocked-loop.test.ts.
 */
export class DueRows {
  readonly #window: Window
  #tokens: number[] = []
  #revisions: number[] = []
  #head = 0

  constructor(window: Window) {
    this.#window = window
  }

  get isEmpty(): boolean {
    return this.#head === this.#tokens.length
  }

  add(token: number, revision: number): void {
    this.#tokens.push(token)
    this.#revisions.push(revision)
  }

  /** Takes the next row that is still in memory where it was; -1 when none is left. */
  take(): number {
    while (this.#head < this.#tokens.length) {
      const token = this.#tokens[this.#head]!
      const revision = this.#revisions[this.#head++]!
      // If the row was cancelled meanwhile, its token may be that of another row by now.
      const page = this.#window.page(token)
      if (page?.revisions[this.#window.index(token)] === revision) return token
    }
    this.#tokens = []
    this.#revisions = []
    this.#head = 0
    return -1
  }
}
