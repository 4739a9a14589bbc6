import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../../src/index.js'
import { eventually } from '../../eventually.js'
import { newSchema, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const quick = { leaseMs: 1500, leaseMarginMs: 300, acquireMs: 100, heartbeatMs: 300, settleMs: 100 }
const remind = timer<string>('remind')
const all: Timers[] = []
const clients: pg.Client[] = []

afterEach(async () => {
  for (const timers of all.splice(0)) await timers.stop()
  for (const client of clients.splice(0)) await client.end()
})

describe('timers set in a transaction of the caller', () => {
  it('fire once it is committed, with what it wrote', async () => {
    const { timers, fired } = await opened()
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
    const from = Date.now()
    await client.query('commit')
    await eventually(() => expect(fired).toHaveLength(21))
    // Its owner is woken by the commit and need not find it by looking, which is once a second.
    expect(Date.now() - from).toBeLessThan(900)
    expect(fired).toContain('order:7')
  })

  it('are not there when it is rolled back, or its connection is lost', async () => {
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

  it('delay nobody while it is open, not even one who sets the same key', async () => {
    const { timers, fired } = await opened()
    const client = await connected()
    await client.query('begin')
    await timers.using(client).set(remind, 'shared', { in: 0, payload: 'held' })
    const from = Date.now()
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
    await eventually(() => expect(fired).toHaveLength(202))
    expect(Date.now() - from).toBeLessThan(5000)
    await eventually(async () => {
      const [row] = await sql(`select sum(settled)::int as settled from "${schemaOf(timers)}".shard`)
      expect(row).toEqual({ settled: 202 })
    })
    await client.query('commit')
    await eventually(() => expect(fired.filter((key) => key === 'shared')).toHaveLength(2))
  })

  it('refuse what is no connection, and a condition', async () => {
    const { timers } = await opened()
    const pool = new pg.Pool({ connectionString: thisServer().url })
    const options = { in: 0, payload: '' } as const
    for (const wrong of [undefined, {}, 'begin', pool]) {
      await expect(timers.using(wrong).set(remind, 'a', options)).rejects.toMatchObject({
        code: 'invalid-option',
      })
    }
    await pool.end()
    const client = await connected()
    await expect(timers.using(client).set(remind, 'a', { ...options, ifAbsent: true })).rejects.toMatchObject(
      { code: 'invalid-option' },
    )
  })

  it('are refused by a store that has no such thing', async () => {
    const timers = await openTimers({ store: 'memory:' })
    all.push(timers)
    expect(() => timers.using({})).toThrow(expect.objectContaining({ code: 'no-transactions' }) as Error)
  })
})

const schemas = new WeakMap<Timers, string>()

function schemaOf(timers: Timers): string {
  return schemas.get(timers)!
}

async function opened(): Promise<{ timers: Timers; fired: string[] }> {
  const schema = newSchema()
  const timers = await openTimers({ store: `${thisServer().url}?schema=${schema}`, engine: quick })
  schemas.set(timers, schema)
  all.push(timers)
  const fired: string[] = []
  timers.handle(remind, ({ key }) => void fired.push(key))
  await timers.start()
  return { timers, fired }
}

async function connected(prepare?: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: thisServer().url })
  clients.push(client)
  await client.connect()
  if (prepare !== undefined) await client.query(prepare)
  return client
}
