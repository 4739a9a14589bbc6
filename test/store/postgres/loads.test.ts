import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../eventually.js'
import { newSchema, openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const LOADS = `select count(*)::integer as count from pg_stat_activity
  where state = 'active' and query like '%.load(%' and pid <> pg_backend_pid() and query like $1`

describe('loads of a PostgreSQL store', () => {
  it('run three at a time, and more once those three have hung for a while', async () => {
    const schema = newSchema()
    const store = await openStoreIn({ shardCount: 8, schema })
    const fences = await Promise.all(
      (await store.shards()).map(async ({ shard, epoch: expectedEpoch }) => {
        const claim = { shard, owner: 'me', nonce: shard + 1, leaseMs: 60_000, expectedEpoch }
        const { epoch, nonce, settledLevel } = (await store.acquire(claim))!
        return { shard, epoch, nonce, settledLevel }
      }),
    )
    const holder = new pg.Client({ connectionString: thisServer().url })
    await holder.connect()
    try {
      await holder.query('begin')
      await holder.query(`select 1 from "${schema}".shard for update`)
      const request = { from: { position: 0, revision: 0 }, untilExclusive: 1, limit: 10, limitBytes: 1000 }
      const loads = Promise.all(fences.map((fence) => store.load(fence, request)))
      const waiting = async (): Promise<number> => Number((await sql(LOADS, [`%${schema}%`]))[0]!['count'])
      await eventually(async () => expect(await waiting()).toBe(3))
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(await waiting()).toBe(3)
      // The three may hang for long. After LOAD_PATIENCE_MS the others run beside them.
      await eventually(async () => expect(await waiting()).toBe(8))
      await holder.query('commit')
      expect((await loads).map(({ page }) => page.size)).toEqual(fences.map(() => 0))
    } finally {
      await holder.end()
    }
  })
})
