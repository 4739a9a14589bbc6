import type { Attempt } from './attempt.js'

/** Attempts in the order they were added. Adding and removing touch only their neighbours. */
export class AttemptList {
  #first: Attempt | undefined
  #last: Attempt | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(attempt: Attempt): void {
    attempt.before = this.#last
    attempt.after = undefined
    if (this.#last === undefined) this.#first = attempt
    else this.#last.after = attempt
    this.#last = attempt
    this.#size++
  }

  /** Only for one that is in the list. */
  remove(attempt: Attempt): void {
    const { before, after } = attempt
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    attempt.before = undefined
    attempt.after = undefined
    this.#size--
  }

  *[Symbol.iterator](): Generator<Attempt, void, undefined> {
    for (let attempt = this.#first; attempt !== undefined; attempt = attempt.after) yield attempt
  }
}
