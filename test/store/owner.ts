import type { Fence, SetOperation, ShardRow, Store } from '../../src/store/index.js'

let nonces = 0
let identities = 0

/** Acquires a shard, for longer than any test takes. */
export async function own(store: Store, shard = 0): Promise<Fence & { readLevel: ShardRow['readLevel'] }> {
  const row = (await store.shards())[shard]!
  const claimed = await store.acquire({
    shard,
    owner: 'test',
    nonce: ++nonces,
    leaseMs: 1e9,
    expectedEpoch: row.epoch,
  })
  if (claimed === undefined) throw new Error(`shard ${shard} is owned by ${row.owner}`)
  const { epoch, nonce, settledLevel, readLevel } = claimed
  return { shard, epoch, nonce, settledLevel, readLevel }
}

/** A set of a new timer whose position is its due time. */
export function setOf(key: string, position: number, parts: Partial<SetOperation> = {}): SetOperation {
  return {
    type: 'set',
    namespace: 'test',
    kind: 'sample',
    key,
    identity: ++identities,
    createdAt: 1_700_000_000_000,
    payload: Buffer.from(`payload of ${key}`),
    tags: [],
    details: '',
    dueAt: position,
    attempt: 0,
    occurrence: 0,
    position,
    ...parts,
  }
}
