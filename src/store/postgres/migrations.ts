import { StoreError } from '../../error/index.js'
import type { Strategy } from '../store.js'
import { numberOf, textOf } from './answer-row.js'
import { type Database, inSchema, types } from './database.js'
import type { PostgresClient, Row } from './driver.js'
import { claimFunctions } from './schema-claims.js'
import { clockFunction, fenceFunction, tagsFunction } from './schema-common.js'
import { inboxFunctions } from './schema-inbox.js'
import { ownerFunctions } from './schema-owner.js'
import { claimTables, tables } from './schema-tables.js'
import { writeFunctions } from './schema-write.js'

/** What a store was made with. */
export interface StoreFormat {
  readonly strategy: Strategy
  readonly shardCount: number
}

/** What brings a schema from the version before to this one; the first makes it. */
export type Migration = (format: StoreFormat) => string

const functions =
  clockFunction +
  tagsFunction +
  fenceFunction +
  writeFunctions +
  ownerFunctions +
  inboxFunctions +
  claimFunctions

/** In the order of versions, the first of which is 1. One that was published is never changed. */
export const migrations: readonly Migration[] = [
  ({ strategy, shardCount }) => `
${tables}
${strategy === 'claim' ? claimTables : ''}
insert into S.shard (shard) select generate_series(0, ${shardCount - 1});
insert into S.store (version, strategy, shard_count) values (0, '${strategy}', ${shardCount});
${functions}`,
  // insert_plain became quicker.
  () => functions,
]

/**
 * Brings the schema to the version of this program, one process at a time, and answers what the store was made
 * with. A schema of a newer version is refused, and left as it is.
 */
export async function migrate(
  database: Database,
  wanted: { readonly strategy: Strategy | undefined; readonly shardCount: number },
  steps: readonly Migration[] = migrations,
): Promise<StoreFormat> {
  const { schema } = database
  return await database.together('open', async (client) => {
    const found = await readFormat(client, schema)
    // Nothing to do needs no lock, and no more rights than using the tables.
    if (found?.version === steps.length) return checked(found, wanted.strategy)
    await client.query({ text: 'begin' })
    try {
      await client.query({
        text: `select pg_advisory_xact_lock(hashtext('carillon'), hashtext('${schema}'))`,
      })
      const now = await readFormat(client, schema)
      if (now !== undefined && now.version > steps.length) {
        throw new StoreError(
          'store-newer',
          `the schema ${schema} has version ${now.version}, this program knows ${steps.length}: upgrade Carillon`,
        )
      }
      const format = now ?? {
        strategy: wanted.strategy ?? 'owned',
        shardCount: wanted.shardCount,
        version: 0,
      }
      checked(format, wanted.strategy)
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

function checked(format: StoreFormat, strategy: Strategy | undefined): StoreFormat {
  if (strategy === undefined || strategy === format.strategy) return format
  throw new StoreError(
    'wrong-strategy',
    `this store was made for the strategy ${format.strategy} and was opened for ${strategy}: open it as ${format.strategy}, give a new schema, or stop all instances and switch it with carillon migrate --strategy ${strategy} --store …`,
  )
}

/** What the schema says of itself; undefined when there is none. */
export async function readFormat(
  client: PostgresClient,
  schema: string,
): Promise<(StoreFormat & { readonly version: number }) | undefined> {
  // From the catalog itself: by `to_regclass` it may still seem absent to whoever waited while it was made.
  const there = await client.query({
    text: `select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = '${schema}' and c.relname = 'store'`,
  })
  if (there.rows.length === 0) return undefined
  const sql = inSchema(schema, 'select version::bigint, strategy, shard_count::bigint from S.store')
  const row: Row | undefined = (await client.query({ text: sql, types })).rows[0]
  if (row === undefined) {
    throw new StoreError('store-damaged', `the table "${schema}".store is empty: restore a backup`)
  }
  return {
    version: numberOf(row, 'version'),
    strategy: textOf(row, 'strategy') as Strategy,
    shardCount: numberOf(row, 'shard_count'),
  }
}
