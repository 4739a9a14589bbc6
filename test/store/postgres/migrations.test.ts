import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { Database } from '../../../src/store/postgres/net/database.js'
import { SessionPool } from '../../../src/store/postgres/net/session-pool.js'
import { migrate, migrations } from '../../../src/store/postgres/schema/migrations.js'
import { switchPostgres } from '../../../src/store/postgres/schema/strategy-switch.js'
import { newSchema, openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const databases: Database[] = []

afterEach(async () => {
  for (const database of databases.splice(0)) await database.stop()
})

describe('a PostgreSQL schema', () => {
  it('is created once if eight processes open it at the same time', async () => {
    const schema = newSchema()
    const stores = await Promise.all(
      Array.from({ length: 8 }, (_, i) => openStoreIn({ schema, shardCount: i + 1 })),
    )
    expect(new Set(stores.map((store) => store.shardCount)).size).toBe(1)
    const [row] = await sql(`select count(*)::int as count from "${schema}".shard`)
    expect(row!['count']).toBe(stores[0]!.shardCount)
  })

  it('with an older version is upgraded once, and keeps its format and its rows', async () => {
    const schema = newSchema()
    const store = await openStoreIn({ schema, shardCount: 3 })
    await store.putSetting('kept', 'yes')
    const later = [...migrations, () => 'alter table S.setting add column note text; select pg_sleep(0.2)']
    const formats = await Promise.all(
      [1, 2].map(() => migrate(databaseIn(schema), { strategy: undefined, shardCount: 9 }, later)),
    )
    for (const format of formats) expect(format).toMatchObject({ strategy: 'owned', shardCount: 3 })
    const [row] = await sql(`select version from "${schema}".store`)
    expect(row!['version']).toBe(migrations.length + 1)
    expect(await sql(`select name, note from "${schema}".setting`)).toEqual([{ name: 'kept', note: null }])
  })

  it('of every earlier version can be upgraded to the current one', async () => {
    for (let version = 1; version < migrations.length; version++) {
      const schema = newSchema()
      const before = migrations.slice(0, version)
      await migrate(databaseIn(schema), { strategy: 'owned', shardCount: 2 }, before)
      const store = await openStoreIn({ schema })
      expect(store.shardCount).toBe(2)
      const [row] = await sql(`select version from "${schema}".store`)
      expect(row!['version']).toBe(migrations.length)
    }
  })

  it('stays unchanged if an upgrade fails', async () => {
    const schema = newSchema()
    await openStoreIn({ schema })
    const broken = [...migrations, () => 'alter table S.setting add column note text; select 1/0']
    await expect(
      migrate(databaseIn(schema), { strategy: undefined, shardCount: 1 }, broken),
    ).rejects.toMatchObject({ code: 'store-unavailable' })
    const [row] = await sql(`select version from "${schema}".store`)
    expect(row!['version']).toBe(migrations.length)
    await openStoreIn({ schema })
  })

  it('with a newer version is refused and left unchanged', async () => {
    const schema = newSchema()
    await openStoreIn({ schema })
    await sql(`update "${schema}".store set version = 99`)
    await expect(openStoreIn({ schema })).rejects.toMatchObject({
      code: 'store-newer',
      message: expect.stringContaining('99') as unknown,
    })
    expect(await sql(`select version from "${schema}".store`)).toEqual([{ version: 99 }])
  })

  it.each([
    ['newer', migrations.length + 1, 'store-newer', 'upgrade Carillon'],
    ['older', migrations.length - 1, 'store-older', 'migrate it first'],
  ])('of a version that is %s keeps its strategy', async (_, version, code, advice) => {
    const schema = newSchema()
    await openStoreIn({ schema })
    await sql(`update "${schema}".store set version = ${version}`)
    const message = expect.stringContaining(advice) as unknown
    await expect(switchPostgres(urlOf(schema), 'claim')).rejects.toMatchObject({ code, message })
    expect(await sql(`select version, strategy from "${schema}".store`)).toEqual([
      { version, strategy: 'owned' },
    ])
  })

  it('that does not exist has no strategy to switch', async () => {
    await expect(switchPostgres(urlOf(newSchema()), 'claim')).rejects.toMatchObject({ code: 'store-foreign' })
  })

  it('of another strategy is refused, but accepted if the caller names none', async () => {
    const schema = newSchema()
    await openStoreIn({ schema, strategy: 'claim' })
    await expect(openStoreIn({ schema, strategy: 'owned' })).rejects.toMatchObject({ code: 'wrong-strategy' })
    expect((await openStoreIn({ schema })).mode).toBe('claim')
  })
})

function urlOf(schema: string): string {
  const url = new URL(thisServer().url)
  url.searchParams.set('schema', schema)
  return url.href
}

function databaseIn(schema: string): Database {
  const pool = new pg.Pool({ connectionString: thisServer().url })
  const database = new Database(new SessionPool(pool, { allow: [] }), schema)
  databases.push(database)
  return database
}
