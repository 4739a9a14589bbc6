/** Counts what fires and adds up its tokens (in 32 bits), which is all the work a fired timer does here. */
export class Tally {
  // In a typed array, because a sum kept in a variable may become a heap number, made anew at every fire.
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
