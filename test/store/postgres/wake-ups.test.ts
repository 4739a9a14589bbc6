import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../eventually.js'
import { isForeign, newSchema, openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const clients: pg.Client[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) await client.end()
})

describe('wake-ups by PostgreSQL', () => {
  it('reach every store that listens, including the sender', async () => {
    const schema = newSchema()
    const stores = await Promise.all([1, 2, 3].map(() => openStoreIn({ schema, shardCount: 4 })))
    const woken = stores.map(() => new Array<number>())
    for (const [i, store] of stores.entries()) store.onWake((shard) => woken[i]!.push(shard))
    await listening(schema, 3)
    for (const list of woken) list.length = 0
    stores[0]!.wake(3)
    await eventually(() => expect(woken).toEqual([[3], [3], [3]]))
  })

  it('are sent at most once in 5 ms for a shard, and the last one is not lost', async () => {
    const schema = newSchema()
    const store = await openStoreIn({ schema, shardCount: 4 })
    const notified: { shard: string; at: number }[] = []
    const client = new pg.Client({ connectionString: thisServer().url })
    clients.push(client)
    await client.connect()
    client.on('notification', ({ payload }) => notified.push({ shard: payload!, at: performance.now() }))
    await client.query(`listen "carillon ${schema}"`)
    const from = performance.now()
    let calls = 0
    while (performance.now() - from < 400) {
      for (let i = 0; i < 10; i++, calls++) store.wake(calls % 2)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
    const [first, second] = ['0', '1'].map((shard) => notified.filter((each) => each.shard === shard))
    const most = Math.ceil((performance.now() - from) / 5) + 1
    for (const list of [first!, second!]) {
      expect(list.length).toBeGreaterThan(2)
      expect(list.length).toBeLessThanOrEqual(most)
      // Those of one turn are one.
      expect(list.length).toBeLessThan(calls / 4)
    }
    store.wake(2)
    await store.now()
    store.wake(2)
    store.wake(2)
    await eventually(() => expect(notified.filter((each) => each.shard === '2')).toHaveLength(2))
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(notified.filter((each) => each.shard === '2')).toHaveLength(2)
  })

  it('continue after the listening connection was killed; before that, every shard is woken once', async () => {
    const schema = newSchema()
    const [listener, speaker] = await Promise.all([1, 2].map(() => openStoreIn({ schema, shardCount: 3 })))
    const woken: number[] = []
    listener!.onWake((shard) => woken.push(shard))
    const [backend] = await listening(schema, 1)
    woken.length = 0
    await sql('select pg_terminate_backend($1)', [backend])
    // Wake-ups may have been lost meanwhile, so every shard is woken.
    await eventually(() => expect(woken.toSorted((a, b) => a - b)).toEqual([0, 1, 2]))
    const [next] = await listening(schema, 1)
    expect(next).not.toBe(backend)
    woken.length = 0
    speaker!.wake(1)
    await eventually(() => expect(woken).toEqual([1]))
  })

  it.skipIf(isForeign)('go on after the server was down', async () => {
    const schema = newSchema()
    const store = await openStoreIn({ schema, shardCount: 2 })
    const woken: number[] = []
    store.onWake((shard) => woken.push(shard))
    await listening(schema, 1)
    await thisServer().crash()
    store.wake(0)
    woken.length = 0
    await thisServer().restart()
    await eventually(() => expect(new Set(woken)).toEqual(new Set([0, 1])), 20_000)
    woken.length = 0
    await eventually(() => {
      store.wake(1)
      expect(woken).toContain(1)
    })
  })
})

/** Waits until `count` sessions listen for this schema. Returns their process ids. */
async function listening(schema: string, count: number): Promise<number[]> {
  let found: number[] = []
  await eventually(async () => {
    const rows = await sql('select pid from pg_stat_activity where query = $1', [
      `listen "carillon ${schema}"`,
    ])
    found = rows.map((row) => row['pid'] as number)
    expect(found).toHaveLength(count)
  })
  // Each wakes every shard when it begins to listen.
  await new Promise((resolve) => setTimeout(resolve, 100))
  return found
}
