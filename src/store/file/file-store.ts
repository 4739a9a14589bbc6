import { randomInt } from 'node:crypto'
import { StateError, StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import { type Place, shardOf, type TimerName, type TimerRow } from '../../timer/index.js'
import { shardAt } from '../check-call.js'
import { checkRequests, checkWrite } from '../check-write.js'
import { noted } from '../noted.js'
import type {
  ClaimedRow,
  Counts,
  DeadLetter,
  DeadQuery,
  Fence,
  HistogramQuery,
  HistoryEntry,
  HistoryQuery,
  Listed,
  ListQuery,
  Loaded,
  LoadRequest,
  Member,
  OperationAnswer,
  OwnerWrite,
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
import type { Batch } from './batch.js'
import { Committer } from './committer.js'
import { DeadLetterTable } from './dead-letter-table.js'
import { Environment } from './environment.js'
import { type FileStoreOptions, fileStoreOptions } from './file-store-options.js'
import { restoreInboxes } from './file-inbox.js'
import { FileShard } from './file-shard.js'
import { takeFormat } from './format.js'
import { HistoryTable } from './history-table.js'
import { IndexBuilder } from './index-builder.js'
import { MemberTable } from '../member-table.js'
import { OwnerRecord } from './owner-record.js'
import { Rewriter } from './rewriter.js'
import { listed, listPlaceOf, RowLister } from './row-lister.js'
import { RowReader } from './row-reader.js'
import { RowTable } from './row-table.js'
import { firstBucket } from './segment.js'
import { SettingsTable } from './settings-table.js'
import { Sweeper } from './sweeper.js'
import { TimeBudget } from './time-budget.js'

/**
 * The embedded store: one folder, one process, nothing to install. What it acknowledges is on the disk; each call
 * is one step that a crash leaves whole or undone. Timers lie packed in chunks by time and are found by name
 * through an index in memory, which is filled while near timers are already being loaded.
 */
export class FileStore implements Store {
  readonly name = 'file'
  readonly capabilities: StoreCapabilities = Object.freeze({
    shared: false,
    durable: true,
    claim: false,
  })
  readonly strategy: Strategy = 'owned'
  readonly shardCount: number
  readonly maxPayloadBytes: number
  readonly #clock: Clock
  readonly #environment: Environment
  readonly #owner: OwnerRecord
  readonly #table: RowTable
  readonly #shards: readonly FileShard[]
  readonly #readers: readonly RowReader[]
  readonly #index: IndexBuilder
  readonly #committer: Committer
  readonly #rewriter: Rewriter
  readonly #sweeper: Sweeper
  readonly #lister: RowLister
  readonly #dead: DeadLetterTable
  readonly #history: HistoryTable
  readonly #settings = new SettingsTable()
  readonly #members = new MemberTable()
  readonly #listeners = new Set<(shard: number) => void>()
  #stopping: Promise<void> | undefined

  private constructor(
    environment: Environment,
    owner: OwnerRecord,
    shardCount: number,
    options: ReturnType<typeof fileStoreOptions>,
  ) {
    this.#clock = options.clock
    this.maxPayloadBytes = options.maxPayloadBytes
    this.shardCount = shardCount
    this.#environment = environment
    this.#owner = owner
    this.#table = new RowTable(environment, shardCount, randomInt(2 ** 32), options.tuning)
    const settledLevel = (shard: number): Place => this.#shards[shard]!.row.settledLevel
    this.#index = new IndexBuilder(environment, this.#table, settledLevel)
    this.#readers = this.#table.buckets.map(
      (_, shard) => new RowReader(this.#table, shard, this.#index.index),
    )
    this.#table.listeners.push(...this.#readers)
    this.#shards = this.#readers.map((reader, shard) => new FileShard(shard, this.#table, reader))
    this.#rewriter = new Rewriter(this.#table)
    this.#sweeper = new Sweeper(this.#table, this.#rewriter)
    this.#lister = new RowLister(this.#table, settledLevel, this.#index.index)
    this.#dead = new DeadLetterTable(environment)
    this.#history = new HistoryTable(environment)
    this.#committer = new Committer(
      (batch) => environment.commit(batch),
      () => this.#forgetPlans(),
    )
  }

  /** Opens a folder, or makes it a store. Resolves as soon as near timers can be loaded. */
  static async open(folder: string, options: FileStoreOptions = {}): Promise<FileStore> {
    const whole = fileStoreOptions(options)
    if (whole.strategy !== 'owned') {
      throw new StoreError(
        'wrong-strategy',
        'a file store is for the strategy owned: it has one process only',
      )
    }
    const environment = Environment.open(folder, whole.fileSystem)
    try {
      const { owner, format } = environment.exclusively(() => ({
        format: takeFormat(environment, whole.shardCount),
        owner: OwnerRecord.take(environment),
      }))
      const store = new FileStore(environment, owner, format.shardCount, whole)
      store.#restore()
      void store.#index.run(whole.onProgress)
      return store
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  get folder(): string {
    return this.#environment.folder
  }

  /** Resolves when every name can be found; calls by name wait for it by themselves. */
  get indexed(): Promise<void> {
    return this.#index.done
  }

  now(): Promise<number> {
    return this.#run(() => this.#clock.now())
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  // ---- shards

  shards(): Promise<readonly ShardRow[]> {
    return this.#run(() => this.#shards.map((shard) => shard.row))
  }

  claim(claim: ShardClaim): Promise<ShardRow | undefined> {
    return this.#run((batch) => this.#shard(claim.shard).claim(batch, claim, this.#clock.now()))
  }

  renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    return this.#run((batch) => this.#shard(fence.shard).renew(batch, fence, leaseMs, this.#clock.now()))
  }

  refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    return this.#run((batch) =>
      this.#shard(fence.shard).refence(batch, fence, nonce, leaseMs, this.#clock.now()),
    )
  }

  release(fence: Fence): Promise<void> {
    return this.#run((batch) => this.#shard(fence.shard).release(batch, fence))
  }

  // ---- the owner

  async load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    while (await this.#splitSome(fence.shard, request.from.position, request.untilExclusive));
    return this.#run((batch) => this.#shard(fence.shard).load(batch, fence, request))
  }

  lower(fence: Fence, from: Place, to: Place): Promise<void> {
    return this.#run((batch) => this.#shard(fence.shard).lower(batch, fence, from, to))
  }

  async write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    if (fence === undefined) throw this.#wrongStrategy('a write without a fence')
    checkWrite(write, this.maxPayloadBytes)
    if (!this.#index.isDone) await this.#index.done
    return this.#run((batch) => {
      const exhume = (id: string): boolean => this.#dead.remove(batch, id)
      const answer = this.#shard(fence.shard).write(batch, fence, write, this.#clock.now(), exhume)
      if (write.history !== undefined) this.#history.add(batch, write.history)
      // Answers are made when they are looked at: only for those who leave notes.
      if (write.operations.some((operation) => operation.type !== 'answer' && operation.note !== undefined))
        this.#history.add(batch, noted(write.operations, answer.answers))
      return answer
    })
  }

  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return this.#run((batch) => {
      const shard = this.#shard(fence.shard)
      this.#indexRows(fence.shard, settlement)
      const answer = shard.settle(batch, fence, settlement, this.#clock.now(), (letter) =>
        this.#dead.add(batch, letter),
      )
      this.#history.add(batch, settlement.history)
      return answer
    })
  }

  async sweep(fence: Fence): Promise<{ readonly removed: number; readonly more: boolean }> {
    if (!this.#index.isDone) await this.#index.done
    return this.#run((batch) => {
      const shard = this.#shard(fence.shard)
      shard.checkFence(fence)
      const { settledLevel } = shard.row
      return this.#sweeper.sweep(batch, fence.shard, settledLevel, this.#clock.now(), () =>
        this.#resetReaders(),
      )
    })
  }

  // ---- the inbox

  async append(
    requests: readonly Request[],
  ): Promise<readonly ('appended' | 'answered-before' | 'expired')[]> {
    checkRequests(requests, this.maxPayloadBytes)
    return this.#run((batch) => {
      const inboxes = requests.map((request) => this.#shard(request.shard).inbox)
      const now = this.#clock.now()
      return requests.map((request, i) => inboxes[i]!.append(batch, request, now))
    })
  }

  requests(fence: Fence, limit: number): Promise<readonly Request[]> {
    return this.#run(() => {
      const shard = this.#shard(fence.shard)
      shard.checkFence(fence)
      return shard.inbox.oldest(limit)
    })
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#run(() => {
      const { inbox } = this.#shard(shard)
      const now = this.#clock.now()
      return ids.map((id) => inbox.outcome(id, now))
    })
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

  async settleClaimed(): Promise<readonly boolean[]> {
    throw this.#wrongStrategy('settleClaimed')
  }

  // ---- reading

  async find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    if (!this.#index.isDone) await this.#index.done
    return this.#run(() => {
      const table = this.#table
      table.look()
      return names.map((name) => {
        const shard = this.#shards[shardOf(name, this.shardCount)]!
        return table.find(name, shard.row.settledLevel) ? table.row() : undefined
      })
    })
  }

  async list(query: ListQuery): Promise<Listed<TimerRow>> {
    const budget = new TimeBudget(this.#clock, query.budgetMs)
    const items: TimerRow[] = []
    let place = listPlaceOf(query.cursor)
    for (;;) {
      const next = await this.#run((batch) => {
        this.#sealed(batch)
        return this.#lister.listSome(query, place, items, budget)
      })
      if (next === undefined || next.isOver === true) return listed(items, next)
      place = next
    }
  }

  async histogram(query: HistogramQuery): Promise<readonly number[]> {
    const slices = new Array<number>(
      Math.ceil((query.untilExclusive - query.fromInclusive) / query.sliceMs),
    ).fill(0)
    await this.#eachBucket((bucket) => this.#lister.addTo(slices, bucket, query))
    return slices
  }

  counts(): Promise<Counts> {
    return this.#run(() => {
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
    let count = 0
    await this.#eachBucket((bucket) => (count += this.#lister.countIn(bucket)))
    return count
  }

  async tallies(): Promise<readonly Tally[]> {
    const rows = new Array<number>(this.shardCount).fill(0)
    await this.#eachBucket((bucket) => (rows[bucket.shard]! += this.#lister.countIn(bucket)))
    return await this.#run(() =>
      this.#shards.map(({ counts }, shard) => ({ shard, counts: { ...counts }, rows: rows[shard]! })),
    )
  }

  async usage(namespace: string): Promise<Usage> {
    const usage = { timers: 0, bytes: 0 }
    await this.#eachBucket((bucket) => this.#lister.addUsage(usage, bucket, namespace))
    return usage
  }

  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    return this.#run(() => this.#dead.list(query, new TimeBudget(this.#clock, query.budgetMs)))
  }

  removeDead(ids: readonly string[]): Promise<readonly boolean[]> {
    return this.#run((batch) => ids.map((id) => this.#dead.remove(batch, id)))
  }

  history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    return this.#run(() => this.#history.list(query, new TimeBudget(this.#clock, query.budgetMs)))
  }

  pruneHistory(beforeExclusive: number): Promise<number> {
    return this.#run((batch) => this.#history.prune(batch, beforeExclusive))
  }

  // ---- cluster

  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }> {
    return this.#run(() => this.#members.heartbeat(member, ttlMs, this.#clock.now()))
  }

  leave(id: string): Promise<void> {
    return this.#run(() => this.#members.leave(id))
  }

  settings(prefix: string): Promise<readonly Setting[]> {
    return this.#run(() => this.#settings.list(prefix))
  }

  putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined> {
    return this.#run((batch) => this.#settings.put(batch, name, value, ifVersion))
  }

  wake(shard: number): void {
    for (const listener of this.#listeners) {
      queueMicrotask(() => {
        if (this.#listeners.has(listener)) listener(shard)
      })
    }
  }

  onWake(listener: (shard: number) => void): () => void {
    // One of its own for each: the same function may listen twice.
    const heard = (shard: number): void => listener(shard)
    this.#listeners.add(heard)
    return () => void this.#listeners.delete(heard)
  }

  // ---- the folder

  /** Copies the store, as it stands at one instant, into an empty or new folder; the store goes on meanwhile. */
  async backup(folder: string): Promise<void> {
    await this.#run(() => undefined)
    await this.#environment.backup(folder)
  }

  /** Gives the room that is free inside the file back to the disk. Calls wait until it is done. */
  async compact(): Promise<void> {
    await this.#committer.alone(() => this.#environment.compact())
  }

  #restore(): void {
    const environment = this.#environment
    for (const shard of this.#shards) shard.restore(environment, this.#owner.isAfterCrash)
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
    this.#listeners.clear()
    this.#index.stop()
    await this.#committer.stop()
    this.#owner.release()
    await this.#environment.close()
  }

  #run<Answer>(apply: (batch: Batch) => Answer): Promise<Answer> {
    if (this.#stopping !== undefined)
      return Promise.reject(new StateError('stopped', `the file store ${this.folder} was stopped`))
    return this.#committer.run(apply)
  }

  /** Rows of chunks that are still being built can only be read in order once they are closed. */
  #sealed(batch: Batch): void {
    this.#table.join(batch)
    this.#table.seal()
  }

  async #eachBucket(look: (bucket: ReturnType<typeof firstBucket> & object) => void): Promise<void> {
    const buckets = await this.#run((batch) => {
      this.#sealed(batch)
      return this.#table.buckets.flatMap((table) => table.all())
    })
    for (let at = 0; at < buckets.length;) {
      await this.#run((batch) => {
        this.#sealed(batch)
        for (let rows = 0; at < buckets.length && rows < 20_000; at++) {
          rows += buckets[at]!.rows + 100
          look(buckets[at]!)
        }
      })
    }
  }

  /** A follow-up asks for its row by name: before the index is complete, where the row lies must be read first. */
  #indexRows(shard: number, { done, dead, followUps }: Settlement): void {
    if (this.#index.isDone) return
    for (const { position } of done) this.#index.indexAt(shard, position)
    for (const { row } of dead) this.#index.indexAt(shard, row.position)
    for (const { row } of followUps) this.#index.indexAt(shard, row.position)
  }

  /** Splits a heavy bucket that a load is about to read; true while there is more to do. */
  async #splitSome(shard: number, from: number, untilExclusive: number): Promise<boolean> {
    const buckets = this.#table.buckets[shard]
    if (buckets === undefined) return false
    const first = firstBucket(buckets, from)
    if (first === undefined || first.start >= untilExclusive) return false
    for (const bucket of buckets.overlapping(Math.max(first.start, from), Math.max(first.start, from) + 1)) {
      if (this.#rewriter.split(bucket) === undefined) continue
      return await this.#run((batch) => {
        this.#index.index(bucket)
        const split = this.#rewriter.split(bucket)
        if (split === undefined) return false
        this.#rewriter.step(batch, split, this.#shard(shard).row.settledLevel)
        this.#readers[shard]!.reset()
        return true
      })
    }
    return false
  }

  #forgetPlans(): void {
    this.#resetReaders()
    this.#sweeper.reset()
  }

  #resetReaders(): void {
    for (const reader of this.#readers) reader.reset()
  }

  #shard(shard: number): FileShard {
    return shardAt(this.#shards, shard)
  }

  #wrongStrategy(call: string): StoreError {
    return new StoreError('wrong-strategy', `${call} is for the strategy claim; a file store is owned`)
  }
}
