import { createClient } from 'redis'
import { startOwnRedis } from '../../test/servers/redis.js'
import type { Measurement, Task } from '../harness/bench.js'
import { HORIZON_MS, Timers } from './timers.js'

const WINDOW_MS = 120_000
const MAX_SMALL = 1_000_000
const MAX_SINGLE = 200_000

/**
 * The speed of the server: the same data with variadic commands and the same append-only file. There is a hash of rows for
 * every two minutes, and one of names. Nothing is checked or counted, and no two commands are atomic.
 */
export async function measureRedisFloor({ n, seed }: Task): Promise<Measurement> {
  await pass(20_000, seed, 10_000)
  const metrics = await pass(n, seed, 10_000)
  const small = await pass(Math.min(n, MAX_SMALL), seed, 1000)
  metrics['add 1k'] = small['add 10k']!
  metrics['set 1'] = await separately(Math.min(n, MAX_SINGLE), seed)
  return {
    metrics,
    checks: {},
    notes: ['variadic HSET, HDEL, HGETALL and UNLINK: no step is atomic, nothing is checked'],
  }
}

async function pass(n: number, seed: number, batch: number): Promise<Record<string, number>> {
  const server = await startOwnRedis()
  const client = await clientOf(server.url)
  try {
    const timers = new Timers(n, seed, 1_767_225_600_000)
    let addMs = 0
    for (let i = 0; i < n; i += batch) {
      const size = Math.min(batch, n - i)
      const rows = Array.from({ length: size }, (_, j) => fieldsOf(timers, i + j))
      const from = performance.now()
      await Promise.all(
        [...grouped(rows)]
          .map(([key, words]) => client.sendCommand(['HSET', key, ...words]))
          .concat(client.sendCommand(['HSET', 'names', ...rows.flatMap(({ name, entry }) => [name, entry])])),
      )
      addMs += performance.now() - from
    }
    const disk = server.process.diskBytes() / n
    const tenth = Math.floor(n / 10)
    let cancelMs = 0
    for (let i = 0; i < tenth; i += 1000) {
      const size = Math.min(1000, tenth - i)
      const rows = Array.from({ length: size }, (_, j) => fieldsOf(timers, (i + j) * 10))
      const from = performance.now()
      await Promise.all(
        [...grouped(rows, (row) => [row.field])]
          .map(([key, words]) => client.sendCommand(['HDEL', key, ...words]))
          .concat(client.sendCommand(['HDEL', 'names', ...rows.map(({ name }) => name)])),
      )
      cancelMs += performance.now() - from
    }
    let loadMs = 0
    let settleMs = 0
    let loaded = 0
    for (let start = 0; start <= HORIZON_MS; start += WINDOW_MS) {
      const key = `rows:${start / WINDOW_MS}`
      const from = performance.now()
      const flat = (await client.sendCommand(['HGETALL', key])) as unknown[]
      const middle = performance.now()
      await client.sendCommand(['UNLINK', key])
      settleMs += performance.now() - middle
      loadMs += middle - from
      loaded += flat.length / 2
    }
    return {
      'add 10k': (addMs * 1e3) / n,
      cancel: (cancelMs * 1e3) / tenth,
      load: (loadMs * 1e3) / loaded,
      settle: (settleMs * 1e3) / loaded,
      'load+settle': ((loadMs + settleMs) * 1e3) / loaded,
      disk,
    }
  } finally {
    client.destroy()
    await server.stop()
  }
}

async function separately(n: number, seed: number): Promise<number> {
  const server = await startOwnRedis()
  const client = await clientOf(server.url)
  try {
    const timers = new Timers(n, seed, 1_767_225_600_000)
    const rows = Array.from({ length: n }, (_, i) => fieldsOf(timers, i))
    let next = 0
    const caller = async (): Promise<void> => {
      while (next < n) {
        const { key, field, value, name, entry } = rows[next++]!
        await Promise.all([
          client.sendCommand(['HSET', key, field, value]),
          client.sendCommand(['HSET', 'names', name, entry]),
        ])
      }
    }
    const from = performance.now()
    await Promise.all(Array.from({ length: 1000 }, caller))
    return ((performance.now() - from) * 1e3) / n
  } finally {
    client.destroy()
    await server.stop()
  }
}

async function clientOf(url: string) {
  const client = createClient({ url, RESP: 2, commandOptions: { timeout: 0 } })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

interface Fields {
  readonly key: string
  readonly field: string
  readonly value: string
  readonly name: string
  readonly entry: string
}

function fieldsOf(timers: Timers, index: number): Fields {
  const { namespace, kind, key, dueAt, payload } = timers.set(index)
  const field = dueAt.toString(16).padStart(14, '0') + index.toString(16).padStart(12, '0')
  const name = `${namespace}\0${kind}\0${key}`
  // As many bytes as a row of the store, as a string, which the driver sends fastest.
  const value = `${Buffer.from(payload)
    .toString('latin1')
    .replace(/[^ -~]/g, '.')}${name}${'h'.repeat(40)}`
  return {
    key: `rows:${Math.floor((dueAt - timers.start) / WINDOW_MS)}`,
    field,
    value,
    name,
    entry: `${field}identity`,
  }
}

/** Groups the result of `wordsOf` by hash: field and value by default. */
function grouped(
  rows: readonly Fields[],
  wordsOf: (row: Fields) => string[] = ({ field, value }) => [field, value],
): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const row of rows) {
    const words = groups.get(row.key)
    if (words === undefined) groups.set(row.key, wordsOf(row))
    else words.push(...wordsOf(row))
  }
  return groups
}
