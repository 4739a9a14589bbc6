import { StoreError } from '../../../error/index.js'
import type { StoreMode } from '../../store.js'
import { numberOf } from '../codec/answer-row.js'
import { inSchema, columnTypes } from '../net/database.js'
import type { PostgresClient } from '../net/driver.js'
import { migrations, readFormat } from './migrations.js'
import { withConnection } from '../with-connection.js'
import { claimTables } from './tables.js'

/**
 * Switches a store to the other mode, in one transaction that locks out all writers. Timers, revisions, attempts and
 * counters stay. It is refused while an instance is alive, while requests wait in an inbox, and while a shard has an
 * owner: the attempts of instances must be settled first.
 *
 * Proven by test/cli/migrate.test.ts.
 */
export async function switchPostgres(url: string, to: StoreMode): Promise<void> {
  const switchIn = async (client: PostgresClient, schema: string): Promise<void> => {
    const run = async (sql: string) =>
      (await client.query({ text: inSchema(schema, sql), types: columnTypes })).rows
    await run('begin')
    try {
      // Rewriting all rows and building an index may take long. Waiting for the table locks may not.
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
  await withConnection(url, 'switching the strategy', switchIn, { isLong: true })
}

type Run = (sql: string) => Promise<readonly Record<string, string | number | Buffer | null>[]>

async function checkFormat(client: PostgresClient, schema: string): Promise<void> {
  const format = await readFormat(client, schema)
  if (format === undefined)
    throw new StoreError('store-foreign', `the schema ${schema} holds no store: carillon serve creates one`)
  const [found, known] = [format.version, migrations.length]
  if (found === known) return
  const [code, advice] =
    found > known
      ? (['store-newer', 'upgrade Carillon'] as const)
      : (['store-older', 'migrate it first'] as const)
  throw new StoreError(
    code,
    `the schema ${schema} has version ${found}, but this program needs version ${known}: ${advice}`,
  )
}

async function checkIdle(run: Run): Promise<void> {
  const [row] = await run(`select
    (select count(*) from S.member where until > S.now_ms(null)) as members,
    (select count(*) from S.shard where owner <> '') as owned,
    (select count(*) from S.inbox) as waiting,
    (select count(*) from S.timer where lease_until > S.now_ms(null)) as leased`)
  const obstacles: readonly [string, string][] = [
    ['members', 'instances are alive: stop them'],
    ['owned', 'shards were not released: start an instance and stop it'],
    ['waiting', 'requests wait in the inbox: start an instance to apply them, then stop it'],
    ['leased', 'timers are claimed: wait until their leases run out'],
  ]
  for (const [name, advice] of obstacles) {
    const count = numberOf(row!, name)
    if (count > 0) throw new StoreError('store-in-use', `${count} ${advice}`)
  }
}

// - Settled rows are deleted.
// - Each suspect counts one more attempt: a crashed owner may have started it.
// - Rows that were carried or put back return to their due time.
// - The counters of all shards are added up.
// - Levels mean nothing to claims. They go back to the start, under a new epoch.
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
    suspect_revision = 0, suspect_until_revision = 0, suspect_due_until = 0, late_before = 0,
    created = 0, settled = 0, cancelled = 0, replaced = 0, dead = 0`,
  claimTables,
]

// - A claim that ran out counts as an attempt.
// - Each shard counts the rows it has as created. Shard 0 gets the rest of the counters.
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
