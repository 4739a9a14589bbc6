import { StoreError } from '../../../error/index.js'
import { numberOf, stringOf } from '../codec/answer-row.js'
import type { Database } from './database.js'

/** Server settings that are not durable enough for acknowledged timers, unless they are allowed by name. */
export const allowances = ['async-commit', 'no-fsync', 'no-full-page-writes'] as const

export type PostgresAllowance = (typeof allowances)[number]

/**
 * SQL that is true if the setting is allowed: by the option `allow`, or by `carillon.allow` in the configuration of the
 * server, the database or the role.
 */
export function allowedSql(allowance: PostgresAllowance, allow: readonly PostgresAllowance[]): string {
  if (allow.includes(allowance)) return 'true'
  return `('${allowance}' = any (regexp_split_to_array(coalesce(current_setting('carillon.allow', true), ''), '[, ]+')))`
}

/** Refuses a server that may lose acknowledged timers. Checked only when a store is opened. Mail may get lost. */
export async function checkDurability(
  database: Database,
  allow: readonly PostgresAllowance[],
): Promise<void> {
  const [row] = await database.read(
    'open',
    `select (current_setting('fsync') = 'off' and not ${allowedSql('no-fsync', allow)})::int::bigint as no_fsync,
      (current_setting('full_page_writes') = 'off'
        and not ${allowedSql('no-full-page-writes', allow)})::int::bigint as no_pages,
      (select min(c.relname) from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = '${database.schema}' and c.relkind = 'r' and c.relpersistence <> 'p'
          and c.relname <> 'mail')::text as unlogged`,
  )
  if (numberOf(row!, 'no_fsync') === 1) {
    throw volatileServer(
      'fsync is off, so a power loss may damage or empty the database',
      'Turn fsync on',
      'no-fsync',
    )
  }
  if (numberOf(row!, 'no_pages') === 1) {
    throw volatileServer(
      'full_page_writes is off, so a power loss may damage half-written pages',
      'Turn it on, unless the file system never writes half a page, like ZFS',
      'no-full-page-writes',
    )
  }
  if (row!['unlogged'] !== null) {
    const table = `"${database.schema}"."${stringOf(row!, 'unlogged')}"`
    throw new StoreError(
      'store-volatile',
      `the table ${table} is unlogged, so a crash of PostgreSQL empties it: alter table ${table} set logged`,
    )
  }
}

function volatileServer(why: string, advice: string, allowance: PostgresAllowance): StoreError {
  return new StoreError(
    'store-volatile',
    `PostgreSQL may lose acknowledged timers: ${why}. ${advice}, or open the store with ?allow=${allowance}`,
  )
}
