import { LimitError, StateError } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { firstPlace, type Place, shardOf, type TimerName, type TimerRow } from '../../timer/index.js'
import { checkMode, shardAt } from '../check/check-call.js'
import { checkRequests, checkWrite } from '../check/check-write.js'
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
  Operation,
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
} from '../store.js'
import { callByShard, HistoryByShard } from './batch/by-shard.js'
import { MAX_WRITE_BYTES, type RedisTuning } from './defaults.js'
import { checkServer, type RedisFormat, readOrCreateFormat } from './format.js'
import { RedisNodes } from './net/nodes.js'
import { RedisClaims } from './redis-claims.js'
import { RedisReading } from './redis-reading.js'
import { RowInspection } from './row-inspection.js'
import { RedisShard } from './redis-shard.js'
import { type RedisStoreOptions, redisStoreOptions } from './redis-store-options.js'
import { parseRedisUrl } from './net/redis-url.js'
import { shardScripts } from './scripts/shard-scripts.js'
import { SharedState } from './shared-state.js'
import { WakeChannel } from './net/wake-channel.js'
import { payloadBytesOf } from './batch/write-queue.js'

/**
 * Timers on a Redis 7 server or a Redis Cluster, shared by any number of processes. Every call on a shard is one
 * script on the server that holds the shard. docs/stores.md says what an acknowledged write survives.
 *
 * Proven by test/store/redis/contract.test.ts, test/store/redis/contract-cluster.test.ts and
 * test/store/redis/losses.test.ts.
 */
export class RedisStore implements Store {
  readonly name = 'redis'
  readonly capabilities: StoreCapabilities = Object.freeze({ shared: true, durable: true, claim: true })
  readonly shardCount: number
  readonly mode: StoreMode
  readonly clock: Clock | undefined
  readonly maxPayloadBytes: number
  readonly #nodes: RedisNodes
  readonly #shards: readonly RedisShard[]
  readonly #claims: RedisClaims
  readonly inspection: RowInspection
  readonly #reading: RedisReading
  readonly #shared: SharedState
  readonly #channel: WakeChannel
  readonly #listeners = new Set<(shard: number) => void>()
  readonly #mailListeners = new Set<(member: string) => void>()
  #callsInFlight = 0
  #onIdle: (() => void) | undefined
  #stopping: Promise<void> | undefined

  private constructor(
    nodes: RedisNodes,
    format: RedisFormat,
    clock: Clock,
    maxPayloadBytes: number,
    tuning: RedisTuning,
  ) {
    const { shardCount, strategy } = format
    this.shardCount = shardCount
    this.mode = strategy
    this.clock = clock === systemClock ? undefined : clock
    this.maxPayloadBytes = maxPayloadBytes
    this.#nodes = nodes
    const scripts = shardScripts(format, tuning)
    // A shared store uses the server's clock. Any other clock is a test's.
    const now = clock === systemClock ? () => '' : () => String(clock.now())
    this.#shards = Array.from(
      { length: shardCount },
      (_, shard) => new RedisShard(shard, nodes, scripts, now),
    )
    this.#claims = new RedisClaims(this.#shards, scripts)
    this.inspection = new RowInspection(this.#shards)
    this.#reading = new RedisReading(this.#shards, scripts, clock)
    this.#shared = new SharedState(nodes, now)
    this.#channel = new WakeChannel(
      nodes,
      {
        onWake: (shard) => this.#notify(shard),
        onMail: (member) => this.#notifyMail(member),
      },
      // Wake-ups may have been lost meanwhile, so every shard is woken.
      () => this.#shards.forEach(({ shard }) => this.#notify(shard)),
    )
  }

  /** Opens the store that a URL names. Creates it if it does not exist. */
  static async open(url: string, options: RedisStoreOptions = {}): Promise<RedisStore> {
    const target = parseRedisUrl(url)
    const { clock, strategy, shardCount, maxPayloadBytes, tuning, loadDriver } = redisStoreOptions(
      options,
      target.shardCount,
    )
    const nodes = await RedisNodes.open(await loadDriver(), target)
    try {
      for (const report of await nodes.reports()) checkServer(report, target)
      const format = await readOrCreateFormat(nodes, { shardCount, strategy, bucketMs: tuning.bucketMs })
      const store = new RedisStore(nodes, format, clock, maxPayloadBytes, tuning)
      await store.#channel.start()
      return store
    } catch (error) {
      nodes.close()
      throw error
    }
  }

  now(): Promise<number> {
    return this.#run(() => this.#shared.now())
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  // ---- shards

  shards(): Promise<readonly ShardRow[]> {
    return this.#run(() => Promise.all(this.#shards.map((shard) => shard.row())))
  }

  acquire(request: AcquireRequest): Promise<ShardRow | undefined> {
    return this.#run(() => this.#shard(request.shard).acquire(request))
  }

  renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    return this.#run(() => this.#shard(fence.shard).renew(fence, leaseMs))
  }

  refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    return this.#run(() => this.#shard(fence.shard).refence(fence, nonce, leaseMs))
  }

  release(fence: Fence): Promise<void> {
    return this.#run(() => this.#shard(fence.shard).release(fence))
  }

  // ---- the owner

  load(fence: Fence, request: LoadRequest): Promise<Loaded> {
    return this.#run(() => this.#shard(fence.shard).load(fence, request))
  }

  lower(fence: Fence, from: Place, to: Place): Promise<void> {
    return this.#run(() => this.#shard(fence.shard).lower(fence, from, to))
  }

  async write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    checkMode(this, fence === undefined ? 'claim' : 'owned', 'write')
    checkWrite(write, this.maxPayloadBytes)
    checkSize(write)
    if (fence !== undefined) return await this.#run(() => this.#shard(fence.shard).write(fence, write))
    return await this.#run(() => this.#writeByShard(write))
  }

  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return this.#run(() => this.#shard(fence.shard).settle(fence, settlement))
  }

  sweep(fence: Fence, below?: Place): Promise<Swept> {
    return this.#run(() => this.#shard(fence.shard).sweep(fence, below))
  }

  // ---- the inbox

  async append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    checkMode(this, 'owned', 'append')
    checkRequests(requests, this.maxPayloadBytes)
    return await this.#run(() =>
      callByShard(
        requests,
        (request) => this.#shard(request.shard).shard,
        (shard, some) => this.#shards[shard]!.append(some),
      ),
    )
  }

  requests(fence: Fence, limit: number): Promise<readonly InboxRequest[]> {
    return this.#run(() => this.#shard(fence.shard).requests(fence, limit))
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#run(() => this.#shard(shard).answers(ids))
  }

  areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
    return this.#run(() =>
      callByShard(
        requests,
        (request) => this.#shard(request.shard).shard,
        (shard, some) => this.#shards[shard]!.areFree(some),
      ),
    )
  }

  areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    return this.#run(() =>
      callByShard(
        names,
        (name) => shardOf(name, this.shardCount),
        (shard, some) => this.#shards[shard]!.areWaiting(some),
      ),
    )
  }

  busyInboxes(): Promise<readonly number[]> {
    return this.#run(async () => {
      const areBusy = await Promise.all(this.#shards.map((shard) => shard.isInboxBusy()))
      return this.#shards.filter((_, index) => areBusy[index]).map(({ shard }) => shard)
    })
  }

  // ---- claims

  async claimDue(claim: DueClaim): Promise<readonly ClaimedRow[]> {
    checkMode(this, 'claim', 'claimDue')
    return await this.#run(() => this.#claims.claimDue(claim))
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    checkMode(this, 'claim', 'nextDue')
    return await this.#run(() => this.#claims.nextDue(query))
  }

  async extend(tokens: readonly ClaimToken[], leaseMs: number): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'extend')
    return await this.#run(() => this.#claims.extend(tokens, leaseMs))
  }

  async longLeases(query: LongLeaseQuery): Promise<readonly LongLease[]> {
    checkMode(this, 'claim', 'longLeases')
    return await this.#run(() => this.#claims.longLeases(query))
  }

  async cutShort(leases: readonly LongLease[]): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'cutShort')
    return await this.#run(() => this.#claims.cutShort(leases))
  }

  async settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<readonly boolean[]> {
    checkMode(this, 'claim', 'settleClaimed')
    return await this.#run(() => this.#claims.settleClaimed(settlements, history))
  }

  // ---- reading

  find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#run(() => this.#reading.find(names))
  }

  findSettled(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#run(() => this.#reading.findSettled(names))
  }

  list(query: ListQuery): Promise<ListedRows> {
    return this.#run(() => this.#reading.list(query))
  }

  histogram(query: HistogramQuery): Promise<readonly number[]> {
    return this.#run(() => this.#reading.histogram(query))
  }

  countKinds(query: KindCountQuery): Promise<readonly KindCount[]> {
    return this.#run(() => this.#reading.countKinds(query))
  }

  counts(): Promise<Counts> {
    return this.#run(() => this.#reading.counts())
  }

  countRows(): Promise<number> {
    return this.#run(() => this.#reading.countRows())
  }

  tallies(): Promise<readonly Tally[]> {
    return this.#run(() => this.#reading.tallies())
  }

  usage(namespace: string): Promise<Usage> {
    return this.#run(() => this.#reading.usage(namespace))
  }

  countDead(): Promise<number> {
    return this.#run(() => this.#reading.countDead())
  }

  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    return this.#run(() => this.#reading.deadLetters(query))
  }

  removeDead(namespace: string, ids: readonly string[]): Promise<readonly boolean[]> {
    return this.#run(() => this.#reading.removeDead(namespace, ids))
  }

  history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    return this.#run(() => this.#reading.history(query))
  }

  pruneHistory(beforeExclusive: number): Promise<number> {
    return this.#run(() => this.#reading.pruneHistory(beforeExclusive))
  }

  // ---- cluster

  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }> {
    return this.#run(() => this.#shared.heartbeat(member, ttlMs))
  }

  removeMember(id: string): Promise<void> {
    return this.#run(() => this.#shared.removeMember(id))
  }

  settings(prefix: string): Promise<readonly Setting[]> {
    return this.#run(() => this.#shared.settings(prefix))
  }

  putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined> {
    return this.#run(() => this.#shared.putSetting(name, value, ifVersion))
  }

  wake(shard: number): void {
    if (this.#stopping === undefined) this.#channel.wake(shard)
  }

  onWake(listener: (shard: number) => void): () => void {
    // A closure per call: the same function may be registered twice.
    const registered = (shard: number): void => listener(shard)
    this.#listeners.add(registered)
    return () => void this.#listeners.delete(registered)
  }

  // ---- mail

  post(messages: readonly MailMessage[]): Promise<void> {
    return this.#run(() => this.#shared.post(messages))
  }

  takeMail(member: string, limit: number): Promise<readonly string[]> {
    return this.#run(() => this.#shared.takeMail(member, limit))
  }

  onMail(listener: (member: string) => void): () => void {
    const registered = (member: string): void => listener(member)
    this.#mailListeners.add(registered)
    return () => void this.#mailListeners.delete(registered)
  }

  #notifyMail(member: string): void {
    for (const listener of this.#mailListeners) listener(member)
  }

  #notify(shard: number): void {
    for (const listener of this.#listeners) listener(shard)
  }

  async #stop(): Promise<void> {
    this.#listeners.clear()
    this.#mailListeners.clear()
    if (this.#callsInFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#channel.stop()
    this.#nodes.close()
  }

  async #run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.#stopping !== undefined) throw new StateError('stopped', 'the Redis store was stopped')
    this.#callsInFlight++
    try {
      return await call()
    } finally {
      if (--this.#callsInFlight === 0) this.#onIdle?.()
    }
  }

  /** A write to a store of mode `claim`: one script for each shard that it concerns. */
  async #writeByShard({ operations, history = [] }: OwnerWrite): Promise<WriteAnswer> {
    const entries = new HistoryByShard(history, this.shardCount)
    const shardOfOperation = (operation: Operation): number =>
      operation.type === 'answer' ? 0 : shardOf(operation, this.shardCount)
    const answers = await callByShard(operations, shardOfOperation, async (shard, some) => {
      const write = { operations: some, history: entries.take(shard) }
      return (await this.#shards[shard]!.write(undefined, write)).answers
    })
    await Promise.all(
      entries
        .remaining()
        .map(([shard, some]) => this.#shards[shard]!.write(undefined, { operations: [], history: some })),
    )
    return { answers, readLevel: firstPlace }
  }

  #shard(shard: number): RedisShard {
    return shardAt(this.#shards, shard)
  }
}

/** Throws for a write so large that the server would close the connection. */
function checkSize(write: OwnerWrite): void {
  const bytes = payloadBytesOf(write)
  if (bytes <= MAX_WRITE_BYTES) return
  throw new LimitError(
    'payload-too-large',
    `the payloads of one write have ${bytes} bytes; a Redis store accepts at most ${MAX_WRITE_BYTES}`,
  )
}
