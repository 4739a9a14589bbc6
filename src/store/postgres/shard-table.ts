import { InvalidInputError, shown, StoreError } from '../../error/index.js'
import type { ShardRow } from '../store.js'
import { listOf, numberOf, textOf } from './answer-row.js'
import { int8Array, int8s, textArray } from './binary-array.js'
import type { Database } from './database.js'
import type { Row } from './driver.js'
import { JointCalls } from './joint-calls.js'

const columns = `shard::bigint, epoch, nonce, owner, lease_until, read_position, read_revision,
  settled_position, settled_revision, last_settlement, last_revision,
  suspect_position, suspect_revision, suspect_until_revision, suspect_due_until`

const MOST_TRIES = 100

/** A shard's row as it was read, and what is not the owner's to know. */
export interface StandingShard {
  readonly row: ShardRow
  readonly lastRevision: number
  /** By the store's clock, when it was read. */
  readonly now: number
}

/** A change that is to be put: what a row was, and what it becomes. */
interface Change {
  readonly before: StandingShard
  readonly after: ShardRow
}

// Enough that all shards of an instance go together.
const MOST_TOGETHER = 256

/**
 * The rows of the shards. A change is computed here from what was read and put only if that still stands, so the
 * rules are those of every store and no lock is held while this process thinks. Changes that meet are read and put
 * together; one whose row somebody holds keeps the others from nothing: it is left out and put alone.
 */
export class ShardTable {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #reads: JointCalls<number, StandingShard | undefined>
  readonly #puts: JointCalls<Change, boolean | 'held'>

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    const joint = { mostUnderWay: 2, weightOf: () => 1, mostWeight: MOST_TOGETHER }
    this.#reads = new JointCalls({ ...joint, send: (shards) => this.#readAll(shards) })
    this.#puts = new JointCalls({ ...joint, send: (changes) => this.#putAll(changes) })
  }

  async all(): Promise<ShardRow[]> {
    const rows = await this.#database.read('shards', `select ${columns} from S.shard order by shard`)
    return rows.map(shardRowOf)
  }

  /** Puts what `change` makes of the row; leaves it when that is the same row, or undefined. */
  async change(
    call: string,
    shard: number,
    change: (standing: StandingShard) => ShardRow | undefined,
  ): Promise<ShardRow | undefined> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const before = Number.isInteger(shard) ? await this.#reads.call(shard) : undefined
      if (before === undefined) {
        throw new InvalidInputError('invalid-option', `the store has no shard ${shown(shard)}`)
      }
      const after = change(before)
      if (after === undefined || after === before.row) return after
      const put = await this.#puts.call({ before, after })
      if (put === 'held' ? await this.#putAlone({ before, after }) : put) return after
    }
    throw new StoreError('store-unavailable', `shard ${shard} did not stand still for ${call}`)
  }

  async #readAll(shards: readonly number[]): Promise<(StandingShard | undefined)[]> {
    const rows = await this.#database.read('shards', READ, [int8Array(shards, (shard) => shard), this.#now()])
    const standing = new Map(rows.map((row) => [numberOf(row, 'shard'), standingOf(row)]))
    return shards.map((shard) => standing.get(shard))
  }

  async #putAll(changes: readonly Change[]): Promise<(boolean | 'held')[]> {
    const [row] = await this.#database.write('put', PUT_TOGETHER, parametersOf(changes))
    const put = new Set(int8s(listOf(row!, 'put')))
    const locked = new Set(int8s(listOf(row!, 'locked')))
    return changes.map(({ after }, i) => put.has(i + 1) || (locked.has(after.shard) ? false : 'held'))
  }

  async #putAlone(change: Change): Promise<boolean> {
    const [row] = await this.#database.write('put', PUT_ALONE, parametersOf([change]))
    return int8s(listOf(row!, 'put')).length > 0
  }
}

const READ = `select ${columns}, S.now_ms($2::bigint) as now from S.shard where shard = any ($1::bigint[])`

/** The columns that are put, those that must stand as they were read, and where both are in a change. */
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
const newColumns = [...putColumns, ...suspectColumns]
const oldColumns = [...putColumns, ...levelColumns]

const lists = ['bigint', ...[...newColumns, ...oldColumns].map(([, type]) => type), 'bigint']
const names = (prefix: string, of: typeof putColumns): string[] => of.map(([name]) => `${prefix}_${name}`)

/** Rows are locked in one order, so that two of these, or one and a write of many shards, never wait for each other. */
const put = (locking: string): string => `
  with wanted as (
    select * from unnest(${lists.map((type, i) => `$${i + 1}::${type}[]`).join(', ')}) with ordinality
      as w(shard, ${[...names('new', newColumns), ...names('old', oldColumns)].join(', ')}, last_revision, n)
  ), locked as materialized (
    select s.shard from S.shard s where s.shard = any ($1::bigint[]) order by s.shard for no key update${locking}
  ), put as (
    update S.shard s set ${newColumns.map(([name]) => `${name} = w.new_${name}`).join(', ')}
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
  const list = (rows: readonly ShardRow[], [, type, of]: (typeof putColumns)[number]): Buffer =>
    type === 'text' ? textArray(rows, (row) => String(of(row))) : int8Array(rows, (row) => Number(of(row)))
  const after = changes.map((change) => change.after)
  const before = changes.map((change) => change.before.row)
  return [
    int8Array(after, ({ shard }) => shard),
    ...newColumns.map((column) => list(after, column)),
    ...oldColumns.map((column) => list(before, column)),
    // Who is suspect is only so by the last revision that was given.
    int8Array(changes, (change) =>
      change.after.suspects === change.before.row.suspects ? null : change.before.lastRevision,
    ),
  ]
}

function standingOf(row: Row): StandingShard {
  return { row: shardRowOf(row), lastRevision: numberOf(row, 'last_revision'), now: numberOf(row, 'now') }
}

function shardRowOf(row: Row): ShardRow {
  const number = (name: string): number => numberOf(row, name)
  return {
    shard: number('shard'),
    epoch: number('epoch'),
    nonce: number('nonce'),
    owner: textOf(row, 'owner'),
    leaseUntil: number('lease_until'),
    readLevel: { position: number('read_position'), revision: number('read_revision') },
    settledLevel: { position: number('settled_position'), revision: number('settled_revision') },
    lastSettlement: number('last_settlement'),
    suspects: {
      before: { position: number('suspect_position'), revision: number('suspect_revision') },
      untilRevision: number('suspect_until_revision'),
      dueUntil: number('suspect_due_until'),
    },
  }
}
