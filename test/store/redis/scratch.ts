import { afterEach } from 'vitest'
import { RedisStore } from '../../../src/store/redis/redis-store.js'
import type { RedisStoreOptions } from '../../../src/store/redis/redis-store-options.js'
import type { Fence, SetOperation, ShardRow, Store } from '../../../src/store/index.js'

const stores: RedisStore[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop()
})

/** A store that is stopped after the test. */
export async function openAt(url: string, options: RedisStoreOptions = {}): Promise<RedisStore> {
  const store = await RedisStore.open(url, { shardCount: 1, ...options })
  stores.push(store)
  return store
}

let nonces = 0

export async function own(store: Store, shard = 0): Promise<Fence & { readLevel: ShardRow['readLevel'] }> {
  const row = (await store.shards())[shard]!
  const claimed = await store.claim({
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

let identities = 0

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
