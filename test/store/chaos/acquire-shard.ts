import type { Fence, ShardRow, Store } from 'carillon/store'

/** Acquires the only shard of a store, as an engine would. */
export async function acquireShard(
  store: Store,
  owner: string,
  nonce: number,
  leaseMs: number,
): Promise<{ readonly fence: Fence; readonly row: ShardRow }> {
  const [before] = await store.shards()
  const row = await store.acquire({ shard: 0, owner, nonce, leaseMs, expectedEpoch: before!.epoch })
  if (row === undefined) throw new Error(`cannot acquire the shard: ${JSON.stringify(before)}`)
  const { epoch, settledLevel } = row
  return { fence: { shard: 0, epoch, nonce, settledLevel }, row }
}
