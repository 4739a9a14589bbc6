/** The listeners of `onWake`. A file store has one process, so a wake-up stays in memory. */
export class WakeListeners {
  readonly #listeners = new Set<(shard: number) => void>()

  wake(shard: number): void {
    for (const listener of this.#listeners) {
      queueMicrotask(() => {
        if (this.#listeners.has(listener)) listener(shard)
      })
    }
  }

  add(listener: (shard: number) => void): () => void {
    // A new function for each call, because the same listener may be added twice.
    const added = (shard: number): void => listener(shard)
    this.#listeners.add(added)
    return () => void this.#listeners.delete(added)
  }

  clear(): void {
    this.#listeners.clear()
  }
}
