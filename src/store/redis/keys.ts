/** The store's own key. All keys that belong to no shard begin with it, so they are in one cluster slot. */
export function storeKey(prefix: string): string {
  return `{${prefix}}`
}

/** A shard's key. All keys of the shard begin with it, so they are in one cluster slot. */
export function shardKey(prefix: string, shard: number): string {
  return `{${prefix}:${shard}}`
}

/** On the wake channel, a message that begins with this names a member that has mail. Others name a shard. */
export const MAIL_MARK = '@'
