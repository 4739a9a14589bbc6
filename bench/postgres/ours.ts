import { PostgresStore } from 'carillon/store'
import { VirtualClock } from 'carillon/time'
import type { Measurement, Task } from '../harness/bench.js'
import { BenchOwner } from '../stores/owner.js'
import { HORIZON_MS, Timers } from '../stores/timers.js'
import { startRunningPostgres } from './running-server.js'

const WARM_UP = 10_000
const CHANGES = 1000
const PAGE = 10_000
const SINGLE = 500

/** The store as an engine uses it, with one shard and one owner. */
export async function measureOurs({ n, seed }: Task): Promise<Measurement> {
  const server = await startRunningPostgres()
  try {
    await wholePass(server.url, WARM_UP, seed)
    const metrics = await wholePass(server.url, n, seed)
    metrics['add 1k'] = await added(server.url, n, seed, 1000)
    metrics['set 1'] = await added(server.url, SINGLE, seed, 1)
    return { metrics, checks: { n }, notes: [] }
  } finally {
    await server.stop()
  }
}

let schemas = 0

async function opened(
  url: string,
): Promise<{ clock: VirtualClock; owner: BenchOwner; store: PostgresStore }> {
  const clock = new VirtualClock()
  const store = await PostgresStore.open(url, { clock, shardCount: 1, schema: `bench_${++schemas}` })
  return { clock, store, owner: await BenchOwner.claim(store) }
}

async function wholePass(url: string, n: number, seed: number): Promise<Record<string, number>> {
  const { clock, owner, store } = await opened(url)
  const timers = new Timers(n, seed, clock.now())
  const metrics: Record<string, number> = { 'add 10k': await addAll(owner, timers, 10_000) }
  const tenth = Math.floor(n / 10)
  metrics['cancel'] = await changed(owner, tenth, 'cancelled', (i) => {
    const { namespace, kind, key } = timers.set(i * 10)
    return { type: 'cancel', namespace, kind, key }
  })
  metrics['move'] = await changed(owner, tenth, 'moved', (i) => {
    const { namespace, kind, key } = timers.set(i * 10 + 1)
    const dueAt = timers.dueAt((i * 7919) % n)
    return { type: 'move', namespace, kind, key, dueAt, position: dueAt }
  })
  const until = timers.start + HORIZON_MS + 2
  let loaded = 0
  let bytes = 0
  const from = performance.now()
  for (;;) {
    const page = await owner.load(until, PAGE)
    for (let i = 0; i < page.size; i++) bytes += page.row(i).payload.length
    loaded += page.size
    if (page.size < PAGE) break
  }
  if (loaded !== n - tenth || bytes !== loaded * 120) throw new Error(`${loaded} rows, ${bytes} bytes loaded`)
  metrics['load'] = ((performance.now() - from) * 1e3) / loaded
  clock.advanceSync(until - clock.now())
  const settling = performance.now()
  await owner.settle(until, loaded)
  await owner.sweep()
  metrics['settle'] = ((performance.now() - settling) * 1e3) / loaded
  const left = await store.countRows()
  if (left !== 0) throw new Error(`${left} rows are left`)
  await store.stop()
  return metrics
}

async function added(url: string, n: number, seed: number, batch: number): Promise<number> {
  const { clock, owner, store } = await opened(url)
  const usEach = await addAll(owner, new Timers(n, seed, clock.now()), batch)
  await store.stop()
  return usEach
}

async function addAll(owner: BenchOwner, timers: Timers, batch: number): Promise<number> {
  let ms = 0
  for (let i = 0; i < timers.n; i += batch) {
    const size = Math.min(batch, timers.n - i)
    const operations = Array.from({ length: size }, (_, j) => timers.set(i + j))
    const from = performance.now()
    const count = await owner.write(operations, 'set')
    ms += performance.now() - from
    if (count !== size) throw new Error(`${count} of ${size} timers were set`)
  }
  return (ms * 1e3) / timers.n
}

async function changed(
  owner: BenchOwner,
  total: number,
  outcome: string,
  make: (i: number) => Parameters<BenchOwner['write']>[0][number],
): Promise<number> {
  let ms = 0
  for (let i = 0; i < total; i += CHANGES) {
    const operations = Array.from({ length: Math.min(CHANGES, total - i) }, (_, j) => make(i + j))
    const from = performance.now()
    const count = await owner.write(operations, outcome)
    ms += performance.now() - from
    if (count !== operations.length)
      throw new Error(`${count} of ${operations.length} operations had the outcome ${outcome}`)
  }
  return (ms * 1e3) / total
}
