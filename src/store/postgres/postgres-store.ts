import { InvalidInputError, StateError } from '../../error/index.js'
import { systemClock } from '../../time/index.js'
import { levelAt, type Place, type TimerName, type TimerRow, shardOf } from '../../timer/index.js'
import { checkStrategy, unknownShard } from '../check-call.js'
import { checkRequests, checkWrite } from '../check-write.js'
import { FewAtOnce } from '../few-at-once.js'
import { claimed, lowered, refenced, released, renewed } from '../shard-row.js'
import type {
  ClaimedRow,
  ClaimSettlement,
  Counts,
  DeadLetter,
  DeadQuery,
  DueClaim,
  Fence,
  HistogramQuery,
  HistoryEntry,
  HistoryQuery,
  Listed,
  ListQuery,
  Loaded,
  LoadRequest,
  Member,
  NextDueQuery,
  OperationAnswer,
  OwnerWrite,
  Receipt,
  Request,
  Setting,
  SettleAnswer,
  Settlement,
  ShardClaim,
  ShardRow,
  Store,
  StoreCapabilities,
  Strategy,
  Tally,
  Usage,
  WriteAnswer,
} from '../store.js'
import { numberOf, sent } from './answer-row.js'
import { int8Array } from './binary-array.js'
import { ClusterTables } from './cluster-tables.js'
import { Database } from './database.js'
import {
  type ConnectionOptions,
  type Driver,
  loadDriver,
  clientOf,
  type PostgresClient,
  type PostgresPool,
} from './driver.js'
import { isLevelOnly, LevelSettlements } from './level-settlements.js'
import { migrate, type StoreFormat } from './migrations.js'
import { placeOf, writeAnswerColumns, WriteBatch } from './write-batch.js'
import { OwnerWrites } from './owner-writes.js'
import { PlainWrites } from './plain-writes.js'
import { dollars, PostgresClaims } from './postgres-claims.js'
import { PostgresInbox } from './postgres-inbox.js'
import { PostgresTransactions } from './postgres-transactions.js'
import {
  type PostgresStoreOptions,
  postgresStoreOptions,
  takenApart,
  type WholePostgresStoreOptions,
} from './postgres-store-options.js'
import { RecordTables } from './record-tables.js'
import { rowColumnNames, RowColumns } from './row-columns.js'
import { RowReading } from './row-reading.js'
import { SettlementBatch } from './settlement-batch.js'
import { ShardTable } from './shard-table.js'
import { TakenNames } from './taken-names.js'
import { WakeChannel } from './wake-channel.js'

/** How long an answer may wait for a process that does not take it. */
const LONGEST_STUCK_MS = 5000

/** Connections that only leases and heartbeats use: they must not wait for timers, or a busy owner is replaced. */
const LEASE_CONNECTIONS = 2

/**
 * So many pages are read at once. An instance takes in rows slower than the server reads them: more at once would share
 * the server's cores, and the first of them come when the last is nearly done.
 */
const MOST_LOADS = 3
/** A page that waits so long for others is read beside them: they may hang, at a lock or a connection that is gone. */
const LOAD_PATIENCE_MS = 500

/** How many rows one `sweep` removes. */
const SWEEP_ROWS = 2000

/**
 * Timers in a PostgreSQL database, shared by any number of processes. Every call is one statement, so it happens
 * wholly or not at all, and what is acknowledged is committed: it outlives what the server's commits outlive.
 */
export class PostgresStore implements Store {
  readonly name = 'postgres'
  readonly capabilities: StoreCapabilities = Object.freeze({ shared: true, durable: true, claim: true })
  readonly strategy: Strategy
  readonly shardCount: number
  readonly maxPayloadBytes: number
  readonly schema: string
  readonly transactions: PostgresTransactions
  readonly #database: Database
  readonly #leases: Database
  readonly #now: () => number | null
  readonly #shards: ShardTable
  readonly #inbox: PostgresInbox
  readonly #claims: PostgresClaims
  readonly #reading: RowReading
  readonly #records: RecordTables
  readonly #cluster: ClusterTables
  readonly #wakes: WakeChannel
  readonly #plainWrites: PlainWrites
  readonly #ownerWrites: OwnerWrites
  readonly #levelSettlements: LevelSettlements
  readonly #taken = new TakenNames()
  readonly #loads: FewAtOnce
  #lastSweep: Promise<unknown> = Promise.resolve()
  #stopping: Promise<void> | undefined

  private constructor(
    database: Database,
    leases: Database,
    driver: Driver,
    connection: ConnectionOptions,
    format: StoreFormat,
    options: WholePostgresStoreOptions,
  ) {
    const { clock } = options
    this.strategy = format.strategy
    this.shardCount = format.shardCount
    this.maxPayloadBytes = options.maxPayloadBytes
    this.schema = options.schema
    this.#database = database
    this.#leases = leases
    this.#now = clock === systemClock ? () => null : () => clock.now()
    this.#loads = new FewAtOnce(MOST_LOADS, { clock, ms: LOAD_PATIENCE_MS })
    this.#plainWrites = new PlainWrites(database)
    this.#ownerWrites = new OwnerWrites(database, this.#now)
    this.#levelSettlements = new LevelSettlements(database, this.#now)
    this.#shards = new ShardTable(leases, this.#now)
    this.#inbox = new PostgresInbox(database, this.#now)
    this.#claims = new PostgresClaims(database, this.#now, format.shardCount)
    this.#reading = new RowReading(database, clock, format.shardCount)
    this.#records = new RecordTables(database)
    this.#cluster = new ClusterTables(leases, this.#now)
    this.transactions = new PostgresTransactions(
      () => poolOf(driver, connection, options.maxConnections),
      options.maxConnections,
      {
        settleClaimed: async (client, settlement) => {
          checkStrategy(this, 'claim', 'settleClaimed')
          return (await this.#claims.settle([settlement], [], client))[0]!
        },
        settle: (client, fence, settlement) => this.#settle(fence, settlement, client),
      },
    )
    this.#wakes = new WakeChannel(database, () => new driver.Client(connection), format.shardCount)
  }

  /** Opens the store in a database, and makes it there when there is none. */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    const { url: connectionString, ...ofUrl } = takenApart(url)
    const whole = postgresStoreOptions(options, ofUrl)
    const driver = await loadDriver()
    const connection = {
      connectionString,
      application_name: 'carillon',
      connectionTimeoutMillis: whole.connectTimeoutMs,
      statement_timeout: whole.statementTimeoutMs,
      // The server undoes a statement in time; when not even that is heard, the connection is given up.
      query_timeout: whole.statementTimeoutMs + 5000,
      keepAlive: true,
    }
    const stuckMs = Math.min(whole.statementTimeoutMs, LONGEST_STUCK_MS)
    const [database, leases] = [whole.maxConnections, LEASE_CONNECTIONS].map(
      (most) => new Database(poolOf(driver, connection, most), whole.schema, stuckMs),
    ) as [Database, Database]
    try {
      const format = await migrate(database, whole)
      return new PostgresStore(database, leases, driver, connection, format, whole)
    } catch (error) {
      await database.stop()
      await leases.stop()
      throw error
    }
  }

  async now(): Promise<number> {
    const [row] = await this.#database.read('now', 'select S.now_ms($1) as now', [this.#now()])
    return numberOf(row!, 'now')
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  // ---- shards

  shards(): Promise<readonly ShardRow[]> {
    return this.#shards.all()
  }

  claim(claim: ShardClaim): Promise<ShardRow | undefined> {
    return this.#shards.change('claim', claim.shard, ({ row, now, lastRevision }) =>
      claimed(row, claim, now, lastRevision),
    )
  }

  async renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    const row = await this.#shards.change('renew', fence.shard, (standing) =>
      renewed(standing.row, fence, leaseMs, standing.now),
    )
    return row!
  }

  async refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    const row = await this.#shards.change('refence', fence.shard, (standing) =>
      refenced(standing.row, fence, nonce, leaseMs, standing.now),
    )
    return row!
  }

  async release(fence: Fence): Promise<void> {
    await this.#shards.change('release', fence.shard, ({ row }) => released(row, fence))
  }

  // ---- the owner

  load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    return this.#loads.run(() => this.#load(fence, request))
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

  async lower(fence: Fence, from: Place, to: Place): Promise<void> {
    await this.#shards.change('lower', fence.shard, ({ row }) => lowered(row, fence, from, to))
  }

  async write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    checkStrategy(this, fence === undefined ? 'claim' : 'owned', 'write')
    checkWrite(write, this.maxPayloadBytes)
    if (fence !== undefined && this.#taken.areNamesFree) {
      const answer = await this.#plainWrites.write(fence, write)
      if (answer !== undefined) return answer
    }
    if (fence === undefined) return await this.#writeClaimed(write)
    const answer = await this.#ownerWrites.write(fence, write)
    this.#taken.learn(answer.answers)
    return answer
  }

  async #writeClaimed(write: OwnerWrite): Promise<WriteAnswer> {
    const batch = new WriteBatch(write)
    const shards = int8Array(write.operations, (one) =>
      one.type === 'answer' ? null : shardOf(one, this.shardCount),
    )
    const values = [this.#now(), ...batch.parameters(shards)]
    const [row] = await this.#database.write('write', WRITE_CLAIMED, values)
    const revisions = batch.newRevisions(row!)
    const settledLevel = levelAt(0)
    const answers = batch.answers(row!, {
      revisionOf: (index) => revisions[index]!,
      settledLevelOf: () => settledLevel,
    })
    return { answers, readLevel: levelAt(0) }
  }

  async settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    const answer = isLevelOnly(settlement)
      ? await this.#levelSettlements.settle(fence, settlement)
      : undefined
    return answer ?? (await this.#settle(fence, settlement))
  }

  /** One shard after the other: whoever sets and settles needs the connections more. */
  sweep(fence: Fence): Promise<{ readonly removed: number; readonly more: boolean }> {
    const swept = this.#lastSweep.then(() => this.#sweep(fence))
    this.#lastSweep = swept.catch(() => undefined)
    return swept
  }

  async #sweep(fence: Fence): Promise<{ readonly removed: number; readonly more: boolean }> {
    const [row] = await this.#database.write(
      'sweep',
      `select removed, more::integer::bigint as more from S.sweep(${dollars(6)})`,
      [...fenceParameters(fence), SWEEP_ROWS],
    )
    return { removed: numberOf(row!, 'removed'), more: numberOf(row!, 'more') === 1 }
  }

  // ---- the inbox

  async append(
    requests: readonly Request[],
  ): Promise<readonly ('appended' | 'answered-before' | 'expired')[]> {
    this.#checkRequests(requests)
    return await this.#inbox.append(requests)
  }

  /**
   * Appends as a part of the caller's own transaction, by the caller's connection: the requests are there when
   * that is committed, and its owners are woken then; rolled back, nothing was asked.
   */
  async appendWith(
    transaction: unknown,
    requests: readonly Request[],
  ): Promise<readonly ('appended' | 'answered-before' | 'expired')[]> {
    this.#checkRequests(requests)
    const client = clientOf(transaction)
    const answers = await this.#inbox.appendWith(client, requests)
    await this.#wakes.wakeWith(client, [...new Set(requests.map((request) => request.shard))])
    return answers
  }

  requests(fence: Fence, limit: number): Promise<readonly Request[]> {
    return this.#inbox.requests(fence, fenceParameters(fence), limit)
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#inbox.answers(shard, ids)
  }

  // ---- claims

  async claimDue(claim: DueClaim): Promise<readonly ClaimedRow[]> {
    checkStrategy(this, 'claim', 'claimDue')
    return await this.#claims.claimDue(claim)
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    checkStrategy(this, 'claim', 'nextDue')
    return await this.#claims.nextDue(query)
  }

  async extend(receipts: readonly Receipt[], leaseMs: number): Promise<readonly boolean[]> {
    checkStrategy(this, 'claim', 'extend')
    return await this.#claims.extend(receipts, leaseMs)
  }

  async settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<readonly boolean[]> {
    checkStrategy(this, 'claim', 'settleClaimed')
    return await this.#claims.settle(settlements, history)
  }

  // ---- reading

  find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#reading.find(names)
  }

  list(query: ListQuery): Promise<Listed<TimerRow>> {
    return this.#reading.list(query)
  }

  histogram(query: HistogramQuery): Promise<readonly number[]> {
    return this.#reading.histogram(query)
  }

  counts(): Promise<Counts> {
    return this.#reading.counts()
  }

  countRows(): Promise<number> {
    return this.#reading.countRows()
  }

  tallies(): Promise<readonly Tally[]> {
    return this.#reading.tallies(this.strategy)
  }

  usage(namespace: string): Promise<Usage> {
    return this.#reading.usage(namespace)
  }

  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    return this.#records.deadLetters(query)
  }

  removeDead(ids: readonly string[]): Promise<readonly boolean[]> {
    return this.#records.removeDead(ids)
  }

  history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    return this.#records.history(query)
  }

  pruneHistory(beforeExclusive: number): Promise<number> {
    return this.#records.pruneHistory(beforeExclusive)
  }

  // ---- cluster

  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }> {
    return this.#cluster.heartbeat(member, ttlMs)
  }

  leave(id: string): Promise<void> {
    return this.#cluster.leave(id)
  }

  settings(prefix: string): Promise<readonly Setting[]> {
    return this.#cluster.settings(prefix)
  }

  putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined> {
    return this.#cluster.putSetting(name, value, ifVersion)
  }

  wake(shard: number): void {
    this.#wakes.wake(shard)
  }

  onWake(listener: (shard: number) => void): () => void {
    if (this.#stopping !== undefined) throw new StateError('stopped', 'the PostgreSQL store was stopped')
    return this.#wakes.onWake(listener)
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

  async #stop(): Promise<void> {
    await this.#wakes.stop()
    await this.transactions.stop()
    await this.#database.stop()
    await this.#leases.stop()
  }

  #checkRequests(requests: readonly Request[]): void {
    checkStrategy(this, 'owned', 'append')
    checkRequests(requests, this.maxPayloadBytes)
    for (const { shard } of requests) {
      if (!(Number.isInteger(shard) && shard >= 0 && shard < this.shardCount))
        throw unknownShard(shard, this.shardCount)
    }
  }
}

const WRITE_CLAIMED = `select ${sent(['new_revisions'])}, ${writeAnswerColumns} from S.write_claimed(${dollars(32)})`
const SETTLE = `select base, read_position, read_revision, ${sent(['dead_letters', 'followed'])}
  from S.settle(${dollars(44)})`
const LOAD = `select read_position, read_revision, next_position, bytes, ${sent(rowColumnNames)}
  from S.load(${dollars(10)})`

function fenceParameters({ shard, epoch, nonce, settledLevel }: Fence): number[] {
  return [shard, epoch, nonce, settledLevel.position, settledLevel.revision]
}

function poolOf(driver: Driver, connection: ConnectionOptions, max: number): PostgresPool {
  try {
    return new driver.Pool({ ...connection, max, idleTimeoutMillis: 30_000 })
  } catch (error) {
    throw new InvalidInputError('invalid-store-url', `cannot open PostgreSQL: ${String(error)}`, {
      cause: error,
    })
  }
}
