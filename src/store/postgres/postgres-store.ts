import { StateError } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import type { Place, TimerName, TimerRow } from '../../timer/index.js'
import { checkMode, unknownShard } from '../check/check-call.js'
import { checkRequests, checkWrite } from '../check/check-write.js'
import { acquired, lowered, refenced, released, renewed } from '../shard-row.js'
import type {
  ClaimedRow,
  ClaimSettlement,
  Counts,
  DeadLetter,
  DeadQuery,
  DueClaim,
  Fence,
  HistogramQuery,
  KindCount,
  KindCountQuery,
  HistoryEntry,
  HistoryQuery,
  Listed,
  ListedRows,
  ListQuery,
  Loaded,
  LoadRequest,
  LongLease,
  LongLeaseQuery,
  MailMessage,
  Member,
  NextDueQuery,
  OperationAnswer,
  OwnerWrite,
  ClaimToken,
  InboxRequest,
  Setting,
  SettleAnswer,
  Settlement,
  AcquireRequest,
  ShardRow,
  Store,
  StoreCapabilities,
  StoreMode,
  Tally,
  Usage,
  WriteAnswer,
  AppendAnswer,
  RequestedOperation,
  Swept,
  TransactionConnection,
} from '../store.js'
import { numberOf } from './codec/answer-row.js'
import { LEASE_CONNECTIONS, MAX_TCP_USER_TIMEOUT_MS } from './defaults.js'
import { Database } from './net/database.js'
import {
  checkConnection,
  type ConnectionOptions,
  connectionOptions,
  type Driver,
  loadDriver,
} from './net/driver.js'
import { checkDurability } from './net/durability.js'
import { openSessionPool } from './net/session-pool.js'
import { WakeChannel } from './net/wake-channel.js'
import { ClusterTables, MICROSECONDS } from './parts/cluster-tables.js'
import { MailTable } from './parts/mail-table.js'
import { RecordTables } from './parts/record-tables.js'
import { RowInspection } from './parts/row-inspection.js'
import { RowLister } from './parts/row-lister.js'
import { RowReader } from './parts/row-reader.js'
import { ShardTable } from './parts/shard-table.js'
import { PostgresClaims } from './postgres-claims.js'
import { PostgresInbox } from './postgres-inbox.js'
import { PostgresOwnerCalls } from './postgres-owner-calls.js'
import {
  type CompletePostgresStoreOptions,
  parseStoreUrl,
  type PostgresStoreOptions,
  postgresStoreOptions,
} from './postgres-store-options.js'
import { PostgresTransactions } from './postgres-transactions.js'
import { migrate, type StoreFormat } from './schema/migrations.js'

/**
 * Timers in a PostgreSQL database that any number of processes share. Every call is one statement, so it happens
 * completely or not at all. An acknowledged call is committed, and survives whatever the server's commits survive.
 *
 * This class checks arguments and passes each call on to the part that carries it out.
 *
 * Proven by test/store/postgres/contract.test.ts, test/store/postgres/faults.test.ts and
 * test/store/postgres/engine.test.ts.
 */
export class PostgresStore implements Store {
  readonly name = 'postgres'
  readonly capabilities: StoreCapabilities = Object.freeze({ shared: true, durable: true, claim: true })
  readonly mode: StoreMode
  readonly clock: Clock | undefined
  readonly shardCount: number
  readonly maxPayloadBytes: number
  readonly schema: string
  readonly transactions: PostgresTransactions
  readonly #database: Database
  readonly #leases: Database
  readonly #now: () => number | null
  readonly #shards: ShardTable
  readonly #ownerCalls: PostgresOwnerCalls
  readonly #inbox: PostgresInbox
  readonly #claims: PostgresClaims
  readonly #reading: RowReader
  readonly #lister: RowLister
  readonly #records: RecordTables
  readonly inspection: RowInspection
  readonly #cluster: ClusterTables
  readonly #mail: MailTable
  readonly #wakes: WakeChannel
  #stopping: Promise<void> | undefined

  private constructor(
    database: Database,
    leases: Database,
    driver: Driver,
    connection: ConnectionOptions,
    format: StoreFormat,
    options: CompletePostgresStoreOptions,
  ) {
    const { clock } = options
    this.mode = format.strategy
    this.clock = clock === systemClock ? undefined : clock
    this.shardCount = format.shardCount
    this.maxPayloadBytes = options.maxPayloadBytes
    this.schema = options.schema
    this.#database = database
    this.#leases = leases
    this.#now = clock === systemClock ? () => null : () => clock.now()
    this.#shards = new ShardTable(leases, this.#now)
    this.#ownerCalls = new PostgresOwnerCalls(database, clock, this.#now)
    this.#inbox = new PostgresInbox(database, this.#now, format.shardCount)
    this.#claims = new PostgresClaims(database, this.#now, format.shardCount)
    this.#reading = new RowReader(database, format.shardCount)
    this.#lister = new RowLister(database, clock, format.shardCount)
    this.#records = new RecordTables(database)
    this.inspection = new RowInspection(database, () => this.countRows())
    this.#cluster = new ClusterTables(leases, this.#now)
    this.transactions = new PostgresTransactions(
      () => openSessionPool(driver, connection, options.maxConnections, { allow: options.allow }),
      options.maxConnections,
      {
        settleClaimed: async (client, settlement) => {
          checkMode(this, 'claim', 'settleClaimed')
          return (await this.#claims.settle([settlement], [], client))[0]!
        },
        settle: (client, fence, settlement) => this.#ownerCalls.settleWith(client, fence, settlement),
      },
    )
    this.#wakes = new WakeChannel(database, () => new driver.Client(connection), format.shardCount)
    this.#mail = new MailTable(database, this.#now)
  }

  /** Opens the store in a database. Creates its schema first if there is none. */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    const { url: connectionString, ...ofUrl } = parseStoreUrl(url)
    const complete = postgresStoreOptions(options, ofUrl)
    const driver = await loadDriver()
    const connection = connectionOptions(connectionString, complete)
    const { allow, maxConnections, schema } = complete
    const tcpUserTimeoutMs = Math.min(complete.statementTimeoutMs, MAX_TCP_USER_TIMEOUT_MS)
    const [database, leases] = [maxConnections, LEASE_CONNECTIONS].map(
      (count) =>
        new Database(openSessionPool(driver, connection, count, { allow, tcpUserTimeoutMs }), schema),
    ) as [Database, Database]
    try {
      await checkDurability(database, allow)
      const format = await migrate(database, complete)
      return new PostgresStore(database, leases, driver, connection, format, complete)
    } catch (error) {
      await database.stop()
      await leases.stop()
      throw error
    }
  }

  async now(): Promise<number> {
    const [row] = await this.#database.read('now', `select ${MICROSECONDS} as exact`)
    return this.#now() ?? numberOf(row!, 'exact') / 1000
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  // ---- shards

  shards(): Promise<readonly ShardRow[]> {
    return this.#shards.all()
  }

  acquire(claim: AcquireRequest): Promise<ShardRow | undefined> {
    return this.#shards.change('acquire', claim.shard, ({ row, now, lastRevision }) =>
      acquired(row, claim, now, lastRevision),
    )
  }

  async renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    const row = await this.#shards.change('renew', fence.shard, ({ row: current, now }) =>
      renewed(current, fence, leaseMs, now),
    )
    return row!
  }

  async refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    const row = await this.#shards.change('refence', fence.shard, ({ row: current, now }) =>
      refenced(current, fence, nonce, leaseMs, now),
    )
    return row!
  }

  async release(fence: Fence): Promise<void> {
    await this.#shards.change('release', fence.shard, ({ row }) => released(row, fence))
  }

  // ---- an owner's calls

  load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    return this.#ownerCalls.load(fence, request)
  }

  async lower(fence: Fence, from: Place, to: Place): Promise<void> {
    await this.#shards.change('lower', fence.shard, ({ row }) => lowered(row, fence, from, to))
  }

  async write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    checkMode(this, fence === undefined ? 'claim' : 'owned', 'write')
    checkWrite(write, this.maxPayloadBytes)
    return fence === undefined ? await this.#claims.write(write) : await this.#ownerCalls.write(fence, write)
  }

  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return this.#ownerCalls.settle(fence, settlement)
  }

  sweep(fence: Fence, below?: Place): Promise<Swept> {
    return this.#ownerCalls.sweep(fence, below)
  }

  // ---- the inbox

  async append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    this.#checkRequests(requests)
    return await this.#inbox.append(requests)
  }

  /**
   * Appends in the caller's own transaction, on the caller's connection. The commit makes the requests visible and
   * wakes the owners of their shards. A rollback undoes both.
   */
  async appendWith(
    transaction: TransactionConnection,
    requests: readonly InboxRequest[],
  ): Promise<readonly AppendAnswer[]> {
    this.#checkRequests(requests)
    checkConnection(transaction)
    return await this.#inbox.appendWith(transaction, requests, this.#wakes.channel)
  }

  requests(fence: Fence, limit: number): Promise<readonly InboxRequest[]> {
    return this.#inbox.requests(fence, limit)
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#inbox.answers(shard, ids)
  }

  areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
    return this.#inbox.areFree(requests)
  }

  areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    return this.#inbox.areWaiting(names)
  }

  busyInboxes(): Promise<readonly number[]> {
    return this.#inbox.busyInboxes()
  }

  // ---- row claims

  async claimDue(claim: DueClaim): Promise<readonly ClaimedRow[]> {
    checkMode(this, 'claim', 'claimDue')
    return await this.#claims.claimDue(claim)
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    checkMode(this, 'claim', 'nextDue')
    return await this.#claims.nextDue(query)
  }

  async extend(tokens: readonly ClaimToken[], leaseMs: number): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'extend')
    return await this.#claims.extend(tokens, leaseMs)
  }

  async longLeases(query: LongLeaseQuery): Promise<readonly LongLease[]> {
    checkMode(this, 'claim', 'longLeases')
    return await this.#claims.longLeases(query)
  }

  async cutShort(leases: readonly LongLease[]): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'cutShort')
    return await this.#claims.cutShort(leases)
  }

  async settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'settleClaimed')
    return await this.#claims.settle(settlements, history)
  }

  // ---- reading

  find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#reading.find(names)
  }

  findSettled(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#reading.findSettled(names)
  }

  list(query: ListQuery): Promise<ListedRows> {
    return this.#lister.list(query)
  }

  histogram(query: HistogramQuery): Promise<readonly number[]> {
    return this.#reading.histogram(query)
  }

  countKinds(query: KindCountQuery): Promise<readonly KindCount[]> {
    return this.#reading.countKinds(query)
  }

  counts(): Promise<Counts> {
    return this.#reading.counts()
  }

  countRows(): Promise<number> {
    return this.#reading.countRows()
  }

  tallies(): Promise<readonly Tally[]> {
    return this.#reading.tallies(this.mode)
  }

  usage(namespace: string): Promise<Usage> {
    return this.#reading.usage(namespace)
  }

  countDead(): Promise<number> {
    return this.#records.countDead()
  }

  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    return this.#records.deadLetters(query)
  }

  removeDead(namespace: string, ids: readonly string[]): Promise<readonly boolean[]> {
    return this.#records.removeDead(namespace, ids)
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

  removeMember(id: string): Promise<void> {
    return this.#cluster.removeMember(id)
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

  // ---- mail

  post(messages: readonly MailMessage[]): Promise<void> {
    return this.#mail.post(messages)
  }

  takeMail(member: string, limit: number): Promise<readonly string[]> {
    return this.#mail.take(member, limit)
  }

  onMail(listener: (member: string) => void): () => void {
    if (this.#stopping !== undefined) throw new StateError('stopped', 'the PostgreSQL store was stopped')
    return this.#wakes.onMail(listener)
  }

  async #stop(): Promise<void> {
    await this.#wakes.stop()
    await this.transactions.stop()
    await this.#database.stop()
    await this.#leases.stop()
  }

  #checkRequests(requests: readonly InboxRequest[]): void {
    checkMode(this, 'owned', 'append')
    checkRequests(requests, this.maxPayloadBytes)
    for (const { shard } of requests) {
      if (!(Number.isInteger(shard) && shard >= 0 && shard < this.shardCount))
        throw unknownShard(shard, this.shardCount)
    }
  }
}
