import { randomInt } from 'node:crypto'
import { StateError, StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import {
  type Place,
  shardOf,
  type TimerName,
  type TimerRow,
  lastPlace,
  earlierOf,
} from '../../timer/index.js'
import { shardAt } from '../check/check-call.js'
import { checkRequests, checkWrite } from '../check/check-write.js'
import { hasNotes, historyOfWrites } from '../history-of-writes.js'
import type {
  ClaimedRow,
  Counts,
  DeadLetter,
  DeadQuery,
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
  MailMessage,
  Member,
  OperationAnswer,
  OwnerWrite,
  InboxRequest,
  Setting,
  SettleAnswer,
  Settlement,
  AcquireRequest,
  ShardRow,
  Store,
  StoreCapabilities,
  StoreInspection,
  StoreMode,
  InspectOptions,
  Inspection,
  Tally,
  Usage,
  WriteAnswer,
  AppendAnswer,
  RequestedOperation,
  Swept,
} from '../store.js'
import { Mailboxes } from '../mailboxes.js'
import { MemberTable } from '../member-table.js'
import { Rewriter } from './compact/rewriter.js'
import { Splitter } from './compact/splitter.js'
import { Sweeper } from './compact/sweeper.js'
import { restoreInboxes } from './file-inbox.js'
import { FileMaintenance } from './file-maintenance.js'
import { FileShard } from './file-shard.js'
import { type FileStoreOptions, fileStoreOptions } from './file-store-options.js'
import { readOrCreateFormat } from './format.js'
import type { Batch } from './lmdb/batch.js'
import { Committer } from './lmdb/committer.js'
import { Environment } from './lmdb/environment.js'
import { OwnerRecord } from './lmdb/owner-record.js'
import { RowLister } from './read/row-lister.js'
import { RowReader } from './read/row-reader.js'
import { StoreQueries } from './read/store-queries.js'
import { TimeBudget } from './read/time-budget.js'
import type { Bucket } from './rows/bucket.js'
import { IndexBuilder } from './rows/index-builder.js'
import { RowTable } from './rows/row-table.js'
import { DeadLetterTable } from './tables/dead-letter-table.js'
import { HistoryTable } from './tables/history-table.js'
import { SettingsTable } from './tables/settings-table.js'
import { WakeListeners } from './wake-listeners.js'

/**
 * The embedded store: one folder, one process, nothing to install. A call that is answered is on the disk. After a
 * crash each call is there whole or not at all. Timers are packed into chunks by time. A name is found through an
 * index in memory, which is built at open while near timers are already being loaded.
 *
 * Proven by test/store/file/contract.test.ts, test/store/chaos.test.ts (kill -9) and test/store/power/power.test.ts
 * (power losses).
 */
export class FileStore implements Store {
  readonly name = 'file'
  readonly capabilities: StoreCapabilities = Object.freeze({
    shared: false,
    durable: true,
    claim: false,
  })
  readonly mode: StoreMode = 'owned'
  readonly shardCount: number
  readonly maxPayloadBytes: number
  readonly clock: Clock
  readonly maintenance: FileMaintenance
  readonly inspection: StoreInspection = { inspect: (options) => this.#inspect(options) }
  readonly #environment: Environment
  readonly #owner: OwnerRecord
  readonly #table: RowTable
  readonly #shards: readonly FileShard[]
  readonly #readers: readonly RowReader[]
  readonly #index: IndexBuilder
  readonly #committer: Committer
  readonly #splitter: Splitter
  readonly #sweeper: Sweeper
  readonly #queries: StoreQueries
  readonly #dead: DeadLetterTable
  readonly #history: HistoryTable
  readonly #settings = new SettingsTable()
  readonly #members = new MemberTable()
  readonly #mailboxes = new Mailboxes()
  readonly #wakeListeners = new WakeListeners()
  #stopping: Promise<void> | undefined

  private constructor(
    environment: Environment,
    owner: OwnerRecord,
    shardCount: number,
    options: ReturnType<typeof fileStoreOptions>,
  ) {
    this.clock = options.clock
    this.maxPayloadBytes = options.maxPayloadBytes
    this.shardCount = shardCount
    this.#environment = environment
    this.#owner = owner
    this.#table = new RowTable(environment, shardCount, randomInt(2 ** 32), options.tuning)
    const settledLevel = (shard: number): Place => this.#shards[shard]!.row.settledLevel
    this.#index = new IndexBuilder(environment, this.#table, settledLevel)
    this.#readers = this.#table.buckets.map(
      (_, shard) => new RowReader(this.#table, shard, this.#index.ensureIndexed),
    )
    this.#table.listeners.push(...this.#readers)
    this.#shards = this.#readers.map((reader, shard) => new FileShard(shard, this.#table, reader))
    const rewriter = new Rewriter(this.#table)
    this.#splitter = new Splitter(this.#table, rewriter, this.#index)
    this.#sweeper = new Sweeper(this.#table, rewriter)
    const lister = new RowLister(this.#table, settledLevel, this.#index.ensureIndexed)
    this.#queries = new StoreQueries({
      read: (apply, prepare) => this.#read(apply, prepare),
      look: (step) => this.#committer.look(step),
      table: this.#table,
      lister,
      settledLevel,
      clock: this.clock,
    })
    this.#dead = new DeadLetterTable(environment)
    this.#history = new HistoryTable(environment)
    this.#committer = new Committer(
      (batch) => environment.commit(batch),
      () => this.#afterUndo(),
      () => environment.failure,
    )
    this.maintenance = new FileMaintenance(environment, this.#committer, owner)
  }

  /** Opens a folder, or creates a store in it. Resolves as soon as near timers can be loaded. */
  static async open(folder: string, options: FileStoreOptions = {}): Promise<FileStore> {
    const complete = fileStoreOptions(options)
    if (complete.strategy !== 'owned') {
      throw new StoreError(
        'wrong-strategy',
        'a file store has one process, so its strategy can only be owned',
      )
    }
    const environment = Environment.open(folder, complete.fileSystem)
    try {
      const { owner, format } = environment.transaction(() => ({
        format: readOrCreateFormat(environment, complete.shardCount),
        owner: OwnerRecord.take(environment),
      }))
      const store = new FileStore(environment, owner, format.shardCount, complete)
      store.#restore()
      void store.#index.run(complete.onProgress)
      return store
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  get folder(): string {
    return this.#environment.folder
  }

  /** Resolves when every name can be found. Calls by name wait for it themselves. */
  get indexed(): Promise<void> {
    return this.#index.done
  }

  now(): Promise<number> {
    return this.#read(() => this.clock.now())
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  // ---- shards

  shards(): Promise<readonly ShardRow[]> {
    return this.#read(() => this.#shards.map((shard) => shard.row))
  }

  acquire(request: AcquireRequest): Promise<ShardRow | undefined> {
    return this.#run((batch) => this.#shard(request.shard).acquire(batch, request, this.clock.now()))
  }

  renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    return this.#run((batch) => this.#shard(fence.shard).renew(batch, fence, leaseMs, this.clock.now()))
  }

  refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    return this.#run((batch) =>
      this.#shard(fence.shard).refence(batch, fence, nonce, leaseMs, this.clock.now()),
    )
  }

  release(fence: Fence): Promise<void> {
    return this.#run((batch) => this.#shard(fence.shard).release(batch, fence))
  }

  // ---- the owner

  async load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    for (;;) {
      const { from, untilExclusive } = request
      const heavy = this.#splitter.heavyBucket(fence.shard, from.position, untilExclusive)
      if (heavy === undefined || !(await this.#run((batch) => this.#split(batch, heavy)))) break
    }
    return this.#run((batch) => this.#shard(fence.shard).load(batch, fence, request))
  }

  lower(fence: Fence, from: Place, to: Place): Promise<void> {
    return this.#run((batch) => this.#shard(fence.shard).lower(batch, fence, from, to))
  }

  async write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    if (fence === undefined) throw this.#wrongStrategy('a write without a fence')
    checkWrite(write, this.maxPayloadBytes)
    this.#environment.checkRoomFor(write)
    if (!this.#index.isDone) await this.#index.done
    return this.#run((batch) => {
      const removeDead = (id: string): boolean => this.#dead.remove(batch, id)
      const answer = this.#shard(fence.shard).write(batch, fence, write, this.clock.now(), removeDead)
      if (write.history !== undefined) this.#history.add(batch, write.history)
      // Reading the answers builds them, so read them only if an operation has a note. Plain sets have none.
      if (hasNotes(write)) this.#history.add(batch, historyOfWrites(write.operations, answer.answers))
      return answer
    })
  }

  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return this.#run((batch) => {
      const shard = this.#shard(fence.shard)
      this.#indexRows(fence.shard, settlement)
      const answer = shard.settle(batch, fence, settlement, this.clock.now(), (letter) =>
        this.#dead.add(batch, letter),
      )
      this.#history.add(batch, settlement.history)
      return answer
    })
  }

  async sweep(fence: Fence, below: Place = lastPlace): Promise<Swept> {
    if (!this.#index.isDone) await this.#index.done
    return this.#run((batch) => {
      const shard = this.#shard(fence.shard)
      shard.checkFence(fence)
      const { settledLevel } = shard.row
      const levels = { below: earlierOf(below, settledLevel), settledLevel }
      return this.#sweeper.sweep(batch, fence.shard, levels, this.clock.now(), () => this.#resetReaders())
    })
  }

  // ---- the inbox

  async append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    checkRequests(requests, this.maxPayloadBytes)
    this.#environment.checkRoomFor({ operations: requests.map(({ operation }) => operation) })
    return this.#run((batch) => {
      const inboxes = requests.map((request) => this.#shard(request.shard).inbox)
      const now = this.clock.now()
      return requests.map((request, i) => inboxes[i]!.append(batch, request, now))
    })
  }

  requests(fence: Fence, limit: number): Promise<readonly InboxRequest[]> {
    return this.#read(() => {
      const shard = this.#shard(fence.shard)
      shard.checkFence(fence)
      return shard.inbox.oldest(limit)
    })
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#read(() => {
      const { inbox } = this.#shard(shard)
      const now = this.clock.now()
      return ids.map((id) => inbox.outcome(id, now))
    })
  }

  async areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
    if (!this.#index.isDone) await this.#index.done
    return this.#read(() => {
      this.#table.dropPeeked()
      return requests.map((request) => this.#shard(request.shard).isFree(request))
    })
  }

  areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    return this.#read(() =>
      names.map((name) => this.#shards[shardOf(name, this.shardCount)]!.inbox.countOf(name) > 0),
    )
  }

  busyInboxes(): Promise<readonly number[]> {
    return this.#read(() => this.#shards.filter(({ inbox }) => !inbox.isEmpty).map(({ row }) => row.shard))
  }

  // ---- claims

  async claimDue(): Promise<readonly ClaimedRow[]> {
    throw this.#wrongStrategy('claimDue')
  }

  async nextDue(): Promise<number | undefined> {
    throw this.#wrongStrategy('nextDue')
  }

  async extend(): Promise<readonly boolean[]> {
    throw this.#wrongStrategy('extend')
  }

  async longLeases(): Promise<readonly LongLease[]> {
    throw this.#wrongStrategy('longLeases')
  }

  async cutShort(): Promise<readonly boolean[]> {
    throw this.#wrongStrategy('cutShort')
  }

  async settleClaimed(): Promise<readonly boolean[]> {
    throw this.#wrongStrategy('settleClaimed')
  }

  // ---- reading

  async find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    if (!this.#index.isDone) await this.#index.done
    return this.#read(() => {
      const table = this.#table
      table.dropPeeked()
      return names.map((name) => {
        const shard = this.#shards[shardOf(name, this.shardCount)]!
        return table.find(name, shard.row.settledLevel) ? table.row() : undefined
      })
    })
  }

  async findSettled(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    if (!this.#index.isDone) await this.#index.done
    return this.#read(() => {
      const table = this.#table
      table.dropPeeked()
      return names.map((name) => {
        const shard = this.#shards[shardOf(name, this.shardCount)]!
        return table.findSettled(name, shard.row.settledLevel) ? table.row() : undefined
      })
    })
  }

  async list(query: ListQuery): Promise<ListedRows> {
    if (!this.#index.isDone) await this.#index.done
    return await this.#queries.list(query)
  }

  histogram(query: HistogramQuery): Promise<readonly number[]> {
    return this.#queries.histogram(query)
  }

  countKinds(query: KindCountQuery): Promise<readonly KindCount[]> {
    return this.#queries.countKinds(query)
  }

  counts(): Promise<Counts> {
    return this.#read(() => {
      const sum = { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
      for (const { counts } of this.#shards) {
        sum.created += counts.created
        sum.settled += counts.settled
        sum.cancelled += counts.cancelled
        sum.replaced += counts.replaced
        sum.dead += counts.dead
      }
      return sum
    })
  }

  async countRows(): Promise<number> {
    return (await this.#queries.rowsByShard()).reduce((sum, rows) => sum + rows, 0)
  }

  async tallies(): Promise<readonly Tally[]> {
    const rows = await this.#queries.rowsByShard()
    return await this.#read(() =>
      this.#shards.map(({ counts }, shard) => ({ shard, counts: { ...counts }, rows: rows[shard]! })),
    )
  }

  usage(namespace: string): Promise<Usage> {
    return this.#queries.usage(namespace)
  }

  countDead(): Promise<number> {
    return this.#read(() => this.#dead.count)
  }

  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    return this.#read(() => this.#dead.list(query, new TimeBudget(this.clock, query.budgetMs)))
  }

  removeDead(namespace: string, ids: readonly string[]): Promise<readonly boolean[]> {
    return this.#run((batch) => ids.map((id) => this.#dead.remove(batch, id, namespace)))
  }

  history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    return this.#read(() => this.#history.list(query, new TimeBudget(this.clock, query.budgetMs)))
  }

  pruneHistory(beforeExclusive: number): Promise<number> {
    return this.#run((batch) => this.#history.prune(batch, beforeExclusive))
  }

  // ---- cluster

  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }> {
    return this.#run(() => this.#members.heartbeat(member, ttlMs, this.clock.now()))
  }

  removeMember(id: string): Promise<void> {
    return this.#run(() => {
      this.#members.remove(id)
      this.#mailboxes.remove(id)
    })
  }

  settings(prefix: string): Promise<readonly Setting[]> {
    return this.#read(() => this.#settings.list(prefix))
  }

  putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined> {
    return this.#run((batch) => this.#settings.put(batch, name, value, ifVersion))
  }

  wake(shard: number): void {
    this.#wakeListeners.wake(shard)
  }

  onWake(listener: (shard: number) => void): () => void {
    return this.#wakeListeners.add(listener)
  }

  post(messages: readonly MailMessage[]): Promise<void> {
    return this.#run(() => this.#mailboxes.post(messages, this.clock.now()))
  }

  takeMail(member: string, limit: number): Promise<readonly string[]> {
    return this.#run(() => this.#mailboxes.take(member, limit, this.clock.now()))
  }

  onMail(listener: (member: string) => void): () => void {
    return this.#mailboxes.listen(listener)
  }

  // ---- the folder

  /** Copies the store as of one instant to an empty or new folder. Calls go on meanwhile. */
  async backup(folder: string): Promise<void> {
    this.#checkRunning()
    await this.maintenance.backup(folder)
  }

  /** Returns the free space inside the file to the disk. Calls wait only while the last changes are copied. */
  async compact(): Promise<void> {
    this.#checkRunning()
    await this.maintenance.compact()
  }

  async #inspect(options: InspectOptions): Promise<Inspection> {
    this.#checkRunning()
    return await this.maintenance.inspect(options, {
      totalRows: await this.countRows(),
      hasRow: async (row) => (await this.find([row]))[0]?.revision === row.revision,
    })
  }

  #restore(): void {
    const environment = this.#environment
    const now = this.clock.now()
    for (const shard of this.#shards) shard.restore(environment, this.#owner.isAfterCrash, now)
    restoreInboxes(
      environment,
      this.#shards.map((shard) => shard.inbox),
    )
    this.#settings.restore(environment)
    this.#dead.restore()
    this.#history.restore()
    this.#index.readKeys()
  }

  async #stop(): Promise<void> {
    this.#wakeListeners.clear()
    this.#mailboxes.removeListeners()
    this.#index.stop()
    await this.maintenance.idle()
    await this.#committer.stop()
    this.#owner.release()
    await this.#environment.close()
  }

  #run<Answer>(apply: (batch: Batch) => Answer): Promise<Answer> {
    if (this.#stopping !== undefined) return Promise.reject(this.#stopped())
    return this.#committer.run(apply)
  }

  /** Runs a call that changes nothing, except in `prepare`. */
  #read<Answer>(apply: () => Answer, prepare?: (batch: Batch) => void): Promise<Answer> {
    if (this.#stopping !== undefined) return Promise.reject(this.#stopped())
    return this.#committer.read(apply, prepare)
  }

  #checkRunning(): void {
    if (this.#stopping !== undefined) throw this.#stopped()
  }

  #stopped(): StateError {
    return new StateError('stopped', `the file store ${this.folder} was stopped`)
  }

  /** Settling finds rows by name. While the index is incomplete, the buckets of these rows must be indexed first. */
  #indexRows(shard: number, { done, dead, followUps }: Settlement): void {
    if (this.#index.isDone) return
    for (const { position } of done) this.#index.ensureIndexedAt(shard, position)
    for (const { row } of dead) this.#index.ensureIndexedAt(shard, row.position)
    for (const { row } of followUps) this.#index.ensureIndexedAt(shard, row.position)
  }

  #split(batch: Batch, bucket: Bucket): boolean {
    const isSplit = this.#splitter.split(batch, bucket, this.#sweeper.keptFrom(bucket.shard))
    if (isSplit) this.#readers[bucket.shard]!.reset()
    return isSplit
  }

  #afterUndo(): void {
    this.#resetReaders()
    this.#sweeper.reset()
    this.#queries.afterUndo()
  }

  #resetReaders(): void {
    for (const reader of this.#readers) reader.reset()
  }

  #shard(shard: number): FileShard {
    return shardAt(this.#shards, shard)
  }

  #wrongStrategy(call: string): StoreError {
    return new StoreError('wrong-strategy', `${call} needs the strategy claim, but a file store is owned`)
  }
}
