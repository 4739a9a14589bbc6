import { StoreError } from '../../error/index.js'
import type { Strategy } from '../store.js'
import { numberOf } from './answer-row.js'
import { inSchema, types } from './database.js'
import type { PostgresClient } from './driver.js'
import { migrations, readFormat } from './migrations.js'
import { withConnection } from './postgres-survey.js'
import { claimTables } from './schema-tables.js'

/**
 * Makes a store one of another strategy, in one transaction that nobody can write beside. Timers, revisions, attempts
 * and counters stay. Refused while an instance is alive, while requests wait in the inbox, and while a shard was not
 * let go: what an instance may have begun must be known first.
 */
export async function switchPostgres(url: string, to: Strategy): Promise<void> {
  const make = async (client: PostgresClient, schema: string): Promise<void> => {
    const run = async (sql: string) => (await client.query({ text: inSchema(schema, sql), types })).rows
    await run('begin')
    try {
      // All rows are looked at, and an index is made of them; what must not take long is to have the tables.
      await run(`set local statement_timeout = 0`)
      await run(`set local lock_timeout = '30s'`)
      await run(`select pg_advisory_xact_lock(hashtext('carillon'), hashtext('${schema}'))`)
      await checkFormat(client, schema)
      await run('lock table S.shard, S.timer, S.counter, S.inbox, S.member in exclusive mode')
      await checkIdle(run)
      for (const step of to === 'claim' ? toClaim : toOwned) await run(step)
      await run(`update S.store set strategy = '${to}'`)
      await run('commit')
    } catch (error) {
      await run('rollback').catch(() => undefined)
      throw error
    }
  }
  await withConnection(url, 'switching the strategy', make, { isLong: true })
}

type Run = (sql: string) => Promise<readonly Record<string, string | number | Buffer | null>[]>

async function checkFormat(client: PostgresClient, schema: string): Promise<void> {
  const format = await readFormat(client, schema)
  if (format?.version === migrations.length) return
  throw new StoreError(
    'store-newer',
    `the schema ${schema} has version ${format?.version ?? 'none'}, this program knows ${migrations.length}: migrate it first`,
  )
}

async function checkIdle(run: Run): Promise<void> {
  const [row] = await run(`select
    (select count(*) from S.member where until > S.now_ms(null)) as members,
    (select count(*) from S.shard where owner <> '') as owned,
    (select count(*) from S.inbox) as waiting,
    (select count(*) from S.timer where lease_until > S.now_ms(null)) as leased`)
  const why: readonly [string, string][] = [
    ['members', 'instances are alive: stop them'],
    ['owned', 'shards were not let go: start an instance and stop it'],
    ['waiting', 'requests wait in the inbox: start an instance, which carries them out, and stop it'],
    ['leased', 'timers are leased: wait until their leases are over'],
  ]
  for (const [name, advice] of why) {
    const count = numberOf(row!, name)
    if (count > 0) throw new StoreError('store-in-use', `${count} ${advice}`)
  }
}

// What is settled goes; what an owner that crashed may have begun counts as an attempt, and what one has carried or put
// back stands where it is due again; the counters of all shards become one; levels, of which claims know nothing, go
// back to the start under a new epoch.
const toClaim: readonly string[] = [
  `delete from S.timer t using S.shard s
    where s.shard = t.shard and (t.position, t.revision) < (s.settled_position, s.settled_revision)`,
  `update S.timer t set attempt = attempt + 1 from S.shard s
    where s.shard = t.shard and (t.position, t.revision) < (s.suspect_position, s.suspect_revision)
      and t.revision <= s.suspect_until_revision and t.due_at <= s.suspect_due_until`,
  'update S.timer set position = due_at where position > due_at',
  `update S.counter c set created = c.created + s.created, settled = c.settled + s.settled,
      cancelled = c.cancelled + s.cancelled, replaced = c.replaced + s.replaced, dead = c.dead + s.dead
    from (select sum(created)::bigint as created, sum(settled)::bigint as settled, sum(cancelled)::bigint as cancelled,
      sum(replaced)::bigint as replaced, sum(dead)::bigint as dead from S.shard) s where c.slot = 0`,
  `select setval('S.revision', greatest(1, (select last_value from S.revision),
    (select max(last_revision) from S.shard), (select max(revision) from S.timer)))`,
  `update S.shard set epoch = epoch + 1, nonce = 0, lease_until = 0, read_position = 0, read_revision = 0,
    settled_position = 0, settled_revision = 0, swept_position = 0, swept_revision = 0, suspect_position = 0,
    suspect_revision = 0, suspect_until_revision = 0, suspect_due_until = 0,
    created = 0, settled = 0, cancelled = 0, replaced = 0, dead = 0`,
  claimTables,
]

// A lease that ran out counts as an attempt; each shard has created what stands in it, and the first one all else.
const toOwned: readonly string[] = [
  `update S.timer set attempt = attempt + 1, lease_owner = null, lease_nonce = null, lease_until = null
    where lease_until is not null`,
  `update S.shard set epoch = epoch + 1, nonce = 0, lease_until = 0,
    last_revision = greatest(last_revision, (select last_value from S.revision), (select max(revision) from S.timer))`,
  `update S.shard s set created = t.count
    from (select shard, count(*) as count from S.timer group by shard) t where t.shard = s.shard`,
  `update S.shard s set
      created = s.created + c.created - (select sum(created) from S.shard), settled = c.settled,
      cancelled = c.cancelled, replaced = c.replaced, dead = c.dead
    from (select sum(created)::bigint as created, sum(settled)::bigint as settled, sum(cancelled)::bigint as cancelled,
      sum(replaced)::bigint as replaced, sum(dead)::bigint as dead from S.counter) c where s.shard = 0`,
  'update S.counter set created = 0, settled = 0, cancelled = 0, replaced = 0, dead = 0',
  'drop index S.timer_due',
]
