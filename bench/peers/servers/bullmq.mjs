// BullMQ as a subject of bench/servers/driver.ts. A timer is a delayed job with its own id, removed when done.
import { Queue, Worker } from 'bullmq'

const CONCURRENCY = 100

export async function open(url) {
  const { hostname: host, port } = new URL(url)
  return await openWith({ host, port: Number(port), maxRetriesPerRequest: null })
}

/** On Redis, or with `factory` on another backend. */
export async function openWith(connection, factory) {
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 }
  const queue = new Queue('bench', { connection, defaultJobOptions }, factory)
  await queue.waitUntilReady()
  // The job of each key, so that a move needs no read.
  const jobs = new Map()
  let worker
  let completed = 0
  let wanted = Infinity
  let reached = () => undefined
  return {
    batch: 1000,
    inFlight: 2,
    async add(rows) {
      const now = Date.now()
      await queue.addBulk(
        rows.map(({ key, dueAt, payload }) => ({
          name: 'timer',
          data: payload,
          opts: { jobId: key, delay: Math.max(1, dueAt - now) },
        })),
      )
    },
    async work(handle) {
      const options = {
        connection,
        concurrency: CONCURRENCY,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      }
      worker = new Worker('bench', async (job) => handle(job.id, job.data.order), options, factory)
      worker.on('error', (error) => console.error(error))
      worker.on('completed', () => {
        if (++completed >= wanted) reached()
      })
      await worker.waitUntilReady()
    },
    async settled(count) {
      wanted = count
      if (completed < wanted) await new Promise((resolve) => (reached = resolve))
    },
    async setOne({ key, dueAt, payload }) {
      jobs.set(key, await queue.add('timer', payload, { jobId: key, delay: Math.max(1, dueAt - Date.now()) }))
    },
    async moveOne(key, dueAt) {
      await jobs.get(key).changeDelay(dueAt - Date.now())
    },
    async cancelOne(key) {
      if ((await queue.remove(key)) !== 1) throw new Error(`${key} was not removed`)
    },
    async stop() {
      await worker?.close(true)
      await queue.close()
    },
  }
}
