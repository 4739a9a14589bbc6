import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../../src/index.js'
import { eventually } from '../../eventually.js'
import { NO_DEADLINE } from '../../../src/store/index.js'
import { own, setOf } from '../owner.js'
import { newSchema, openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres({ settings: { max_prepared_transactions: '5' } })

const quick = { leaseMs: 1500, leaseMarginMs: 300, acquireMs: 100, heartbeatMs: 300, settleMs: 100 }
const remind = timer<string>('remind')
const all: Timers[] = []
const clients: pg.Client[] = []

afterEach(async () => {
  for (const timers of all.splice(0)) await timers.stop()
  for (const client of clients.splice(0)) await client.end()
})

describe('timers set in a PostgreSQL transaction of the caller', () => {
  it('fire after the commit, and not before', async () => {
    // Only the wake-up of the commit can bring the owner to its inbox in time.
    const { timers, fired } = await opened({ inboxPollMs: 600_000 })
    const client = await connected('create table orders (id text)')
    await client.query('begin')
    await client.query(`insert into orders values ('7')`)
    const set = await timers.using(client).set(remind, 'order:7', { in: 50, payload: 'seven' })
    expect(set).toMatchObject({ outcome: 'set', key: 'order:7', revision: undefined })
    await timers.using(client).setMany(
      remind,
      Array.from({ length: 20 }, (_, i) => ({ key: `more:${i}`, in: 50, payload: 'more' })),
    )
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(fired).toEqual([])
    expect(await timers.get(remind, 'order:7')).toBeUndefined()
    await client.query('commit')
    await eventually(() => expect(fired).toHaveLength(21), 60_000)
    expect(fired).toContain('order:7')
  })

  it('are one statement for each call, which also wakes the owners at the commit', async () => {
    const { timers, fired } = await opened({ inboxPollMs: 600_000 })
    const client = await connected()
    await client.query('begin')
    let statements = 0
    const counting = {
      query: (...given: Parameters<typeof client.query>) => {
        statements++
        return client.query(...given)
      },
    }
    const rows = Array.from({ length: 200 }, (_, i) => ({ key: `counted:${i}`, in: 0, payload: '' }))
    await timers.using(counting as unknown as pg.Client).setMany(remind, rows)
    expect(statements).toBe(1)
    await client.query('commit')
    await eventually(() => expect(fired).toHaveLength(200), 60_000)
  })

  it('do not exist after a rollback or a lost connection', async () => {
    const { timers, fired } = await opened()
    const client = await connected()
    await client.query('begin')
    await timers.using(client).set(remind, 'never', { in: 0, payload: '' })
    await client.query('rollback')
    const lost = await connected()
    await lost.query('begin')
    await timers.using(lost).set(remind, 'neither', { in: 0, payload: '' })
    const [row] = (await lost.query<{ pid: number }>('select pg_backend_pid() as pid')).rows
    lost.on('error', () => undefined)
    await sql('select pg_terminate_backend($1)', [row!.pid])
    await timers.set(remind, 'always', { in: 0, payload: '' })
    await eventually(() => expect(fired).toEqual(['always']))
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(fired).toEqual(['always'])
    const [counted] = await sql(`select count(*)::int as count from "${schemaOf(timers)}".inbox`)
    expect(counted).toEqual({ count: 0 })
  })

  it('delay no other timer while the transaction is open, not even one with the same key', async () => {
    const { timers, fired } = await opened()
    const client = await connected()
    await client.query('begin')
    await timers.using(client).set(remind, 'shared', { in: 0, payload: 'held' })
    const keys = Array.from({ length: 200 }, (_, i) => `key-${i}`)
    await timers.setMany(
      remind,
      keys.map((key) => ({ key, in: 100, payload: '' })),
    )
    await timers.set(remind, 'shared', { in: 100, payload: 'own' })
    const other = await connected()
    await other.query('begin')
    await timers.using(other).set(remind, 'third', { in: 0, payload: '' })
    await other.query('commit')
    // The transaction is still open. Whatever waited for it would never fire.
    await eventually(() => expect(fired).toHaveLength(202), 60_000)
    await eventually(async () => {
      const [row] = await sql(`select sum(settled)::int as settled from "${schemaOf(timers)}".shard`)
      expect(row).toEqual({ settled: 202 })
    })
    await client.query('commit')
    await eventually(() => expect(fired.filter((key) => key === 'shared')).toHaveLength(2))
  })

  it('replace a timer whose set was acknowledged before their commit, even if they were set first', async () => {
    const { timers: owner } = await opened()
    const other = await openTimers({
      store: `${thisServer().url}?schema=${schemaOf(owner)}`,
      engine: quick,
    })
    all.push(other)
    const keys = Array.from({ length: 30 }, (_, i) => `key-${i}`)
    for (const key of keys) {
      const client = await connected()
      await client.query('begin')
      await owner.using(client).set(remind, key, { in: '1h', payload: 'transaction' })
      await other.set(remind, key, { in: '1h', payload: 'set' })
      await client.query('commit')
    }
    await applied(owner)
    const payloads = await Promise.all(keys.map(async (key) => (await owner.get(remind, key))?.payload))
    expect(payloads).toEqual(keys.map(() => 'transaction'))
  })

  it('are replaced by a set that follows their commit', async () => {
    const { timers: owner } = await opened()
    const other = await openTimers({
      store: `${thisServer().url}?schema=${schemaOf(owner)}`,
      engine: quick,
    })
    all.push(other)
    const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`)
    for (const [i, key] of keys.entries()) {
      const client = await connected()
      await client.query('begin')
      await other.using(client).set(remind, key, { in: '1h', payload: 'transaction' })
      await client.query('commit')
      await (i % 2 === 0 ? owner : other).set(remind, key, { in: '1h', payload: 'set' })
    }
    await applied(owner)
    const payloads = await Promise.all(keys.map(async (key) => (await owner.get(remind, key))?.payload))
    expect(payloads).toEqual(keys.map(() => 'set'))
  })

  it('are moved and cancelled by the commit, in the order of the calls, and `get` sees it at once', async () => {
    const { timers } = await opened({ inboxPollMs: 600_000 })
    const keys = ['moved', 'cancelled', 'kept']
    const before = await timers.setMany(
      remind,
      keys.map((key) => ({ key, in: '1h', payload: key })),
    )
    const client = await connected()
    await client.query('begin')
    const inTransaction = timers.using(client)
    expect(await inTransaction.move(remind, 'moved', { at: 4e12 })).toBe('queued')
    expect(await inTransaction.cancel(before.at(1)!.handle)).toBe('queued')
    await inTransaction.set(remind, 'set-and-cancelled', { in: '1h', payload: '' })
    await inTransaction.cancel(remind, 'set-and-cancelled')
    await inTransaction.cancel(remind, 'set-again')
    await inTransaction.set(remind, 'set-again', { in: '1h', payload: '' })
    expect((await timers.list()).items.map(({ key }) => key).toSorted()).toEqual(keys.toSorted())
    await client.query('commit')
    expect((await timers.get(remind, 'moved'))!.dueAt).toBe(4e12)
    const gone = ['cancelled', 'set-and-cancelled']
    expect(await Promise.all(gone.map((key) => timers.get(remind, key)))).toEqual([undefined, undefined])
    expect((await timers.get(remind, 'set-again'))?.state).toBe('waiting')
    expect((await timers.get(remind, 'kept'))!.revision).toBe(before.at(2)!.revision)
  })

  it('stay as they were if a transaction that moves and cancels them is rolled back', async () => {
    const { timers } = await opened()
    const { dueAt } = await timers.set(remind, 'kept', { in: '1h', payload: '' })
    const client = await connected()
    await client.query('begin')
    await timers.using(client).move(remind, 'kept', { at: 4e12 })
    await timers.using(client).cancel(remind, 'kept')
    await client.query('rollback')
    expect(await timers.get(remind, 'kept')).toMatchObject({ dueAt, state: 'waiting' })
  })

  it('are cancelled however late the commit and its owner come, and no answer is kept', async () => {
    const store = await openStoreIn({ shardCount: 1 })
    const fence = await own(store)
    const name = { namespace: 'test', kind: 'sample', key: 'late' }
    await store.write(fence, { operations: [setOf('late', 4e12)] })
    const client = await connected()
    await client.query('begin')
    const request = {
      id: 'tx-1',
      shard: 0,
      deadline: NO_DEADLINE,
      operation: { type: 'cancel', ...name },
    } as const
    expect(await store.appendWith(client, [request])).toEqual(['appended'])
    await client.query('commit')
    expect(await store.areWaiting([name])).toEqual([true])
    const { answers } = await store.write(fence, {
      operations: [{ ...request.operation, request: 'tx-1' }],
    })
    expect(answers).toMatchObject([{ outcome: 'cancelled' }])
    expect(await store.answers(0, ['tx-1'])).toEqual([undefined])
    expect(await store.requests(fence, 10)).toEqual([])
  })

  it('are applied in the order of commits, and within a transaction in the order of calls', async () => {
    const store = await openStoreIn({ shardCount: 1 })
    const fence = await own(store)
    const request = (id: string) => ({ id, shard: 0, deadline: 4e12, operation: setOf('same', 4e12) })
    const ids = async () => (await store.requests(fence, 100)).map(({ id }) => id)
    const [first, second] = [await connected(), await connected()]
    for (const client of [first, second]) await client.query('begin')
    await store.appendWith(first, [request('first-1'), request('first-2')])
    await store.appendWith(second, [request('second')])
    await first.query('savepoint a')
    await store.appendWith(first, [request('undone')])
    await first.query('rollback to savepoint a')
    await store.append([request('alone')])
    await store.appendWith(first, [request('first-3')])
    await second.query('commit')
    await store.append([request('later')])
    expect(await ids()).toEqual(['alone', 'second', 'later'])
    await first.query('commit')
    expect(await ids()).toEqual(['alone', 'second', 'later', 'first-1', 'first-2', 'first-3'])
  })

  it.each([`prepare transaction 'a'`, `  /* the first * phase */ -- of two\n PREPARE\n TRANSACTION 'a'`])(
    'keep the transaction from being prepared by %j, with advice',
    async (prepare) => {
      const { timers, fired } = await opened()
      const client = await connected()
      await client.query('begin')
      await timers.using(client).set(remind, 'never', { in: 0, payload: '' })
      await expect(client.query(prepare)).rejects.toMatchObject({
        code: 'CA005',
        message: expect.stringContaining('two-phase-commit') as unknown,
        hint: expect.stringContaining('COMMIT') as unknown,
      })
      await client.query('rollback')
      expect(await sql('select 1 from pg_prepared_xacts')).toEqual([])
      await timers.set(remind, 'always', { in: 0, payload: '' })
      await eventually(() => expect(fired).toEqual(['always']))
    },
  )

  it('keep the transaction from being prepared in a multi-statement query or after immediate constraints', async () => {
    const { timers } = await opened()
    for (const prepare of [`select 1; prepare transaction 'b'`, undefined]) {
      const client = await connected()
      await client.query('begin')
      await timers.using(client).set(remind, 'never', { in: 0, payload: '' })
      if (prepare === undefined) await client.query('set constraints all immediate')
      // This server allows prepared transactions, so PostgreSQL refuses because of our NOTIFY.
      await expect(client.query(prepare ?? `prepare transaction 'b'`)).rejects.toMatchObject({
        code: '0A000',
      })
    }
    const client = await connected()
    await client.query(`begin; create table prepared (id int)`)
    await client.query(`prepare transaction 'c'`)
    await client.query(`rollback prepared 'c'`)
  })

  it('can be committed by a query that contains the words PREPARE TRANSACTION', async () => {
    const { timers } = await opened()
    const client = await connected('create table said (words text)')
    await client.query('begin')
    await timers.using(client).set(remind, 'kept', { in: '1h', payload: '' })
    await client.query(`insert into said values ('prepare transaction'); commit`)
    await eventually(async () => expect(await timers.get(remind, 'kept')).toBeDefined())
  })

  it('need a connection, and take no condition', async () => {
    const { timers } = await opened()
    const pool = new pg.Pool({ connectionString: thisServer().url })
    const options = { in: 0, payload: '' } as const
    for (const wrong of [undefined, {}, 'begin', pool]) {
      await expect(timers.using(wrong as never).set(remind, 'a', options)).rejects.toMatchObject({
        code: 'invalid-option',
      })
    }
    await pool.end()
    const client = await connected()
    await expect(timers.using(client).set(remind, 'a', { ...options, ifAbsent: true })).rejects.toMatchObject(
      { code: 'invalid-option' },
    )
  })

  it('are refused by a store without transactions', async () => {
    const timers = await openTimers({ store: 'memory:' })
    all.push(timers)
    expect(() => timers.using({} as never)).toThrow(
      expect.objectContaining({ code: 'no-transactions' }) as Error,
    )
  })
})

const schemas = new WeakMap<Timers, string>()

function schemaOf(timers: Timers): string {
  return schemas.get(timers)!
}

async function opened(settings: { inboxPollMs?: number } = {}): Promise<{ timers: Timers; fired: string[] }> {
  const schema = newSchema()
  const engine = { ...quick, ...settings }
  const timers = await openTimers({ store: `${thisServer().url}?schema=${schema}`, engine })
  schemas.set(timers, schema)
  all.push(timers)
  const fired: string[] = []
  timers.handle(remind, ({ key }) => void fired.push(key))
  await timers.start()
  return { timers, fired }
}

/** Waits until all inboxes are empty. */
async function applied(timers: Timers): Promise<void> {
  await eventually(async () => {
    const [row] = await sql(`select count(*)::int as count from "${schemaOf(timers)}".inbox`)
    expect(row).toEqual({ count: 0 })
  })
}

async function connected(prepare?: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: thisServer().url })
  clients.push(client)
  await client.connect()
  if (prepare !== undefined) await client.query(prepare)
  return client
}
