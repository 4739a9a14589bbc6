import { describe, expect, it } from 'vitest'
import type { PoolClient, PostgresPool } from '../../../src/store/postgres/net/driver.js'
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { SessionPool } from '../../../src/store/postgres/net/session-pool.js'
import { eventually } from '../../eventually.js'
import { own, setOf } from '../owner.js'
import { isForeign, newSchema, openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

describe('a PostgreSQL store', () => {
  it.each([
    ['role', (role: string) => sql(`alter role "${role}" set synchronous_commit = off`)],
    [
      'role in this database',
      (role: string) => sql(`alter role "${role}" in database postgres set synchronous_commit = off`),
    ],
  ])('waits for the disk at commit, even if the %s turns synchronous_commit off', async (_, weaken) => {
    const role = await newRole()
    await weaken(role)
    const store = await openStoreIn({ shardCount: 1 }, urlOf(role))
    const seen = await watched(store)
    await useAll(store)
    expect(await seen()).toEqual(['on'])
  })

  it('waits for the disk at commit, even if the URL turns synchronous_commit off', async () => {
    const url = `${thisServer().url}?options=${encodeURIComponent('-c synchronous_commit=off')}`
    const store = await openStoreIn({ shardCount: 1 }, url)
    const seen = await watched(store)
    await useAll(store)
    expect(await seen()).toEqual(['on'])
  })

  it.skipIf(isForeign)(
    'waits for the disk at commit, even if the server turns synchronous_commit off while the store is open',
    async () => {
      const store = await openStoreIn({ shardCount: 1 })
      const seen = await watched(store)
      await store.countRows()
      await sql('alter system set synchronous_commit = off')
      try {
        await sql('select pg_reload_conf()')
        await eventually(async () => {
          expect(await sql('show synchronous_commit')).toEqual([{ synchronous_commit: 'off' }])
        })
        await useAll(store)
        expect(await seen()).toEqual(['on'])
      } finally {
        await sql('alter system reset synchronous_commit')
        await sql('select pg_reload_conf()')
      }
    },
  )

  it('keeps a stronger synchronous_commit of the role', async () => {
    const role = await newRole()
    await sql(`alter role "${role}" set synchronous_commit = remote_apply`)
    const store = await openStoreIn({ shardCount: 1 }, urlOf(role))
    const seen = await watched(store)
    await useAll(store)
    expect(await seen()).toEqual(['remote_apply'])
  })

  it('does not wait for the disk at commit if the URL or the server allows async-commit', async () => {
    for (const allows of ['url', 'server']) {
      const role = await newRole()
      await sql(`alter role "${role}" set synchronous_commit = off`)
      if (allows === 'server') await sql(`alter role "${role}" set carillon.allow = '${ALL}, async-commit'`)
      const url = allows === 'url' ? `${urlOf(role)}?allow=async-commit` : urlOf(role)
      const store = await openStoreIn({ shardCount: 1 }, url)
      const seen = await watched(store)
      await useAll(store)
      expect(await seen()).toEqual(['off'])
    }
  })

  it('never uses a session that refused to wait for the disk', async () => {
    const released: unknown[] = []
    let onConnect: ((client: PoolClient) => void) | undefined
    const client: PoolClient = {
      query: () => Promise.reject(new Error('no')),
      release: (error) => void released.push(error),
      on: () => undefined,
    }
    const pool: PostgresPool = {
      connect: async () => {
        onConnect!(client)
        return client
      },
      end: async () => undefined,
      on: (event: string, listener: (argument: never) => void) => {
        if (event === 'connect') onConnect = listener as typeof onConnect
      },
    }
    await expect(new SessionPool(pool, { allow: [] }).connect()).rejects.toThrow('no')
    expect(released).toEqual([true])
  })
})

// The server of these tests has both settings off, and allows that.
describe.skipIf(isForeign)('opening a store on a PostgreSQL that may lose data', () => {
  it.each([
    ['', 'fsync is off', 'no-fsync'],
    ['no-fsync', 'full_page_writes is off', 'no-full-page-writes'],
    ['no-full-page-writes', 'fsync is off', 'no-fsync'],
  ])('is refused with advice and creates nothing if only %j is allowed', async (allowed, why, advice) => {
    const role = await newRole()
    await sql(`alter role "${role}" set carillon.allow = '${allowed}'`)
    const schema = newSchema()
    await expect(openStoreIn({ schema }, urlOf(role))).rejects.toMatchObject({
      code: 'store-volatile',
      message: expect.stringMatching(new RegExp(`${why}.*\\?allow=${advice}`)) as unknown,
    })
    expect(await sql('select 1 from pg_namespace where nspname = $1', [schema])).toEqual([])
  })

  it('works if the URL or an option allows it', async () => {
    const role = await newRole()
    await sql(`alter role "${role}" set carillon.allow = ''`)
    await openStoreIn({}, `${urlOf(role)}?allow=${ALL}`)
    await openStoreIn({ allow: ['no-fsync', 'no-full-page-writes'] }, urlOf(role))
    await expect(openStoreIn({ allow: ['no-fsync'] }, urlOf(role))).rejects.toMatchObject({
      code: 'store-volatile',
    })
  })

  it('is refused if one of its tables is unlogged', async () => {
    const { schema } = await openStoreIn()
    await sql(`alter table "${schema}".timer set unlogged`)
    await expect(openStoreIn({ schema })).rejects.toMatchObject({
      code: 'store-volatile',
      message: expect.stringContaining(`alter table "${schema}"."timer" set logged`) as unknown,
    })
  })

  it('is refused if the URL or an option allows something unknown', async () => {
    await expect(openStoreIn({}, `${thisServer().url}?allow=anything`)).rejects.toMatchObject({
      code: 'invalid-store-url',
    })
    for (const allow of [['anything'], 'no-fsync']) {
      await expect(openStoreIn({ allow } as object)).rejects.toMatchObject({ code: 'invalid-option' })
    }
  })
})

const ALL = 'no-fsync,no-full-page-writes'

/** Makes every kind of write. */
async function useAll(store: PostgresStore): Promise<void> {
  const fence = await own(store)
  await store.write(fence, { operations: [setOf('plain', 4e12)] })
  await store.write(fence, { operations: [setOf('plain', 4e12, { ifAbsent: true })] })
  await store.append([{ id: 'r', shard: 0, deadline: 4e12, operation: setOf('asked', 4e12) }])
  await store.settle(fence, settlement())
  await store.putSetting('name', 'value')
  await store.heartbeat({ id: 'a', details: '' }, 1000)
  const transaction = await store.transactions.begin()
  await transaction.settle(fence, settlement())
  await transaction.commit()
}

let settlements = 0

function settlement() {
  const level = { position: 0, revision: 0 }
  return { id: ++settlements, level, settledCount: 0, done: [], followUps: [], dead: [], history: [] }
}

/** Records the `synchronous_commit` of the store's transactions from now on. The result returns it. */
async function watched({ schema }: PostgresStore): Promise<() => Promise<unknown[]>> {
  const tables = ['timer', 'inbox', 'shard', 'setting', 'member']
  await sql(`create table "${schema}".seen (setting text, tables text);
    create function "${schema}".see() returns trigger language plpgsql as $$ begin
      insert into "${schema}".seen values (current_setting('synchronous_commit'), tg_table_name);
      return null;
    end $$;
    ${tables
      .map(
        (table) => `create constraint trigger see after insert or update or delete on "${schema}"."${table}"
          deferrable initially deferred for each row execute function "${schema}".see();`,
      )
      .join('\n')}`)
  return async () => {
    const seen = await sql(
      `select setting, count(distinct tables)::int as count from "${schema}".seen group by 1`,
    )
    expect(seen.map(({ count }) => count)).toEqual([tables.length])
    return seen.map(({ setting }) => setting)
  }
}

async function newRole(): Promise<string> {
  const role = newSchema()
  await sql(`create role "${role}" superuser login password 'secret'`)
  return role
}

function urlOf(role: string): string {
  const url = new URL(thisServer().url)
  url.username = role
  return url.href
}
