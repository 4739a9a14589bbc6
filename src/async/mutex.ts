/** Lets one caller at a time through, in order of arrival. Proven by test/async/mutex.test.ts. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  /** Resolves when it is the caller's turn, with the function that the caller must call when it is done. */
  lock(): Promise<() => void> {
    const previous = this.#last
    let unlock = (): void => undefined
    this.#last = new Promise((resolve) => {
      unlock = resolve
    })
    return previous.then(() => unlock)
  }
}
