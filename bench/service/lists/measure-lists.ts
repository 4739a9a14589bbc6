import { openTimers, timer } from 'carillon'
import { Server } from 'carillon/server'
import { startOwnRedis } from '../../../test/servers/redis.js'
import type { Measurement } from '../../harness/bench.js'
import { startRunningPostgres } from '../../postgres/running-server.js'
import { Folder } from '../../stores/folder.js'
import { Connection } from '../connection.js'
import { OtherProcess } from '../other-process.js'
import type { ListAnswer, ListTask } from './lister.js'
import { type ListedStore, questions, RARE, SPREAD } from './questions.js'
import type { Steady, SteadyTask } from './steady.js'

/** The steady load: few enough that the machine is not busy with it. */
const LOAD = Object.freeze({ rate: 200, warmUpSeconds: 3, seconds: 12 })
const ROWS_PER_CALL = 5000
const USERS = 1000

/** Fills a store with `n` timers, then reads lists over HTTP beside a steady load. */
export async function measureLists(kind: ListedStore, n: number): Promise<Measurement> {
  const store = await startStore(kind)
  const lister = new OtherProcess<ListTask, { answers: readonly ListAnswer[] }>(
    new URL('lister.js', import.meta.url).href,
  )
  const load = new OtherProcess<SteadyTask, Steady>(new URL('steady.js', import.meta.url).href)
  let server: Server | undefined
  try {
    await fillStore(store.url, n)
    server = await Server.start({ store: store.url, port: 0, rate: 0 })
    const served = { url: server.url, token: server.firstToken! }
    const connection = new Connection(served)
    await connection.ask('PUT', '/v1/targets/steady', { type: 'lease' })
    await connection.close()
    const steady = async (seconds: number): Promise<Steady> =>
      await load.ask({ ...served, rate: LOAD.rate, seconds })
    await steady(LOAD.warmUpSeconds)
    const quiet = await steady(LOAD.seconds)
    const state = { isLoaded: true }
    const loading = steady(LOAD.seconds).finally(() => (state.isLoaded = false))
    const answers: ListAnswer[] = []
    do answers.push(...(await lister.ask({ ...served, questions })).answers)
    while (state.isLoaded)
    const meanwhile = await loading
    return {
      metrics: {
        ...pageMetrics(answers),
        'quiet p99': quiet.p99,
        'listed p99': meanwhile.p99,
        lateness: Math.max(1, meanwhile.p99) / Math.max(1, quiet.p99),
      },
      checks: {},
      notes: answers.slice(0, questions.length).map(({ name, pageMs, items, isWhole, looked }) => {
        const end = isWhole ? 'all of it' : `it goes on, after ${looked} timers`
        return `${name}: ${items} in ${pageMs.length} pages, ${end}; the longest page ${Math.round(Math.max(...pageMs))} ms`
      }),
    }
  } finally {
    lister.stop()
    load.stop()
    await server?.stop()
    await store.stop()
  }
}

function pageMetrics(answers: readonly ListAnswer[]): Record<string, number> {
  const metrics: Record<string, number> = {}
  for (const { name } of questions) {
    const ms = answers.filter((answer) => answer.name === name).flatMap(({ pageMs }) => pageMs)
    ms.sort((a, b) => a - b)
    metrics[`${name} p50`] = ms[Math.floor(ms.length / 2)]!
    metrics[`${name} p95`] = ms[Math.min(ms.length - 1, Math.floor(ms.length * 0.95))]!
  }
  return metrics
}

/** Timers of two kinds and a rare one, some with tags, due at random over a month. */
async function fillStore(url: string, n: number): Promise<void> {
  const timers = await openTimers({ store: url as 'memory:', callTimeout: '5m' })
  const rare = new Set(Array.from({ length: RARE.count }, (_, i) => Math.floor((n * (i + 0.5)) / RARE.count)))
  const from = Date.now() + SPREAD.fromMs
  let random = 12_345
  for (let first = 0; first < n; first += ROWS_PER_CALL) {
    const byKind = new Map<string, object[]>()
    for (let i = first; i < Math.min(n, first + ROWS_PER_CALL); i++) {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0
      const tags = [...(i % 16 === 0 ? ['vip'] : []), ...(rare.has(i) ? [RARE.tag] : [])]
      const kind = rare.has(i + 1) ? RARE.kind : i % 5 < 3 ? 'mail' : 'call'
      const rows = byKind.get(kind) ?? []
      byKind.set(kind, rows)
      rows.push({
        key: `user-${i % USERS}-order-${i}`,
        at: from + Math.floor((random / 2 ** 32) * SPREAD.overMs),
        payload: { orderId: i, note: 'a basket that somebody left behind' },
        ...(tags.length > 0 && { tags }),
      })
    }
    await Promise.all([...byKind].map(([kind, rows]) => timers.setMany(timer(kind), rows as never)))
  }
  await timers.stop()
}

async function startStore(
  kind: ListedStore,
): Promise<{ readonly url: string; stop(): void | Promise<void> }> {
  if (kind === 'postgres') return await startRunningPostgres()
  if (kind === 'redis') return await startOwnRedis()
  const folder = new Folder()
  return { url: `file:${folder.path}`, stop: () => folder.remove() }
}
