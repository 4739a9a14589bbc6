import pg from 'pg'
import { expect, it } from 'vitest'
import type { Fence } from '../../../src/store/index.js'
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { eventually } from '../../eventually.js'
import { openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

it('leases and heartbeats on PostgreSQL do not wait for connections that are busy with timers', async () => {
  const store = await openStoreIn({ shardCount: 2, maxConnections: 1 })
  const [first, second] = [await own(store, 0), await own(store, 1)]
  const other = new pg.Client({ connectionString: thisServer().url })
  await other.connect()
  await other.query('begin')
  await other.query(`select from "${store.schema}".shard where shard = 0 for update`)
  const settlement = { id: 1, level: first.settledLevel, settledCount: 0 }
  const nothing = { done: [], followUps: [], dead: [], history: [] }
  // It waits for the lock, on the only connection for timers.
  const stuck = store.settle(first, { ...settlement, ...nothing })
  const isStuck = await Promise.race([stuck.then(() => false), after(300).then(() => true)])
  const row = await Promise.race([renewed(store, second), after(3000)])
  await other.query('rollback')
  await other.end()
  await stuck
  expect(isStuck).toBe(true)
  expect(row).toBe('renewed')
})

it('acquiring a shard on PostgreSQL during a write of the last owner suspects the written row, too', async () => {
  const store = await openStoreIn({ shardCount: 1 })
  const last = { shard: 0, owner: 'last', nonce: 7, leaseMs: 1, expectedEpoch: 0 }
  const { leaseUntil } = (await store.acquire(last))!
  await eventually(async () => expect(await store.now()).toBeGreaterThan(leaseUntil))
  const other = new pg.Client({ connectionString: thisServer().url })
  await other.connect()
  await other.query('begin')
  // Like a write of the last owner, this locks the shard row until it commits.
  await other.query(`update "${store.schema}".shard set last_revision = 5`)
  const claiming = store.acquire({ ...last, owner: 'next', nonce: 8, leaseMs: 60_000, expectedEpoch: 1 })
  await eventually(async () => {
    const waiting = await sql(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%"${store.schema}".shard%'`,
    )
    expect(waiting).toHaveLength(1)
  })
  await other.query('commit')
  await other.end()
  expect(await claiming).toMatchObject({ owner: 'next', epoch: 2, suspects: { untilRevision: 5 } })
})

async function own(store: PostgresStore, shard: number): Promise<Fence> {
  const claim = { shard, owner: 'test', nonce: 7, leaseMs: 60_000, expectedEpoch: 0 }
  const { epoch, nonce, settledLevel } = (await store.acquire(claim))!
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
