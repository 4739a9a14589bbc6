/** Counts fired timers and sums up their tokens (in 32 bits). That is all the work of a fired timer here. */
export class Tally {
  // In a typed array: a sum in a variable may become a heap number, which is allocated at every fire.
  readonly #sums = new Int32Array(2)

  readonly fire = (token: number): void => {
    this.#sums[0]! += 1
    this.#sums[1]! += token
  }

  get count(): number {
    return this.#sums[0]!
  }

  get tokens(): number {
    return this.#sums[1]!
  }
}
