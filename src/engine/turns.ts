/** Lets one at a time through, in the order they came. */
export class Turns {
  #last: Promise<void> = Promise.resolve()

  /** Resolves when it is the caller's turn; the caller must call what it gets, once, when done. */
  take(): Promise<() => void> {
    const before = this.#last
    let finish = (): void => undefined
    this.#last = new Promise((resolve) => {
      finish = resolve
    })
    return before.then(() => finish)
  }
}
