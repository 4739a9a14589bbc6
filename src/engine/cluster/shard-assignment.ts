/** A shard and its owner; empty if it has none. */
export interface HeldShard {
  readonly shard: number
  readonly owner: string
}

/**
 * The member that should own each shard, so that no member has two more than another. A member keeps its shards as long
 * as they are not too many. So when a member joins, only the shards that it gets move, and when one leaves, only those
 * that it had. Every member computes the same result from the same shards and members, in whatever order.
 *
 * Proven by test/engine/shard-assignment.test.ts.
 */
export function assignEvenly(
  shards: readonly HeldShard[],
  memberIds: readonly string[],
): ReadonlyMap<number, string> {
  const owners = new Map<number, string>()
  if (memberIds.length === 0) return owners
  const held = new Map(memberIds.map((id): [string, number[]] => [id, []]))
  for (const { shard, owner } of shards) held.get(owner)?.push(shard)
  const room = roomOf(held, shards.length)
  for (const [id, itsShards] of held) {
    const kept = itsShards.toSorted((a, b) => weight(b, id) - weight(a, id) || a - b).slice(0, room.get(id))
    for (const shard of kept) owners.set(shard, id)
    room.set(id, room.get(id)! - kept.length)
  }
  const free = shards.map(({ shard }) => shard).filter((shard) => !owners.has(shard))
  for (const shard of free.toSorted((a, b) => a - b)) {
    const withRoom = memberIds.filter((id) => room.get(id)! > 0)
    const owner = highest(shard, withRoom)
    owners.set(shard, owner)
    room.set(owner, room.get(owner)! - 1)
  }
  return owners
}

/** How many shards each member may have. What is left of an even division goes to the members that have most. */
function roomOf(held: ReadonlyMap<string, readonly number[]>, shardCount: number): Map<string, number> {
  const each = Math.floor(shardCount / held.size)
  const over = shardCount - each * held.size
  const byCount = [...held].toSorted(([a, ofA], [b, ofB]) => ofB.length - ofA.length || (a < b ? -1 : 1))
  return new Map(byCount.map(([id], rank) => [id, rank < over ? each + 1 : each]))
}

/** The member that should own each shard, as members before protocol 2 compute it: by a hash, so not evenly. */
export function assignByHash(
  shards: readonly Pick<HeldShard, 'shard'>[],
  memberIds: readonly string[],
): ReadonlyMap<number, string> {
  if (memberIds.length === 0) return new Map()
  return new Map(shards.map(({ shard }) => [shard, highest(shard, memberIds)]))
}

/** The member whose hash with a shard is highest. There must be at least one member. */
function highest(shard: number, memberIds: readonly string[]): string {
  let owner = ''
  let most = -1
  for (const id of memberIds) {
    const own = weight(shard, id)
    if (own > most || (own === most && id > owner)) {
      owner = id
      most = own
    }
  }
  return owner
}

function weight(shard: number, id: string): number {
  const text = `${shard}/${id}`
  let value = 0x811c_9dc5
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x0100_0193)
  }
  value ^= value >>> 16
  value = Math.imul(value, 0x85eb_ca6b)
  value ^= value >>> 13
  value = Math.imul(value, 0xc2b2_ae35)
  return (value ^ (value >>> 16)) >>> 0
}
