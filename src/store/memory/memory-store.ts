import { checkOptions, checkInteger, StateError } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { firstPlace, nameLimits, type Place, type TimerName, type TimerRow } from '../../timer/index.js'
import { checkMode, shardAt } from '../check/check-call.js'
import { checkRequests, checkWrite } from '../check/check-write.js'
import { hasNotes, historyOfWrites } from '../history-of-writes.js'
import { MAX_SHARDS } from '../shard-count.js'
import type {
  AppendAnswer,
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
  RequestedOperation,
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
  Swept,
} from '../store.js'
import { MemoryData } from './memory-data.js'
import type { MemoryShard } from './memory-shard.js'

/** The options of a memory store. */
export interface MemoryStoreOptions {
  readonly clock?: Clock
  readonly strategy?: StoreMode
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** Carries calls to the data. Default: directly. */
  readonly carriage?: Carriage
}

/** Carries a call to the data and its answer back. The call happens when the carriage runs `commit`. */
export interface Carriage {
  carry<Answer>(call: StoreCall, commit: () => Answer): Promise<Answer>
  /** Carries a wake-up to a listener. */
  wake(deliver: () => void): void
}

/** A call of a store, before it is carried out. */
export interface StoreCall {
  readonly name: keyof Store
  /** The shard that the call is about, if it is about one. */
  readonly shard?: number
}

// An `async` function only here: each one costs a caller with single timers more than the work itself.
const directCarriage: Carriage = {
  carry: async (_call, commit) => commit(),
  wake: (deliver) => queueMicrotask(deliver),
}

/**
 * The reference store: simple and correct, in the memory of this process. Every call commits at one instant. A
 * `Carriage` can delay a call, lose its answer, or fail it before or after that instant; the simulator plants its faults
 * that way. `connect` makes another client of the same data.
 *
 * Proven by test/store/memory.test.ts.
 */
export class MemoryStore implements Store {
  readonly name = 'memory'
  readonly capabilities: StoreCapabilities = Object.freeze({
    shared: true,
    durable: false,
    claim: true,
  })
  readonly #data: MemoryData
  readonly #carriage: Carriage
  readonly #listeners = new Set<(shard: number) => void>()
  readonly #mailListeners = new Set<() => void>()
  #isStopped = false

  constructor(options: MemoryStoreOptions = {}, data: MemoryData = dataFor(options)) {
    this.#data = data
    this.#carriage = options.carriage ?? directCarriage
  }

  /** Another client of the same data, with a carriage of its own. */
  connect(carriage: Carriage = directCarriage): MemoryStore {
    return new MemoryStore({ carriage }, this.#data)
  }

  get shardCount(): number {
    return this.#data.shardCount
  }

  get mode(): StoreMode {
    return this.#data.strategy
  }

  get clock(): Clock {
    return this.#data.clock
  }

  get maxPayloadBytes(): number {
    return this.#data.maxPayloadBytes
  }

  now(): Promise<number> {
    return this.#call({ name: 'now' }, (now) => now)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const listener of this.#listeners) this.#data.wakeListeners.delete(listener)
    this.#listeners.clear()
    for (const stopListening of this.#mailListeners) stopListening()
  }

  // ---- shards

  shards(): Promise<readonly ShardRow[]> {
    return this.#call({ name: 'shards' }, () => this.#data.shards.map((shard) => shard.row))
  }

  acquire(claim: AcquireRequest): Promise<ShardRow | undefined> {
    return this.#onShard('acquire', claim.shard, (shard, now) => shard.acquire(claim, now))
  }

  renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    return this.#onShard('renew', fence.shard, (shard, now) => shard.renew(fence, leaseMs, now))
  }

  refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    return this.#onShard('refence', fence.shard, (shard, now) => shard.refence(fence, nonce, leaseMs, now))
  }

  release(fence: Fence): Promise<void> {
    return this.#onShard('release', fence.shard, (shard) => shard.release(fence))
  }

  // ---- the owner

  load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    return this.#onShard('load', fence.shard, (shard) => shard.load(fence, request))
  }

  lower(fence: Fence, from: Place, to: Place): Promise<void> {
    return this.#onShard('lower', fence.shard, (shard) => shard.lower(fence, from, to))
  }

  write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    try {
      checkMode(this, fence === undefined ? 'claim' : 'owned', 'write')
      checkWrite(write, this.maxPayloadBytes)
    } catch (error) {
      return Promise.reject(error)
    }
    if (fence !== undefined) {
      return this.#onShard('write', fence.shard, (shard, now) => {
        const answer = shard.write(fence, write, now)
        this.#addHistory(write, answer)
        return answer
      })
    }
    return this.#call({ name: 'write' }, (now) => {
      const answers = write.operations.map((operation): OperationAnswer => {
        if (operation.type === 'answer') return { outcome: 'answered-before' }
        const shard = this.#data.shardOfName(operation)
        return shard.write(undefined, { operations: [operation] }, now).answers[0]!
      })
      const answer = { answers, readLevel: firstPlace }
      this.#addHistory(write, answer)
      return answer
    })
  }

  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return this.#onShard('settle', fence.shard, (shard, now) => {
      const answer = shard.settle(fence, settlement, now)
      this.#data.addHistory(settlement.history)
      return answer
    })
  }

  sweep(fence: Fence, below?: Place): Promise<Swept> {
    return this.#onShard('sweep', fence.shard, (shard) => shard.sweep(fence, below))
  }

  // ---- the inbox

  async append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    checkMode(this, 'owned', 'append')
    checkRequests(requests, this.maxPayloadBytes)
    return this.#call({ name: 'append' }, (now) =>
      requests.map((request) => this.#shard(request.shard).inbox.append(request, now)),
    )
  }

  requests(fence: Fence, limit: number): Promise<readonly InboxRequest[]> {
    return this.#onShard('requests', fence.shard, (shard) => {
      shard.checkFence(fence)
      return shard.inbox.oldest(limit)
    })
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#onShard('answers', shard, ({ inbox }, now) => ids.map((id) => inbox.outcome(id, now)))
  }

  areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
    return this.#call({ name: 'areFree' }, () =>
      requests.map((request) => this.#shard(request.shard).isFree(request)),
    )
  }

  areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    return this.#call({ name: 'areWaiting' }, () =>
      names.map((name) => this.#data.shardOfName(name).inbox.countOf(name) > 0),
    )
  }

  busyInboxes(): Promise<readonly number[]> {
    return this.#call({ name: 'busyInboxes' }, () =>
      this.#data.shards.filter(({ inbox }) => !inbox.isEmpty).map(({ row }) => row.shard),
    )
  }

  // ---- claims

  async claimDue(claim: DueClaim): Promise<readonly ClaimedRow[]> {
    checkMode(this, 'claim', 'claimDue')
    return this.#call({ name: 'claimDue' }, (now) => this.#data.claimDue(claim, now))
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    checkMode(this, 'claim', 'nextDue')
    return this.#call({ name: 'nextDue' }, (now) => this.#data.nextDue(query, now))
  }

  async extend(tokens: readonly ClaimToken[], leaseMs: number): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'extend')
    return this.#call({ name: 'extend' }, (now) =>
      tokens.map((token) => this.#data.extend(token, leaseMs, now)),
    )
  }

  async longLeases(query: LongLeaseQuery): Promise<readonly LongLease[]> {
    checkMode(this, 'claim', 'longLeases')
    return this.#call({ name: 'longLeases' }, (now) => this.#data.longLeases(query, now))
  }

  async cutShort(leases: readonly LongLease[]): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'cutShort')
    return this.#call({ name: 'cutShort' }, (now) => leases.map((lease) => this.#data.cutShort(lease, now)))
  }

  async settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'settleClaimed')
    return this.#call({ name: 'settleClaimed' }, (now) => {
      this.#data.addHistory(history)
      return settlements.map((settlement) => this.#data.settleClaimed(settlement, now))
    })
  }

  // ---- reading

  find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#call({ name: 'find' }, () => names.map((name) => this.#data.shardOfName(name).find(name)))
  }

  findSettled(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#call({ name: 'findSettled' }, () =>
      names.map((name) => this.#data.shardOfName(name).findSettled(name)),
    )
  }

  list(query: ListQuery): Promise<ListedRows> {
    return this.#list(query)
  }

  histogram(query: HistogramQuery): Promise<readonly number[]> {
    return this.#call({ name: 'histogram' }, () => this.#data.histogram(query))
  }

  countKinds(query: KindCountQuery): Promise<readonly KindCount[]> {
    return this.#call({ name: 'countKinds' }, () => this.#data.countKinds(query))
  }

  counts(): Promise<Counts> {
    return this.#call({ name: 'counts' }, () => ({ ...this.#data.counts }))
  }

  countRows(): Promise<number> {
    return this.#call({ name: 'countRows' }, () => this.#data.countRows())
  }

  tallies(): Promise<readonly Tally[]> {
    return this.#call({ name: 'tallies' }, () => [
      { shard: undefined, counts: { ...this.#data.counts }, rows: this.#data.countRows() },
    ])
  }

  usage(namespace: string): Promise<Usage> {
    return this.#call({ name: 'usage' }, () => this.#data.usage(namespace))
  }

  countDead(): Promise<number> {
    return this.#call({ name: 'countDead' }, () => this.#data.deadCount)
  }

  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    return this.#call({ name: 'deadLetters' }, () => this.#data.deadLetters(query))
  }

  removeDead(namespace: string, ids: readonly string[]): Promise<readonly boolean[]> {
    return this.#call({ name: 'removeDead' }, () => ids.map((id) => this.#data.removeDead(id, namespace)))
  }

  history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    return this.#call({ name: 'history' }, () => this.#data.history(query))
  }

  pruneHistory(beforeExclusive: number): Promise<number> {
    return this.#call({ name: 'pruneHistory' }, () => this.#data.pruneHistory(beforeExclusive))
  }

  // ---- cluster

  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }> {
    return this.#call({ name: 'heartbeat' }, (now) => this.#data.members.heartbeat(member, ttlMs, now))
  }

  removeMember(id: string): Promise<void> {
    return this.#call({ name: 'removeMember' }, () => {
      this.#data.members.remove(id)
      this.#data.mailboxes.remove(id)
    })
  }

  settings(prefix: string): Promise<readonly Setting[]> {
    return this.#call({ name: 'settings' }, () =>
      [...this.#data.settings.values()].filter(({ name }) => name.startsWith(prefix)),
    )
  }

  putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined> {
    return this.#call({ name: 'putSetting' }, () => this.#data.putSetting(name, value, ifVersion))
  }

  wake(shard: number): void {
    for (const listener of this.#data.wakeListeners) listener(shard)
  }

  onWake(listener: (shard: number) => void): () => void {
    // Each listener is woken through the carriage of its own client.
    const wakeListener = (shard: number): void =>
      this.#carriage.wake(() => {
        if (this.#data.wakeListeners.has(wakeListener)) listener(shard)
      })
    this.#data.wakeListeners.add(wakeListener)
    this.#listeners.add(wakeListener)
    return () => {
      this.#data.wakeListeners.delete(wakeListener)
      this.#listeners.delete(wakeListener)
    }
  }

  // ---- mail

  post(messages: readonly MailMessage[]): Promise<void> {
    return this.#call({ name: 'post' }, (now) => this.#data.mailboxes.post(messages, now))
  }

  takeMail(member: string, limit: number): Promise<readonly string[]> {
    return this.#call({ name: 'takeMail' }, (now) => this.#data.mailboxes.take(member, limit, now))
  }

  onMail(listener: (member: string) => void): () => void {
    const remove = this.#data.mailboxes.listen(listener, (call) => this.#carriage.wake(call))
    this.#mailListeners.add(remove)
    return () => {
      remove()
      this.#mailListeners.delete(remove)
    }
  }

  async #list(query: ListQuery): Promise<ListedRows> {
    const { clock, turns } = this.#data
    const { signal, limit, budgetMs = Infinity } = query
    const until = clock.monotonic() + budgetMs
    const items: TimerRow[] = []
    for (let { cursor } = query; ;) {
      const page = { ...query, cursor, limit: limit - items.length }
      // Not aborted before the first step: a call reaches its carriage before it returns.
      const step = await this.#call({ name: 'list' }, () => this.#data.listStep(page, until))
      signal?.throwIfAborted()
      for (const row of step.items) items.push(row)
      if (!step.isTurnOver) {
        return { items, cursor: step.cursor, isComplete: step.isComplete, looked: step.looked }
      }
      cursor = step.cursor
      await turns.next()
    }
  }

  #onShard<Answer>(
    name: keyof Store,
    number: number,
    commit: (shard: MemoryShard, now: number) => Answer,
  ): Promise<Answer> {
    return this.#call({ name, shard: number }, (now) => commit(this.#shard(number), now))
  }

  #addHistory(write: OwnerWrite, answer: WriteAnswer): void {
    if (write.history !== undefined) this.#data.addHistory(write.history)
    if (hasNotes(write)) this.#data.addHistory(historyOfWrites(write.operations, answer.answers))
  }

  #call<Answer>(call: StoreCall, commit: (now: number) => Answer): Promise<Answer> {
    if (!this.#isStopped) return this.#carriage.carry(call, () => commit(this.#data.clock.now()))
    return Promise.reject(new StateError('stopped', `the memory store was stopped before ${call.name}`))
  }

  #shard(shard: number): MemoryShard {
    return shardAt(this.#data.shards, shard)
  }
}

function dataFor(options: MemoryStoreOptions): MemoryData {
  checkOptions('MemoryStore', options, ['clock', 'strategy', 'shardCount', 'maxPayloadBytes', 'carriage'])
  const { clock = systemClock, strategy = 'owned', shardCount = 1 } = options
  const { maxPayloadBytes = nameLimits.payloadBytes } = options
  checkInteger('shardCount', shardCount, 1, MAX_SHARDS)
  return new MemoryData(clock, strategy, shardCount, maxPayloadBytes)
}
