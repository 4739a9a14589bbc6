import { lastPlace, type Place } from '../../timer/index.js'
import { Semaphore } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import type {
  Fence,
  Loaded,
  LoadRequest,
  OwnerWrite,
  SettleAnswer,
  Settlement,
  WriteAnswer,
} from '../store.js'
import { isLevelOnly, LevelSettlements } from './calls/level-settlements.js'
import { OwnerWrites } from './calls/owner-writes.js'
import { PlainWrites } from './calls/plain-writes.js'
import { numberOf, sentArrays } from './codec/answer-row.js'
import { fenceParameters, placeholders } from './codec/parameters.js'
import { rowColumnNames, RowColumns } from './codec/row-columns.js'
import { SettlementBatch } from './codec/settlement-batch.js'
import { placeOf } from './codec/write-batch.js'
import { LOAD_PATIENCE_MS, MAX_LOADS, SWEEP_ROWS } from './defaults.js'
import type { Database } from './net/database.js'
import type { PostgresClient } from './net/driver.js'
import { FreeNamePredictor } from './parts/free-name-predictor.js'

const LOAD = `select read_position, read_revision, next_position, bytes, ${sentArrays(rowColumnNames)}
  from S.load(${placeholders(10)})`
const SETTLE = `select base, read_position, read_revision, ${sentArrays(['dead_letters', 'followed'])}
  from S.settle(${placeholders(44)})`
const SWEEP = `select removed, more::integer::bigint as more from S.sweep_below(${placeholders(8)})`

interface Swept {
  readonly removed: number
  readonly more: boolean
}

/**
 * The fenced calls of owners on the rows of their shards: load, write, settle, sweep. Each tries the statement that
 * many shards can share first, and falls back to one for its own shard.
 *
 * Proven by the store contract (test/store/postgres/contract.test.ts), test/store/postgres/shared-statements.test.ts
 * and test/store/postgres/loads.test.ts.
 */
export class PostgresOwnerCalls {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #loads: Semaphore
  readonly #plainWrites: PlainWrites
  readonly #ownerWrites: OwnerWrites
  readonly #levelSettlements: LevelSettlements
  readonly #freeNames = new FreeNamePredictor()
  #lastSweep: Promise<unknown> = Promise.resolve()

  constructor(database: Database, clock: Clock, now: () => number | null) {
    this.#database = database
    this.#now = now
    this.#loads = new Semaphore(MAX_LOADS, { clock, ms: LOAD_PATIENCE_MS })
    this.#plainWrites = new PlainWrites(database)
    this.#ownerWrites = new OwnerWrites(database, now)
    this.#levelSettlements = new LevelSettlements(database, now)
  }

  load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    return this.#loads.run(() => this.#load(fence, request))
  }

  async write(fence: Fence, write: OwnerWrite): Promise<WriteAnswer> {
    if (this.#freeNames.expectsFreeNames) {
      const answer = await this.#plainWrites.write(fence, write)
      if (answer !== undefined) return answer
    }
    const answer = await this.#ownerWrites.write(fence, write)
    this.#freeNames.observe(answer.answers)
    return answer
  }

  async settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    const answer = isLevelOnly(settlement)
      ? await this.#levelSettlements.settle(fence, settlement)
      : undefined
    return answer ?? (await this.#settle(fence, settlement))
  }

  /** Settles in the transaction of `client`. */
  settleWith(client: PostgresClient, fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return this.#settle(fence, settlement, client)
  }

  /** Sweeps one shard after the other. Writes and settlements need the connections more. */
  sweep(fence: Fence, below: Place = lastPlace): Promise<Swept> {
    const swept = this.#lastSweep.then(() => this.#sweep(fence, below))
    this.#lastSweep = swept.catch(() => undefined)
    return swept
  }

  async #load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    const { from, untilExclusive, limit, limitBytes } = request
    const [row] = await this.#database.write('load', LOAD, [
      ...fenceParameters(fence),
      from.position,
      from.revision,
      untilExclusive,
      limit,
      Math.ceil(limitBytes),
    ])
    return {
      page: new RowColumns(row!),
      readLevel: placeOf(row!, 'read'),
      nextPosition: row!['next_position'] === null ? undefined : numberOf(row!, 'next_position'),
    }
  }

  async #settle(fence: Fence, settlement: Settlement, client?: PostgresClient): Promise<SettleAnswer> {
    const batch = new SettlementBatch(settlement)
    const values = [this.#now(), ...fenceParameters(fence), ...batch.parameters()]
    const [row] =
      client === undefined
        ? await this.#database.write('settle', SETTLE, values)
        : await this.#database.writeWith(client, 'settle', SETTLE, values)
    return batch.answer(row!)
  }

  async #sweep(fence: Fence, below: Place = lastPlace): Promise<Swept> {
    const values = [...fenceParameters(fence), below.position, below.revision, SWEEP_ROWS]
    const [row] = await this.#database.write('sweep', SWEEP, values)
    return { removed: numberOf(row!, 'removed'), more: numberOf(row!, 'more') === 1 }
  }
}
