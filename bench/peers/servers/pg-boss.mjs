// pg-boss as a subject of bench/servers/driver.ts: batches of 1,000, the shortest polling interval it allows, and the next
// batch immediately after a full one.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { PgBoss } from 'pg-boss'

export async function open(url) {
  const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue('bench')
  const looking = new pg.Client(url)
  await looking.connect()
  const done = { handled: 0 }
  const ids = new Map()
  return {
    batch: 1000,
    inFlight: 2,
    async add(rows) {
      await boss.insert(
        'bench',
        rows.map(({ dueAt, payload }) => ({ data: payload, startAfter: new Date(dueAt), retryLimit: 0 })),
        // Returns ids, as the others do: without its id a job could not be cancelled.
        { returnId: true },
      )
    },
    async work(handle) {
      const options = {
        batchSize: 1000,
        pollingIntervalSeconds: 0.5,
        burstWhenBatchFull: true,
        localConcurrency: 2,
      }
      await boss.work('bench', options, async (jobs) => {
        for (const { data } of jobs) handle(data.id, data.order)
        done.handled += jobs.length
      })
    },
    async settled(count) {
      while (done.handled < count) await sleep(5)
      for (;;) {
        const { rows } = await looking.query(
          "select count(*)::int as open from pgboss.job where name = 'bench' and state = 'active'",
        )
        if (rows[0].open === 0) return
        await sleep(5)
      }
    },
    async setOne({ key, dueAt, payload }) {
      ids.set(key, await boss.send('bench', payload, { startAfter: new Date(dueAt), retryLimit: 0 }))
    },
    async moveOne(key, dueAt) {
      await boss.update('bench', undefined, { id: ids.get(key), startAfter: new Date(dueAt) })
    },
    async cancelOne(key) {
      await boss.cancel('bench', ids.get(key))
    },
    async stop() {
      await looking.end()
      await boss.stop({ graceful: false })
    },
  }
}
