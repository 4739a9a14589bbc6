import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Fence, SetOperation } from '../../../src/store/index.js'
import { openStore } from '../../../src/store/index.js'
import { loadDriver } from '../../../src/store/postgres/net/driver.js'
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import type { PostgresStoreOptions } from '../../../src/store/postgres/postgres-store-options.js'
import { TcpProxy } from '../../servers/tcp-proxy.js'
import { eventually } from '../../eventually.js'
import { newSchema, openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const proxies: TcpProxy[] = []

afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop()
})

describe('opening a PostgreSQL store', () => {
  it('fails with store-unavailable if no server answers', async () => {
    const port = await unusedPort()
    await expect(openStore(`postgres://a:b@127.0.0.1:${port}/c`)).rejects.toMatchObject({
      name: 'StoreError',
      code: 'store-unavailable',
    })
  })

  it.each([
    ['a wrong password', (url: URL) => (url.password = 'wrong')],
    ['an unknown user', (url: URL) => (url.username = 'nobody')],
    ['an unknown database', (url: URL) => (url.pathname = '/nowhere')],
  ])('fails with store-denied for %s, and does not print the password', async (_, spoil) => {
    const url = new URL(thisServer().url)
    spoil(url)
    const error = await openStore(url.href).catch((refused: unknown) => refused)
    expect(error).toMatchObject({ name: 'StoreError', code: 'store-denied' })
    expect(String(error)).not.toContain('wrong')
    expect(String(error)).not.toContain('secret')
  })

  it('fails with store-denied without the right to create the schema, which is not needed once it exists', async () => {
    const user = newSchema()
    await sql(`create role "${user}" login password 'secret'`)
    const url = new URL(thisServer().url)
    url.username = user
    await expect(openStoreIn({ schema: user }, url.href)).rejects.toMatchObject({ code: 'store-denied' })
    await openStoreIn({ schema: user })
    await expect(openStoreIn({ schema: user }, url.href)).rejects.toMatchObject({ code: 'store-denied' })
    await sql(`grant usage on schema "${user}" to "${user}";
      grant select, insert, update, delete on all tables in schema "${user}" to "${user}";
      grant usage on all sequences in schema "${user}" to "${user}"`)
    const store = await openStoreIn({ schema: user }, url.href)
    const fence = await own(store)
    await store.write(fence, { operations: [setOf('a')] })
    expect(await store.countRows()).toBe(1)
    await sql(`revoke delete on "${user}".timer from "${user}"`)
    const { namespace, kind, key } = setOf('a')
    const cancel = { type: 'cancel' as const, namespace, kind, key }
    await expect(store.write(fence, { operations: [cancel] })).rejects.toMatchObject({ code: 'store-denied' })
    expect(await store.countRows()).toBe(1)
  })

  it('names the package to install if the driver is missing', async () => {
    const load = (): Promise<never> => Promise.reject(new Error('Cannot find package'))
    await expect(loadDriver(load)).rejects.toMatchObject({
      code: 'driver-missing',
      message: expect.stringContaining('npm install pg') as unknown,
    })
  })

  it('uses TLS as the sslmode of the URL demands', async () => {
    const url = `${thisServer().url}?sslmode=require`
    await expect(openStore(url)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('SSL') as unknown,
    })
    const store = await openStore(`${thisServer().url}?sslmode=disable&schema=${newSchema()}`)
    await store.stop()
  })

  it('creates as many shards as the URL says, and keeps that number', async () => {
    const url = `${thisServer().url}?schema=${newSchema()}`
    const store = await openStore(`${url}&shards=5`)
    const again = await openStore(`${url}&shards=9`)
    expect([store.shardCount, (await store.shards()).length, again.shardCount]).toEqual([5, 5, 5])
    await Promise.all([store.stop(), again.stop()])
    for (const shards of ['0', '4097', 'few']) {
      await expect(openStore(`${url}&shards=${shards}`)).rejects.toMatchObject({
        code: 'invalid-store-url',
        message: expect.stringContaining('from 1 to 4096') as unknown,
      })
    }
  })

  it.each(['postgres:', 'postgres:timers', 'postgresql:/x'])('refuses the URL %j', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({ code: 'invalid-store-url' })
  })

  it.each([
    [{ schema: 'Not "this"' }, 'invalid-option'],
    [{ shardCount: 0 }, 'invalid-option'],
    [{ statementTimeoutMs: 0 }, 'invalid-option'],
    [{ strategy: 'other' }, 'invalid-option'],
    [{ noSync: true }, 'unknown-option'],
  ])('refuses the options %j', async (options, code) => {
    await expect(openStoreIn(options as object)).rejects.toMatchObject({ code })
  })
})

describe('a call of a PostgreSQL store', () => {
  it('fails with unknown-outcome if the connection is lost after it was sent', async () => {
    const { store, proxy } = await openThrough()
    const fence = await own(store)
    proxy.holdAnswers()
    const write = store.write(fence, { operations: [setOf('a')] })
    await eventually(async () => {
      const rows = await sql(`select key from "${store.schema}".timer`)
      expect(rows).toEqual([{ key: 'a' }])
    })
    proxy.cut()
    await expect(write).rejects.toMatchObject({ code: 'unknown-outcome' })
    proxy.open()
    // Rule 5: raise the epoch, then send the write again, which finds the row. The pool may first have to notice that
    // another connection is dead.
    const row = await eventually(() => store.refence(fence, 99, 30_000))
    const again = await store.write({ ...fence, epoch: row.epoch, nonce: 99 }, { operations: [setOf('a')] })
    expect(again.answers[0]!.outcome).toBe('same')
    await expect(store.write(fence, { operations: [setOf('b')] })).rejects.toMatchObject({ code: 'fenced' })
  })

  it('fails with store-unavailable if the connection is lost before it was sent', async () => {
    const { store, proxy } = await openThrough()
    const fence = await own(store)
    proxy.close()
    await eventually(async () => {
      const write = store.write(fence, { operations: [setOf('a')] })
      await expect(write).rejects.toMatchObject({ code: 'store-unavailable' })
    })
    proxy.open()
    await store.write(fence, { operations: [setOf('b')] })
    expect((await store.list({ namespace: 'test', limit: 9 })).items.map(({ key }) => key)).toEqual(['b'])
  })

  it('fails with store-unavailable if the connection is lost during a read', async () => {
    const { store, proxy } = await openThrough()
    proxy.holdAnswers()
    const reads = [store.countRows(), store.shards(), store.find([setOf('a')])]
    await new Promise((resolve) => setTimeout(resolve, 100))
    proxy.cut()
    for (const read of reads) await expect(read).rejects.toMatchObject({ code: 'store-unavailable' })
    proxy.open()
    expect(await store.countRows()).toBe(0)
  })

  it('fails with unknown-outcome if the server ends its session during a write', async () => {
    const store = await openStoreIn({ shardCount: 1 })
    const fence = await own(store)
    const blocker = await locked(store)
    const write = store.write(fence, { operations: [setOf('a')] })
    const outcome = write.catch((error: unknown) => error)
    await eventually(async () => {
      const ended = await sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where wait_event_type = 'Lock' and query like '%insert_plain%' and pid <> pg_backend_pid()`,
      )
      expect(ended).toHaveLength(1)
    })
    expect(await outcome).toMatchObject({ code: 'unknown-outcome' })
    await blocker.end()
    expect(await store.countRows()).toBe(0)
  })

  it('is undone by the server after statementTimeoutMs', async () => {
    const store = await openStoreIn({ shardCount: 1, statementTimeoutMs: 200 })
    const fence = await own(store)
    const blocker = await locked(store)
    await expect(store.write(fence, { operations: [setOf('a')] })).rejects.toMatchObject({
      code: 'store-unavailable',
    })
    await blocker.end()
    expect(await store.countRows()).toBe(0)
    await store.write(fence, { operations: [setOf('a')] })
  })

  it('does not hold its lock for long if its process stops reading the answer', async () => {
    const { store, proxy } = await openThrough({ maxPayloadBytes: 1 << 20 })
    const fence = await own(store, 1)
    const payload = new Uint8Array(1 << 20)
    for (let i = 0; i < 5; i++) {
      const operations = Array.from({ length: 8 }, (_, j) => ({ ...setOf(`${i}/${j}`), payload }))
      await store.write(fence, { operations })
    }
    proxy.stopReading()
    const request = { from: fence.settledLevel, untilExclusive: 5e12, limit: 100, limitBytes: 1e9 }
    const load = store.load(fence, request).catch((error: unknown) => error)
    await eventually(async () => {
      const stuck = await sql(`select 1 from pg_stat_activity where wait_event = 'ClientWrite'`)
      expect(stuck).toHaveLength(1)
    })
    const other = await openStoreIn({ schema: store.schema })
    const from = Date.now()
    const claim = { shard: 0, owner: 'other', nonce: 8, leaseMs: 60_000, expectedEpoch: 1 }
    expect(await other.acquire(claim)).toMatchObject({ owner: 'other', epoch: 2, readLevel: { position: 0 } })
    // Long before the timeout of the statement or of the client.
    expect(Date.now() - from).toBeLessThan(15_000)
    proxy.cut()
    expect(await load).toMatchObject({ code: 'unknown-outcome' })
  })

  it('fails with store-damaged if the schema was dropped', async () => {
    const store = await openStoreIn()
    await sql(`drop schema "${store.schema}" cascade`)
    await expect(store.countRows()).rejects.toMatchObject({ code: 'store-damaged' })
  })
})

async function openThrough(
  options: PostgresStoreOptions = {},
): Promise<{ store: PostgresStore; proxy: TcpProxy }> {
  const url = new URL(thisServer().url)
  const proxy = await TcpProxy.to(Number(url.port))
  proxies.push(proxy)
  url.port = String(proxy.port)
  return { store: await openStoreIn({ shardCount: 1, ...options }, url.href), proxy }
}

/** A connection that locks the shard rows until `end`. */
async function locked(store: PostgresStore) {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: thisServer().url })
  await client.connect()
  await client.query('begin')
  await client.query(`select 1 from "${store.schema}".shard for update`)
  return client
}

async function own(store: PostgresStore, leaseMs = 60_000): Promise<Fence> {
  const claim = { shard: 0, owner: 'test', nonce: 7, leaseMs, expectedEpoch: 0 }
  const { epoch, nonce, settledLevel } = (await store.acquire(claim))!
  return { shard: 0, epoch, nonce, settledLevel }
}

function setOf(key: string): SetOperation {
  const position = 4_000_000_000_000
  const content = { createdAt: 1, payload: new Uint8Array([1]), tags: [], details: '' }
  const progress = { dueAt: position, attempt: 0, occurrence: 0, position }
  return { type: 'set', namespace: 'test', kind: 'k', key, identity: 4711, ...content, ...progress }
}

/** A port without a listener. */
async function unusedPort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
