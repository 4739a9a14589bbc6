import { setOf } from '../../src/testing/store-contract/sample.js'
import type { Store } from '../../src/store/index.js'
import { shardOf } from '../../src/timer/index.js'
import { eventually } from '../eventually.js'
import { expect } from 'vitest'

/** Stores a timer whose details are no JSON, behind the server's back. No server would accept it. */
export async function storeSpoiltRow(
  store: Store,
  { kind, key, dueAt }: { kind: string; key: string; dueAt: number },
): Promise<void> {
  const name = { namespace: 'default', kind, key }
  const payload = Buffer.from('"spoilt"')
  const operation = setOf(name, dueAt, { details: '{"on":', payload })
  const shard = shardOf(name, store.shardCount)
  const deadline = Math.ceil(await store.now()) + 60_000
  await store.append([{ id: `spoilt ${key}`, shard, deadline, operation }])
  store.wake(shard)
  await eventually(async () => {
    const [answer] = await store.answers(shard, [`spoilt ${key}`])
    expect(answer).toBe('set')
  })
}
