import { InvalidInputError, shown, StoreError } from '../../error/index.js'
import type { ShardRow } from '../store.js'
import { numberOf, textOf } from './answer-row.js'
import type { Database } from './database.js'
import type { Row } from './driver.js'

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

/**
 * The rows of the shards. A change is computed here from what was read and put only if that still stands, so the
 * rules are those of every store and no lock is held while this process thinks.
 */
export class ShardTable {
  readonly #database: Database
  readonly #now: () => number | null

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
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
      const before = await this.#read(call, shard)
      const after = change(before)
      if (after === undefined || after === before.row) return after
      const put = await this.#database.write(
        call,
        `update S.shard set epoch = $1, nonce = $2, owner = $3, lease_until = $4, read_position = $5,
          read_revision = $6, suspect_position = $7, suspect_revision = $8, suspect_until_revision = $9,
          suspect_due_until = $10
        where shard = $11 and epoch = $12 and nonce = $13 and owner = $14 and lease_until = $15
          and read_position = $16 and read_revision = $17 and settled_position = $18 and settled_revision = $19
          and ($20::bigint is null or last_revision = $20)
        returning shard::bigint`,
        [
          after.epoch,
          after.nonce,
          after.owner,
          after.leaseUntil,
          after.readLevel.position,
          after.readLevel.revision,
          after.suspects.before.position,
          after.suspects.before.revision,
          after.suspects.untilRevision,
          after.suspects.dueUntil,
          shard,
          before.row.epoch,
          before.row.nonce,
          before.row.owner,
          before.row.leaseUntil,
          before.row.readLevel.position,
          before.row.readLevel.revision,
          before.row.settledLevel.position,
          before.row.settledLevel.revision,
          // Who is suspect is only so by the last revision that was given.
          after.suspects === before.row.suspects ? null : before.lastRevision,
        ],
      )
      if (put.length > 0) return after
    }
    throw new StoreError('store-unavailable', `shard ${shard} did not stand still for ${call}`)
  }

  async #read(call: string, shard: number): Promise<StandingShard> {
    const [row] = Number.isInteger(shard)
      ? await this.#database.read(
          call,
          `select ${columns}, S.now_ms($2::bigint) as now from S.shard where shard = $1`,
          [shard, this.#now()],
        )
      : []
    if (row === undefined) {
      throw new InvalidInputError('invalid-option', `the store has no shard ${shown(shard)}`)
    }
    return { row: shardRowOf(row), lastRevision: numberOf(row, 'last_revision'), now: numberOf(row, 'now') }
  }
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
