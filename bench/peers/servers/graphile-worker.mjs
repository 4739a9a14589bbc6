// graphile-worker as a subject of bench/servers/driver.ts, with its local queue and its batched completions on.
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'

const logger = new Logger(() => () => undefined)

export async function open(url) {
  const pgPool = new pg.Pool({ connectionString: url, max: 10 })
  pgPool.on('error', () => undefined)
  const utils = await makeWorkerUtils({ pgPool, logger })
  await utils.migrate()
  let runner
  const done = { handled: 0 }
  const ids = new Map()
  return {
    batch: 1000,
    inFlight: 2,
    async add(rows) {
      await utils.addJobs(
        rows.map(({ dueAt, payload }) => ({
          identifier: 'bench',
          payload,
          runAt: new Date(dueAt),
          maxAttempts: 1,
        })),
      )
    },
    async work(handle) {
      const worker = {
        concurrentJobs: 24,
        pollInterval: 500,
        maxPoolSize: 10,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      }
      const taskList = {
        async bench(payload) {
          handle(payload.id, payload.order)
          done.handled++
        },
      }
      runner = await run({ pgPool, logger, taskList, noHandleSignals: true, preset: { worker } })
    },
    async settled(count) {
      while (done.handled < count) await sleep(5)
      for (;;) {
        const { rows } = await pgPool.query(
          'select count(*)::int as open from graphile_worker._private_jobs where run_at <= now()',
        )
        if (rows[0].open === 0) return
        await sleep(5)
      }
    },
    async setOne({ key, dueAt, payload }) {
      const spec = { jobKey: key, runAt: new Date(dueAt), maxAttempts: 1 }
      const { id } = await utils.addJob('bench', payload, spec)
      ids.set(key, id)
    },
    async moveOne(key, dueAt) {
      const moved = await utils.rescheduleJobs([ids.get(key)], { runAt: new Date(dueAt) })
      if (moved.length !== 1) throw new Error(`${key} was not moved`)
    },
    async cancelOne(key) {
      await pgPool.query({ name: 'remove', text: 'select graphile_worker.remove_job($1)', values: [key] })
    },
    async stop() {
      await runner?.stop().catch(() => undefined)
      await pgPool.end().catch(() => undefined)
    },
  }
}
