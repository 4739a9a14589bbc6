import { InvalidInputError, shown, StoreError } from '../../../error/index.js'
import type { ShardRow } from '../../store.js'
import { CallCoalescer } from '../calls/call-coalescer.js'
import { arrayOf, numberOf, stringOf } from '../codec/answer-row.js'
import { int8Array, int8Values, textArray } from '../codec/binary-array.js'
import { MAX_SHARD_CHANGE_TRIES, MAX_SHARD_STATEMENTS, MAX_SHARDS_TOGETHER } from '../defaults.js'
import type { Database } from '../net/database.js'
import type { Row } from '../net/driver.js'

const columns = `shard::bigint, epoch, nonce, owner, lease_until, read_position, read_revision,
  settled_position, settled_revision, last_settlement, last_revision,
  suspect_position, suspect_revision, suspect_until_revision, suspect_due_until, late_before`

/** A shard row as it was read, with two values that `ShardRow` does not have. */
export interface ShardSnapshot {
  readonly row: ShardRow
  readonly lastRevision: number
  /** The store's clock at that time. */
  readonly now: number
}

/** A change of a shard row: the row as it was read, and the row to write. */
interface Change {
  readonly before: ShardSnapshot
  readonly after: ShardRow
}

/**
 * The shard rows. A change is computed here from the row that was read, and written only if the row is still the same.
 * So all stores share the rules in `shard-row.ts`, and no lock is held while this process computes. Changes of one
 * turn are read and written together. If another call holds the lock of a row, that row is left out and written alone,
 * so the others need not wait.
 *
 * Proven by test/store/postgres/lease-connections.test.ts and test/store/postgres/shared-statements.test.ts.
 */
export class ShardTable {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #reads: CallCoalescer<number, ShardSnapshot | undefined>
  readonly #puts: CallCoalescer<Change, boolean | 'locked-elsewhere'>

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    const limits = { maxInFlight: MAX_SHARD_STATEMENTS, weightOf: () => 1, maxWeight: MAX_SHARDS_TOGETHER }
    this.#reads = new CallCoalescer({ ...limits, send: (shards) => this.#readAll(shards) })
    this.#puts = new CallCoalescer({ ...limits, send: (changes) => this.#putAll(changes) })
  }

  async all(): Promise<ShardRow[]> {
    const rows = await this.#database.read('shards', `select ${columns} from S.shard order by shard`)
    return rows.map(shardRowOf)
  }

  /** Writes the row that `change` returns, unless that is the same row or undefined. Tries again if the row changed. */
  async change(
    call: string,
    shard: number,
    change: (snapshot: ShardSnapshot) => ShardRow | undefined,
  ): Promise<ShardRow | undefined> {
    for (let tries = 0; tries < MAX_SHARD_CHANGE_TRIES; tries++) {
      const before = Number.isInteger(shard) ? await this.#reads.call(shard) : undefined
      if (before === undefined) {
        throw new InvalidInputError('invalid-option', `no shard ${shown(shard)} in this store`)
      }
      const after = change(before)
      if (after === undefined || after === before.row) return after
      const put = await this.#puts.call({ before, after })
      if (put === 'locked-elsewhere' ? await this.#putAlone({ before, after }) : put) return after
    }
    throw new StoreError(
      'store-unavailable',
      `${call} failed: shard ${shard} changed during each of ${MAX_SHARD_CHANGE_TRIES} tries`,
    )
  }

  async #readAll(shards: readonly number[]): Promise<(ShardSnapshot | undefined)[]> {
    const rows = await this.#database.read('shards', READ, [int8Array(shards, (shard) => shard), this.#now()])
    const snapshots = new Map(rows.map((row) => [numberOf(row, 'shard'), snapshotOf(row)]))
    return shards.map((shard) => snapshots.get(shard))
  }

  async #putAll(changes: readonly Change[]): Promise<(boolean | 'locked-elsewhere')[]> {
    const [row] = await this.#database.write('put', PUT_TOGETHER, parametersOf(changes))
    const put = new Set(int8Values(arrayOf(row!, 'put')))
    const locked = new Set(int8Values(arrayOf(row!, 'locked')))
    return changes.map(
      ({ after }, i) => put.has(i + 1) || (locked.has(after.shard) ? false : 'locked-elsewhere'),
    )
  }

  async #putAlone(change: Change): Promise<boolean> {
    const [row] = await this.#database.write('put', PUT_ALONE, parametersOf([change]))
    return int8Values(arrayOf(row!, 'put')).length > 0
  }
}

const READ = `select ${columns}, S.now_ms($2::bigint) as now from S.shard where shard = any ($1::bigint[])`

/** The columns that a change writes and compares, each with its value in a shard row. */
const putColumns: readonly (readonly [string, 'bigint' | 'text', (row: ShardRow) => number | string])[] = [
  ['epoch', 'bigint', (row) => row.epoch],
  ['nonce', 'bigint', (row) => row.nonce],
  ['owner', 'text', (row) => row.owner],
  ['lease_until', 'bigint', (row) => row.leaseUntil],
  ['read_position', 'bigint', (row) => row.readLevel.position],
  ['read_revision', 'bigint', (row) => row.readLevel.revision],
]
const suspectColumns: typeof putColumns = [
  ['suspect_position', 'bigint', (row) => row.suspects.before.position],
  ['suspect_revision', 'bigint', (row) => row.suspects.before.revision],
  ['suspect_until_revision', 'bigint', (row) => row.suspects.untilRevision],
  ['suspect_due_until', 'bigint', (row) => row.suspects.dueUntil],
]
const levelColumns: typeof putColumns = [
  ['settled_position', 'bigint', (row) => row.settledLevel.position],
  ['settled_revision', 'bigint', (row) => row.settledLevel.revision],
]
const lateColumns: typeof putColumns = [['late_before', 'bigint', (row) => row.lateBefore]]
const newColumns = [...putColumns, ...suspectColumns, ...lateColumns]
const oldColumns = [...putColumns, ...levelColumns]

const arrayTypes = ['bigint', ...[...newColumns, ...oldColumns].map(([, type]) => type), 'bigint']
const names = (prefix: string, of: typeof putColumns): string[] => of.map(([name]) => `${prefix}_${name}`)

/**
 * A settlement may have raised `late_before` since the row was read, so the higher value wins. Rows are locked in the
 * order of their shards. So two of these, or one and a write of many shards, never deadlock.
 */
const put = (locking: string): string => `
  with wanted as (
    select * from unnest(${arrayTypes.map((type, i) => `$${i + 1}::${type}[]`).join(', ')}) with ordinality
      as w(shard, ${[...names('new', newColumns), ...names('old', oldColumns)].join(', ')}, last_revision, n)
  ), locked as materialized (
    select s.shard from S.shard s where s.shard = any ($1::bigint[]) order by s.shard for no key update${locking}
  ), put as (
    update S.shard s set ${[...putColumns, ...suspectColumns].map(([name]) => `${name} = w.new_${name}`).join(', ')},
      late_before = greatest(s.late_before, w.new_late_before)
    from wanted w, locked l
    where s.shard = w.shard and l.shard = s.shard
      and ${oldColumns.map(([name]) => `s.${name} = w.old_${name}`).join(' and ')}
      and (w.last_revision is null or s.last_revision = w.last_revision)
    returning w.n
  )
  select (select array_send(array_agg(n)) from put) as put,
    (select array_send(array_agg(shard::bigint)) from locked) as locked`

const PUT_TOGETHER = put(' skip locked')
const PUT_ALONE = put('')

function parametersOf(changes: readonly Change[]): Buffer[] {
  const column = (rows: readonly ShardRow[], [, type, of]: (typeof putColumns)[number]): Buffer =>
    type === 'text' ? textArray(rows, (row) => String(of(row))) : int8Array(rows, (row) => Number(of(row)))
  const after = changes.map((change) => change.after)
  const before = changes.map((change) => change.before.row)
  return [
    int8Array(after, ({ shard }) => shard),
    ...newColumns.map((each) => column(after, each)),
    ...oldColumns.map((each) => column(before, each)),
    // The suspects were computed from the last revision, so it must not have changed either.
    int8Array(changes, (change) =>
      change.after.suspects === change.before.row.suspects ? null : change.before.lastRevision,
    ),
  ]
}

function snapshotOf(row: Row): ShardSnapshot {
  return { row: shardRowOf(row), lastRevision: numberOf(row, 'last_revision'), now: numberOf(row, 'now') }
}

function shardRowOf(row: Row): ShardRow {
  const number = (name: string): number => numberOf(row, name)
  return {
    shard: number('shard'),
    epoch: number('epoch'),
    nonce: number('nonce'),
    owner: stringOf(row, 'owner'),
    leaseUntil: number('lease_until'),
    readLevel: { position: number('read_position'), revision: number('read_revision') },
    settledLevel: { position: number('settled_position'), revision: number('settled_revision') },
    lateBefore: number('late_before'),
    lastSettlement: number('last_settlement'),
    suspects: {
      before: { position: number('suspect_position'), revision: number('suspect_revision') },
      untilRevision: number('suspect_until_revision'),
      dueUntil: number('suspect_due_until'),
    },
  }
}
