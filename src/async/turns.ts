/**
 * Hands out turns of the event loop, one at a time: long work that waits for `next` before each step takes at most one
 * step in a turn, however many such works there are. Proven by test/async/turns.test.ts.
 */
export class Turns {
  readonly #turnEnd: () => Promise<void>
  #last: Promise<void> = Promise.resolve()

  /** `turnEnd` resolves at the end of a turn, as `Clock.turnEnd` does. */
  constructor(turnEnd: () => Promise<void>) {
    this.#turnEnd = turnEnd
  }

  /** Resolves in a later turn, which no other caller gets. */
  next(): Promise<void> {
    return (this.#last = this.#last.then(this.#turnEnd))
  }
}
