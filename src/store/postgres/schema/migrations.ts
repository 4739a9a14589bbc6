import { StoreError } from '../../../error/index.js'
import type { StoreMode } from '../../store.js'
import { numberOf, stringOf } from '../codec/answer-row.js'
import { type Database, inSchema, columnTypes } from '../net/database.js'
import type { PostgresClient, Row } from '../net/driver.js'
import { claimFunctions } from './claims.js'
import { clockFunction, fenceFunction, tagsFunction } from './common.js'
import { commitOrderTrigger, inboxFunctions, inboxNames } from './inbox.js'
import { ownerFunctions } from './owner.js'
import { claimTables, displacedIndex, mailTable, tables } from './tables.js'
import { writeFunctions } from './write.js'

/** The properties that a store gets when it is created. */
export interface StoreFormat {
  readonly strategy: StoreMode
  readonly shardCount: number
}

/** SQL that upgrades a schema by one version. The first one creates it. */
export type Migration = (format: StoreFormat) => string

const functions =
  clockFunction +
  tagsFunction +
  fenceFunction +
  writeFunctions +
  ownerFunctions +
  inboxFunctions +
  claimFunctions

/** In the order of versions, from version 1. The changes to tables in a published migration never change. */
export const migrations: readonly Migration[] = [
  ({ strategy, shardCount }) => `
${tables}
${strategy === 'claim' ? claimTables : ''}
insert into S.shard (shard) select generate_series(0, ${shardCount - 1});
insert into S.store (version, strategy, shard_count) values (0, '${strategy}', ${shardCount});
${functions}`,
  // Version 2: a faster insert_plain.
  () => functions,
  // Version 3: requests in transactions are ordered by commit. A level that does not rise may be ahead of the clock.
  () => functions + commitOrderTrigger,
  // Version 4: `late_before` bounds the search for rows whose position is later than their due time.
  // An inbox refuses a request that it may have answered and forgotten.
  () => 'alter table S.shard add column late_before bigint not null default 0;' + functions,
  // Version 5: an inbox says whether a request for a name waits.
  () => inboxNames + functions,
  // Version 6: members have mailboxes.
  () => mailTable,
  // Version 7: a move may keep the row claim.
  () => functions,
  // Version 8: a due window finds the rows whose position is not their due time.
  () => displacedIndex,
  // Version 9: the answer to a request without a deadline is not kept.
  () => functions,
]

/**
 * Upgrades the schema to the version of this program and returns the store's format. A lock lets one process do it at a
 * time. A schema with a newer version is refused and left as it is.
 *
 * Proven by test/store/postgres/migrations.test.ts.
 */
export async function migrate(
  database: Database,
  wanted: { readonly strategy: StoreMode | undefined; readonly shardCount: number },
  steps: readonly Migration[] = migrations,
): Promise<StoreFormat> {
  const { schema } = database
  return await database.withClient('open', async (client) => {
    const found = await readFormat(client, schema)
    // An up-to-date schema needs no lock, and no right but to use the tables.
    if (found?.version === steps.length) return checkMode(found, wanted.strategy)
    await client.query({ text: 'begin' })
    try {
      await client.query({
        text: `select pg_advisory_xact_lock(hashtext('carillon'), hashtext('${schema}'))`,
      })
      const now = await readFormat(client, schema)
      if (now !== undefined && now.version > steps.length) {
        throw new StoreError(
          'store-newer',
          `the schema ${schema} has version ${now.version}, but this program knows versions up to ${steps.length}: upgrade Carillon`,
        )
      }
      const format = now ?? {
        strategy: wanted.strategy ?? 'owned',
        shardCount: wanted.shardCount,
        version: 0,
      }
      checkMode(format, wanted.strategy)
      if (now === undefined) await client.query({ text: `create schema if not exists "${schema}"` })
      for (const step of steps.slice(format.version)) {
        await client.query({ text: inSchema(schema, step(format)) })
      }
      await client.query({ text: inSchema(schema, `update S.store set version = ${steps.length}`) })
      await client.query({ text: 'commit' })
      return format
    } catch (error) {
      await client.query({ text: 'rollback' }).catch(() => undefined)
      throw error
    }
  })
}

function checkMode(format: StoreFormat, strategy: StoreMode | undefined): StoreFormat {
  if (strategy === undefined || strategy === format.strategy) return format
  throw new StoreError(
    'wrong-strategy',
    `this store was made for the strategy ${format.strategy}, not ${strategy}: open it as ${format.strategy}, use a new schema, or stop all instances and switch it with carillon migrate --strategy ${strategy} --store …`,
  )
}

/** The format of a schema; undefined if there is no store in it. */
export async function readFormat(
  client: PostgresClient,
  schema: string,
): Promise<(StoreFormat & { readonly version: number }) | undefined> {
  // The catalog itself is up to date. `to_regclass` may miss a table that was created while this process waited.
  const storeTable = await client.query({
    text: `select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = '${schema}' and c.relname = 'store'`,
  })
  if (storeTable.rows.length === 0) return undefined
  const sql = inSchema(schema, 'select version::bigint, strategy, shard_count::bigint from S.store')
  const row: Row | undefined = (await client.query({ text: sql, types: columnTypes })).rows[0]
  if (row === undefined) {
    throw new StoreError('store-damaged', `the table "${schema}".store is empty: restore a backup`)
  }
  return {
    version: numberOf(row, 'version'),
    strategy: stringOf(row, 'strategy') as StoreMode,
    shardCount: numberOf(row, 'shard_count'),
  }
}
