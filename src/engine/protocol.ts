/** What instances of one store must agree on: the shard protocol, what is in the store, what they say to each other. */
export interface Protocol {
  /** What an instance speaks. */
  readonly version: number
  /** The oldest that it can share a store with. */
  readonly oldest: number
}

/** What this version of Carillon speaks. 0 is spoken by instances that say nothing of it. */
export const ourProtocol: Protocol = Object.freeze({ version: 2, oldest: 0 })

/** The first in which members share shards out evenly. Among older ones all do as those do. */
export const EVEN_SHARES = 2

/** Whether two can share a store: each is new enough for the other. */
export function areCompatible(one: Protocol, other: Protocol): boolean {
  return one.version >= other.oldest && other.version >= one.oldest
}
