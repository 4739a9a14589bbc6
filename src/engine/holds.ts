/** Rows whose move or cancel is on its way to the store: they must not start until it is known. */
export class Holds {
  readonly #parked = new Map<number, number[]>()

  /** From now on the row of this revision does not start. */
  hold(revision: number): void {
    this.#parked.set(revision, [])
  }

  /** Ends a hold and answers the tokens that wanted to start meanwhile. */
  release(revision: number): readonly number[] {
    const parked = this.#parked.get(revision) ?? []
    this.#parked.delete(revision)
    return parked
  }

  /** Parks a row that is held; false when it is free to start. */
  park(revision: number, token: number): boolean {
    if (this.#parked.size === 0) return false
    const parked = this.#parked.get(revision)
    if (parked === undefined) return false
    parked.push(token)
    return true
  }
}
