import pg from 'pg'
import { expect, it } from 'vitest'
import type { Fence } from '../../../src/store/index.js'
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { openStoreIn, thisServer, usePostgres } from './scratch.js'

usePostgres()

it('leases and heartbeats do not wait for connections that are busy with timers', async () => {
  const store = await openStoreIn({ shardCount: 2, maxConnections: 1 })
  const [first, second] = [await own(store, 0), await own(store, 1)]
  const other = new pg.Client({ connectionString: thisServer().url })
  await other.connect()
  await other.query('begin')
  await other.query(`select from "${store.schema}".shard where shard = 0 for update`)
  const settlement = { id: 1, level: first.settledLevel, settledCount: 0 }
  const nothing = { done: [], followUps: [], dead: [], history: [] }
  // It waits for the lock, on the only connection that timers have.
  const stuck = store.settle(first, { ...settlement, ...nothing })
  const isStuck = await Promise.race([stuck.then(() => false), after(300).then(() => true)])
  const row = await Promise.race([renewed(store, second), after(3000)])
  await other.query('rollback')
  await other.end()
  await stuck
  expect(isStuck).toBe(true)
  expect(row).toBe('renewed')
})

async function own(store: PostgresStore, shard: number): Promise<Fence> {
  const claim = { shard, owner: 'test', nonce: 7, leaseMs: 60_000, expectedEpoch: 0 }
  const { epoch, nonce, settledLevel } = (await store.claim(claim))!
  return { shard, epoch, nonce, settledLevel }
}

async function renewed(store: PostgresStore, fence: Fence): Promise<string> {
  await store.renew(fence, 60_000)
  await store.heartbeat({ id: 'test', details: '' }, 1000)
  return 'renewed'
}

async function after(ms: number): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, ms))
  return 'too late'
}
