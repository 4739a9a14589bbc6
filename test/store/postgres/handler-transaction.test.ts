import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers, type TimersOptions } from '../../../src/index.js'
import type { StoreUrl } from '../../../src/store/index.js'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { TcpProxy } from '../../servers/tcp-proxy.js'
import { until } from '../../eventually.js'
import { newSchema, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const quick = {
  heartbeatMs: 300,
  acquireMs: 100,
  inboxPollMs: 100,
  settleMs: 100,
  retryMs: 50,
}
const pay = timer<{ amount: number }>('pay', { retry: { attempts: 20, backoff: '20ms..50ms' } })
// With the zero byte that ends it on the wire, so that it matches no longer word.
const COMMIT = 'commit\0'
const all: Timers[] = []
const proxies: TcpProxy[] = []
let schema = ''

beforeAll(async () => {
  // The table has no unique key. The tests must show that no key is written twice.
  await sql(
    'create table if not exists paid (run text not null, key text not null, attempt integer not null)',
  )
})

afterEach(async () => {
  for (const timers of all.splice(0)) await timers.stop()
  for (const proxy of proxies.splice(0)) await proxy.stop()
})

describe.each(['claim', 'preload', 'lookahead'] as const)(
  'a handler with a transaction on PostgreSQL, with the strategy %s',
  (strategy) => {
    const engine = { ...quick, strategy, ...(strategy === 'claim' && { leaseMs: 2000, leaseMarginMs: 400 }) }
    const open = (more: Partial<TimersOptions> = {}, port?: number) => openWith({ engine, ...more }, port)
    const settling = strategy === 'claim' ? '.settle_claimed(' : '.settle('

    it('commits its rows and its settlement together', async () => {
      const timers = await open()
      const seen: unknown[] = []
      timers.handle(
        pay,
        async ({ key, attempt, payload, transaction }) => {
          seen.push(payload.amount)
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, attempt])
          // The row is not visible yet, and the timer still exists.
          expect(await paid()).toEqual([])
          expect(await timers.get(pay, key)).toMatchObject({ state: 'firing' })
          expect(await timers.cancel(pay, key)).toBe('firing')
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 20, payload: { amount: 7 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toEqual([['a', 1]])
      expect(seen).toEqual([7])
      expect((await timers.why(pay, 'a')).events.map(({ event }) => event)).toEqual([
        'created',
        'attempt',
        'settled',
      ])
      expect(timers.engine.stats().counts).toMatchObject({ fired: 1, done: 1, settled: 1, superseded: 0 })
    })

    it('leaves no rows if it throws, and is tried again', async () => {
      const timers = await open()
      timers.handle(
        pay,
        async ({ key, attempt, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, attempt])
          if (attempt < 3) throw new Error('not yet')
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toEqual([['a', 3]])
    })

    it('fails as a whole if one of its statements fails, even if it ignores the error', async () => {
      const timers = await open()
      timers.handle(
        pay,
        async ({ key, attempt, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, attempt])
          if (attempt === 1) await transaction.query('select 1 / 0').catch(() => undefined)
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toEqual([['a', 2]])
    })

    it('writes the next occurrence in the same transaction', async () => {
      const timers = await open()
      timers.handle(
        pay,
        async (firing) => {
          await firing.transaction.query('insert into paid values ($1, $2, $3)', [
            schema,
            firing.key,
            firing.occurrence,
          ])
          if (firing.occurrence < 3) firing.again({ in: 30 })
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toEqual([0, 1, 2, 3].map((occurrence) => ['a', occurrence]))
    })

    it('leaves no rows if its timer was replaced meanwhile', async () => {
      const timers = await open()
      timers.handle(
        pay,
        async ({ key, payload, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, payload.amount])
          if (payload.amount === 1) await timers.set(pay, key, { in: 300, payload: { amount: 2 } })
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toEqual([['a', 2]])
      expect(timers.engine.stats().counts).toMatchObject({ fired: 2, settled: 1, superseded: 1 })
    })

    it('leaves no rows if its claim or its shard was lost', async () => {
      const timers = await open()
      timers.handle(
        pay,
        async ({ key, attempt, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, attempt])
          if (attempt > 1) return
          // As if another instance had taken it and had died at once.
          await sql(
            strategy === 'claim'
              ? `update "${schema}".timer set lease_nonce = lease_nonce + 1000`
              : `update "${schema}".shard set epoch = epoch + 1, nonce = nonce + 1,
                   lease_until = (extract(epoch from clock_timestamp()) * 1000)::bigint`,
          )
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toEqual([['a', 2]])
    })

    it('commits even if it takes longer than a lease or is carried', async () => {
      const timers = await open({ engine: { ...engine, carryAfterMs: 400 } })
      timers.handle(
        pay,
        async ({ key, attempt, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, attempt])
          await sleep(3000)
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toEqual([['a', 1]])
      expect(timers.engine.stats().counts.fired).toBe(1)
    })

    it('is rolled back after its timeout, and its later queries are refused', async () => {
      const hasty = timer('hasty', { timeout: 200, retry: { attempts: 2, backoff: '10ms..10ms' } })
      const timers = await open()
      const late: unknown[] = []
      timers.handle(
        hasty,
        async ({ key, attempt, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, attempt])
          if (attempt > 1) return
          await sleep(500)
          await transaction.query('select 1').catch((error: unknown) => late.push(error))
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(hasty, 'a', { in: 0 })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      await until('the late query was refused', () => late.length > 0)
      expect(late).toMatchObject([{ code: 'transaction-over' }])
      expect(await paid()).toEqual([['a', 2]])
    })

    it('cannot prepare its transaction, and can go on after the refusal', async () => {
      const timers = await open()
      const refused: unknown[] = []
      timers.handle(
        pay,
        async ({ key, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, 1])
          for (const query of [`prepare transaction 'x'`, { text: `\n Prepare  Transaction 'x'` }]) {
            const connection = transaction as { query(query: unknown): Promise<unknown> }
            await connection.query(query).catch((error: unknown) => refused.push(error))
          }
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it is settled', async () => (await timers.stats()).pending === 0)
      expect(refused).toMatchObject([{ code: 'two-phase-commit' }, { code: 'two-phase-commit' }])
      expect(await paid()).toEqual([['a', 1]])
    })

    it.each([
      ['the settling statement is sent', settling, 'asked'],
      ['the settling statement is answered', settling, 'answered'],
      ['COMMIT arrives', COMMIT, 'asked'],
      ['COMMIT is answered', COMMIT, 'answered'],
    ] as const)('writes exactly once if the connection is cut as %s', async (_, word, when) => {
      const proxy = await TcpProxy.to(Number(new URL(thisServer().url).port))
      proxies.push(proxy)
      const timers = await open({}, proxy.port)
      const fired: string[] = []
      timers.handle(
        pay,
        async (firing) => {
          const { key, attempt, occurrence, transaction } = firing
          fired.push(key)
          await transaction.query('insert into paid values ($1, $2, $3)', [schema, key, occurrence])
          if (occurrence > 0) return
          firing.again({ in: 30 })
          if (attempt === 1) proxy.cutOnceAt(word, when)
        },
        { transaction: true },
      )
      await timers.start()
      for (const key of ['a', 'b', 'c']) {
        await timers.set(pay, key, { in: 0, payload: { amount: 1 } })
        await until(`${key} is settled`, async () => (await timers.stats()).pending === 0)
      }
      expect(await paid()).toEqual(
        ['a', 'b', 'c'].flatMap((key) => [
          [key, 0],
          [key, 1],
        ]),
      )
      // A commit without an answer is not fired again. A transaction that was not committed is.
      expect(fired).toHaveLength(word === COMMIT && when === 'answered' ? 6 : 9)
    })

    it('waits for a free transaction, while the store goes on with its own work', async () => {
      const store = await PostgresStore.open(thisServer().url, {
        strategy: strategy === 'claim' ? 'claim' : 'owned',
        schema: (schema = newSchema()),
        maxConnections: 2,
      })
      const timers = await openTimers({ store, engine })
      let running = 0
      let mostRunning = 0
      for (const name of ['pay', 'pay-too']) {
        timers.handle(
          timer(name, { concurrency: 50 }),
          async ({ key, transaction }) => {
            mostRunning = Math.max(mostRunning, ++running)
            await transaction.query('insert into paid values ($1, $2, 1)', [schema, key])
            // Together, the handlers take longer than a lease.
            await sleep(150)
            running--
          },
          { transaction: true },
        )
      }
      await timers.start()
      for (const name of ['pay', 'pay-too']) {
        await timers.setMany(
          timer(name),
          Array.from({ length: 10 }, (_, i) => ({ key: `${name}-${i}`, in: 0 })),
        )
      }
      await until('all are settled', async () => (await timers.stats()).pending === 0)
      expect(await paid()).toHaveLength(20)
      expect(new Set((await paid()).map(([key]) => key)).size).toBe(20)
      expect(mostRunning).toBe(2)
      await timers.stop()
      await store.stop()
    })

    it('that never returns is rolled back by stop', async () => {
      const timers = await open({ engine: { ...engine, stopMs: 300 } })
      let hasWritten = false
      timers.handle(
        pay,
        async ({ key, transaction }) => {
          await transaction.query('insert into paid values ($1, $2, 1)', [schema, key])
          hasWritten = true
          await new Promise(() => undefined)
        },
        { transaction: true },
      )
      await timers.start()
      await timers.set(pay, 'a', { in: 0, payload: { amount: 1 } })
      await until('it has written', () => hasWritten)
      await timers.stop()
      expect(await paid()).toEqual([])
      const rows = await sql(`select key from "${schema}".timer`)
      expect(rows).toEqual([{ key: 'a' }])
    })
  },
)

describe('a handler with a transaction', () => {
  it('is refused by a store without transactions', async () => {
    const memory = await openTimers({ store: 'memory:' })
    expect(() => memory.handle(pay, () => undefined, { transaction: true })).toThrow(
      expect.objectContaining({ code: 'no-transactions' }) as Error,
    )
    expect(() =>
      memory.handle(pay, () => undefined, { transaction: 'yes' } as unknown as { transaction: true }),
    ).toThrow(expect.objectContaining({ code: 'invalid-option' }) as Error)
    await memory.stop()
  })
})

async function openWith(more: Omit<Partial<TimersOptions>, 'store'>, port?: number): Promise<Timers> {
  schema = newSchema()
  const url = new URL(thisServer().url)
  if (port !== undefined) url.port = String(port)
  url.searchParams.set('schema', schema)
  // Few shards, so that a busy machine keeps up.
  const strategy = more.engine?.strategy === 'claim' ? 'claim' : 'owned'
  const made = await PostgresStore.open(thisServer().url, { schema, strategy, shardCount: 4 })
  await made.stop()
  const timers = await openTimers({ store: url.href as StoreUrl, history: 'all', ...more })
  all.push(timers)
  return timers
}

/** The committed rows of this test's handlers. */
async function paid(): Promise<[key: string, attempt: number][]> {
  const rows = await sql('select key, attempt from paid where run = $1 order by key, attempt', [schema])
  return rows.map((row) => [String(row['key']), Number(row['attempt'])])
}
