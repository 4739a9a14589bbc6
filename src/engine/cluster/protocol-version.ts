/** What instances of one store must agree on: the shard protocol, the data in the store, their messages. */
export interface Protocol {
  /** The version that an instance speaks. */
  readonly version: number
  /** The oldest version that it can share a store with. */
  readonly oldest: number
}

/** The protocol of this version of Carillon. Instances whose heartbeat does not name one speak 0. */
export const ourProtocol: Protocol = Object.freeze({ version: 4, oldest: 0 })

/** The first version that assigns shards evenly. If an older member is present, all assign them as it does. */
export const EVEN_ASSIGNMENT = 2

/** The first version that hands over attempts with their shard. If an older member is present, attempts must end. */
export const HANDS_OVER = 3

/** The first version that takes offers of due timers. Older members get none. */
export const TAKES_OFFERS = 4

/** Whether two instances can share a store: each is new enough for the other. */
export function areCompatible(one: Protocol, other: Protocol): boolean {
  return one.version >= other.oldest && other.version >= one.oldest
}
