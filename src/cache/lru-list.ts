/** An item of an `LruList`. It carries its own links, so moving it to the front takes a few writes. */
export interface Link<T extends Link<T>> {
  newer: T | undefined
  older: T | undefined
}

/** Items in the order of their last use. Every operation is O(1). */
export class LruList<T extends Link<T>> {
  #newest: T | undefined
  #oldest: T | undefined

  /** The least recently used item. */
  get oldest(): T | undefined {
    return this.#oldest
  }

  add(item: T): void {
    item.newer = undefined
    item.older = this.#newest
    if (this.#newest === undefined) this.#oldest = item
    else this.#newest.newer = item
    this.#newest = item
  }

  remove(item: T): void {
    if (item.newer === undefined) this.#newest = item.older
    else item.newer.older = item.older
    if (item.older === undefined) this.#oldest = item.newer
    else item.older.newer = item.newer
    item.newer = undefined
    item.older = undefined
  }

  touch(item: T): void {
    if (item === this.#newest) return
    this.remove(item)
    this.add(item)
  }
}
