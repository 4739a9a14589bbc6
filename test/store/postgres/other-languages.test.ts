import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import pg from 'pg'
import { openTimers, timer, type Timers } from '../../../src/index.js'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { describeStoreContract } from '../../../src/testing/index.js'
import { eventually } from '../../eventually.js'
import { germanBinaries, startGermanPostgres } from '../../servers/german-postgres.js'
import type { PostgresServer } from '../../servers/postgres.js'
import { TcpProxy } from '../../servers/tcp-proxy.js'
import { germanSeverities, russianSeverities, translatedSeverity } from '../../servers/translated-severity.js'
import { modelFromEnv } from '../model-from-env.js'
import { own, setOf } from '../owner.js'
import { isForeign, newSchema, thisServer, usePostgres } from './scratch.js'

usePostgres()

const remind = timer('remind', { retry: { attempts: 5, backoff: '10ms..50ms' } })
const quick = { leaseMs: 1500, leaseMarginMs: 300, acquireMs: 100, heartbeatMs: 300, settleMs: 100 }
const binaries = isForeign ? undefined : germanBinaries()
const all: Timers[] = []
const stores: PostgresStore[] = []

afterEach(async () => {
  for (const timers of all.splice(0)) await timers.stop()
  for (const store of stores.splice(0)) await store.stop()
})

for (const [language, words, error] of [
  ['German', germanSeverities, 'FEHLER'],
  ['Russian', russianSeverities, 'ОШИБКА'],
] as const) {
  describe(`a PostgreSQL whose severities a proxy translates to ${language}`, () => {
    let proxy: TcpProxy | undefined
    const url = () => {
      const proxied = new URL(thisServer().url)
      proxied.port = String(proxy!.port)
      return proxied.href as `postgres://${string}`
    }

    beforeAll(async () => {
      const { port } = new URL(thisServer().url)
      proxy = await TcpProxy.to(Number(port), () => translatedSeverity(words))
    })
    afterAll(() => proxy?.stop())

    describeLanguage(url, error)
    // The contract runs once: on a server that speaks German itself, if there is one.
    if (language === 'German' && binaries === undefined)
      describeContract('postgres, translated to German by a proxy', url)
  })
}

describe.skipIf(binaries === undefined)('a PostgreSQL with lc_messages = de_DE.UTF-8', () => {
  let server: PostgresServer | undefined
  const url = () => server!.url

  beforeAll(async () => {
    server = await startGermanPostgres(binaries!)
  })
  afterAll(() => server?.stop())

  describeLanguage(url, 'FEHLER')
  describeContract('postgres, German', url)
})

function describeContract(name: string, url: () => string): void {
  const open = async (options: object): Promise<PostgresStore> => PostgresStore.open(url(), options)
  describeStoreContract(name, (options) => open({ ...options, schema: newSchema() }), {
    runner: { describe, it },
    model: { rounds: 1, operationsPerRound: 1000, ...modelFromEnv() },
    reopen: (stopped, options) => open({ ...options, schema: (stopped as PostgresStore).schema }),
    remove: async (stopped) => {
      await query(url(), `drop schema "${(stopped as PostgresStore).schema}" cascade`)
    },
  })
}

function describeLanguage(url: () => `postgres://${string}`, error: string): void {
  it('reports errors in its language, as these tests need', async () => {
    await expect(query(url(), 'select nothing from nowhere')).rejects.toMatchObject({ severity: error })
  })

  it('leads to the same error codes as an English one', async () => {
    const store = await opened(url(), { maxPayloadBytes: 1 << 20 })
    const fence = await own(store)
    await store.write(fence, { operations: [setOf('a', 4e12)] })
    const request = { id: 'r', shard: 0, deadline: 4e12, operation: setOf('b', 4e12) }
    await store.append([request])
    const write = { operations: [setOf('c', 4e12)], ifInboxEmpty: true }
    await expect(store.write(fence, write)).rejects.toMatchObject({ code: 'inbox-first' })
    const old = { ...fence, epoch: fence.epoch - 1 }
    await expect(store.write(old, write)).rejects.toMatchObject({ code: 'fenced' })
    await query(url(), `alter table "${store.schema}".timer rename to elsewhere`)
    await expect(store.write(fence, { operations: [setOf('d', 4e12)] })).rejects.toMatchObject({
      code: 'store-damaged',
    })
  })

  it('leads to store-full for a full disk, and to unknown-outcome for a server that goes down', async () => {
    const store = await opened(url())
    const fence = await own(store)
    const failWith = (how: string): Promise<unknown> =>
      query(
        url(),
        `create or replace function "${store.schema}".fail() returns trigger language plpgsql as $$ begin ${how}; end $$;
        create or replace trigger fail before insert on "${store.schema}".timer
          for each row execute function "${store.schema}".fail()`,
      )
    await failWith(`raise exception using errcode = '53100', message = 'no room'`)
    await expect(store.write(fence, { operations: [setOf('a', 4e12)] })).rejects.toMatchObject({
      code: 'store-full',
    })
    await failWith('perform pg_terminate_backend(pg_backend_pid()); return new')
    await expect(store.write(fence, { operations: [setOf('b', 4e12)] })).rejects.toMatchObject({
      code: 'unknown-outcome',
    })
    await query(url(), `drop trigger fail on "${store.schema}".timer`)
    await store.write(fence, { operations: [setOf('c', 4e12)] })
    expect(await store.countRows()).toBe(1)
  })

  it('fires 60 acknowledged timers, though requests arrive in the inboxes meanwhile', async () => {
    const store = `${url()}?schema=${newSchema()}` as const
    const fired: string[] = []
    const instance = async (): Promise<Timers> => {
      const timers = await openTimers({ store, engine: quick })
      all.push(timers)
      timers.handle(remind, ({ key }) => void fired.push(key))
      await timers.start()
      return timers
    }
    const [first, second] = await Promise.all([instance(), instance()])
    const other = await openTimers({ store, engine: quick })
    all.push(other)
    const keys = Array.from({ length: 60 }, (_, i) => `key-${i}`)
    // Two owners and one instance without shards set at the same time. A set for a shard of another goes by its inbox.
    await Promise.all(
      keys.map((key, i) => [first, second, other][i % 3]!.set(remind, key, { in: 200 + i * 10 })),
    )
    await eventually(() => expect([...new Set(fired)].toSorted()).toEqual(keys.toSorted()), 30_000)
  })
}

async function opened(url: string, options: object = {}): Promise<PostgresStore> {
  const store = await PostgresStore.open(url, { schema: newSchema(), shardCount: 1, ...options })
  stores.push(store)
  return store
}

async function query(url: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}
