/** Rows whose move or cancel is on its way to the store: they must not start until the store has answered (rule 8). */
export class StartHolds {
  readonly #parked = new Map<number, number[]>()

  /** From now on the row with this revision does not start. */
  hold(revision: number): void {
    this.#parked.set(revision, [])
  }

  /** Ends a hold. Answers the tokens of rows that were parked meanwhile. */
  release(revision: number): readonly number[] {
    const parked = this.#parked.get(revision) ?? []
    this.#parked.delete(revision)
    return parked
  }

  /** Parks a row that is held. Answers false if it may start. */
  park(revision: number, token: number): boolean {
    if (this.#parked.size === 0) return false
    const parked = this.#parked.get(revision)
    if (parked === undefined) return false
    parked.push(token)
    return true
  }
}
