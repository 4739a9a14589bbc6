/** The store's own key: all that is no shard's begins with it, in one slot. */
export function storeKey(prefix: string): string {
  return `{${prefix}}`
}

/** A shard's key: all that is the shard's begins with it, in one slot. */
export function shardKey(prefix: string, shard: number): string {
  return `{${prefix}:${shard}}`
}
