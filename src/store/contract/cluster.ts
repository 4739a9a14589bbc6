/** How instances that share a store find and wake each other, and agree on settings. */
export interface StoreCluster {
  /**
   * Registers or refreshes a member. Answers the store's time and all members whose heartbeat is not over.
   *
   * A heartbeat that would last more than twice `ttlMs` was sent while the store's clock was ahead. The store cuts it
   * to `ttlMs` from now.
   */
  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }>
  removeMember(id: string): Promise<void>
  /** The settings whose name begins with `prefix`. */
  settings(prefix: string): Promise<readonly Setting[]>
  /**
   * Stores a setting, or removes it when `value` is undefined. With `ifVersion`, only if the setting has that version
   * (0: only if it is absent). Answers the new version, or undefined when the condition failed.
   *
   * A version never comes again: a setting that was removed and stored again has another version than before.
   */
  putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined>
  /** Tells the listeners that a shard has something new. It may get lost, and it never rejects. */
  wake(shard: number): void
  /** Calls `listener` at each wake-up, until the function that it answers is called. */
  onWake(listener: (shard: number) => void): () => void
}

/** An instance as the others see it. */
export interface Member {
  readonly id: string
  /** A string that the store does not interpret: address, version. */
  readonly details: string
}

/** A named value that all instances share, with its version. */
export interface Setting {
  readonly name: string
  readonly value: string
  readonly version: number
}
