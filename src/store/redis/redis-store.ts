import { LimitError, StateError } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { firstPlace, type Place, shardOf, type TimerName, type TimerRow } from '../../timer/index.js'
import { checkStrategy, shardAt } from '../check-call.js'
import { checkRequests, checkWrite } from '../check-write.js'
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
  Operation,
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
import { inGroups, Notes } from './by-shard.js'
import { checkServer, type RedisFormat, takeFormat } from './format.js'
import { RedisNodes } from './nodes.js'
import { RedisClaims } from './redis-claims.js'
import { RedisRecords } from './redis-records.js'
import { RedisShard } from './redis-shard.js'
import { type RedisStoreOptions, redisStoreOptions, type RedisTuning } from './redis-store-options.js'
import { parseRedisUrl } from './redis-url.js'
import { type ShardScripts, shardScripts } from './scripts.js'
import { SharedState } from './shared-state.js'
import { WakeChannel } from './wake-channel.js'
import { payloadBytesOf } from './write-queue.js'

// A server takes 512 MB in one argument, and a script holds them more than once.
const MOST_WRITE_BYTES = 64 << 20

/**
 * Timers on a Redis 7 server or a Redis Cluster, shared by as many processes as like. Every call on a shard is one
 * script on the server that has it. What an acknowledged write survives is in docs/stores.md.
 */
export class RedisStore implements Store {
  readonly name = 'redis'
  readonly capabilities: StoreCapabilities = Object.freeze({ shared: true, durable: true, claim: true })
  readonly shardCount: number
  readonly strategy: Strategy
  readonly maxPayloadBytes: number
  readonly #nodes: RedisNodes
  readonly #scripts: ShardScripts
  readonly #shards: readonly RedisShard[]
  readonly #claims: readonly RedisClaims[]
  readonly #records: RedisRecords
  readonly #shared: SharedState
  readonly #channel: WakeChannel
  readonly #listeners = new Set<(shard: number) => void>()
  #underWay = 0
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
    this.strategy = strategy
    this.maxPayloadBytes = maxPayloadBytes
    this.#nodes = nodes
    this.#scripts = shardScripts(format, tuning)
    // The clock of a store that several share is the server's; another one is a test's.
    const now = clock === systemClock ? () => '' : () => String(clock.now())
    this.#shards = Array.from(
      { length: shardCount },
      (_, shard) => new RedisShard(shard, nodes, this.#scripts, now),
    )
    this.#claims = this.#shards.map((shard) => new RedisClaims(shard, this.#scripts))
    this.#records = new RedisRecords(this.#shards, clock)
    this.#shared = new SharedState(nodes, now)
    this.#channel = new WakeChannel(
      nodes,
      (shard) => this.#heard(shard),
      // Something may have been said meanwhile: everybody looks.
      () => this.#shards.forEach(({ shard }) => this.#heard(shard)),
    )
  }

  /** Opens the store that a URL names, or makes it. */
  static async open(url: string, options: RedisStoreOptions = {}): Promise<RedisStore> {
    const target = parseRedisUrl(url)
    const whole = redisStoreOptions(options, target.shardCount)
    const { clock, strategy, shardCount, maxPayloadBytes, tuning, loadDriver } = whole
    const nodes = await RedisNodes.open(await loadDriver(), target)
    try {
      for (const info of await nodes.infos()) checkServer(info, target)
      const format = await takeFormat(nodes, { shardCount, strategy, bucketMs: tuning.bucketMs })
      const store = new RedisStore(nodes, format, clock, maxPayloadBytes, tuning)
      await store.#channel.start()
      return store
    } catch (error) {
      nodes.end()
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

  claim(claim: ShardClaim): Promise<ShardRow | undefined> {
    return this.#run(() => this.#shard(claim.shard).claim(claim))
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
    checkStrategy(this, fence === undefined ? 'claim' : 'owned', 'write')
    checkWrite(write, this.maxPayloadBytes)
    checkWeight(write)
    if (fence !== undefined) return await this.#run(() => this.#shard(fence.shard).write(fence, write))
    return await this.#run(() => this.#writeToMany(write))
  }

  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return this.#run(() => this.#shard(fence.shard).settle(fence, settlement))
  }

  sweep(fence: Fence): Promise<{ readonly removed: number; readonly more: boolean }> {
    return this.#run(() => this.#shard(fence.shard).sweep(fence))
  }

  // ---- the inbox

  async append(
    requests: readonly Request[],
  ): Promise<readonly ('appended' | 'answered-before' | 'expired')[]> {
    checkStrategy(this, 'owned', 'append')
    checkRequests(requests, this.maxPayloadBytes)
    return await this.#run(() =>
      inGroups(
        requests,
        (request) => this.#shard(request.shard).shard,
        (shard, some) => this.#shards[shard]!.append(some),
      ),
    )
  }

  requests(fence: Fence, limit: number): Promise<readonly Request[]> {
    return this.#run(() => this.#shard(fence.shard).requests(fence, limit))
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#run(() => this.#shard(shard).answers(ids))
  }

  // ---- claims

  async claimDue(claim: DueClaim): Promise<readonly ClaimedRow[]> {
    checkStrategy(this, 'claim', 'claimDue')
    return await this.#run(() => this.#claimDue(claim))
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    checkStrategy(this, 'claim', 'nextDue')
    return await this.#run(async () => {
      const found = await Promise.all(this.#claims.map((claims) => claims.nextDue(query)))
      const next = Math.min(...found.map((position) => position ?? Infinity))
      return next === Infinity ? undefined : next
    })
  }

  async extend(receipts: readonly Receipt[], leaseMs: number): Promise<readonly boolean[]> {
    checkStrategy(this, 'claim', 'extend')
    return await this.#run(() =>
      inGroups(
        receipts,
        (receipt) => shardOf(receipt, this.shardCount),
        (shard, some) => this.#claims[shard]!.extend(some, leaseMs),
      ),
    )
  }

  async settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<readonly boolean[]> {
    checkStrategy(this, 'claim', 'settleClaimed')
    return await this.#run(async () => {
      const notes = new Notes(history, this.shardCount)
      const answers = await inGroups(
        settlements,
        ({ receipt }) => shardOf(receipt, this.shardCount),
        (shard, some) => this.#claims[shard]!.settle(some, notes.take(shard)),
      )
      await Promise.all(notes.rest().map(([shard, entries]) => this.#claims[shard]!.settle([], entries)))
      return answers
    })
  }

  // ---- reading

  find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return this.#run(() =>
      inGroups(
        names,
        (name) => shardOf(name, this.shardCount),
        (shard, some) => this.#shards[shard]!.find(some),
      ),
    )
  }

  list(query: ListQuery): Promise<Listed<TimerRow>> {
    return this.#run(() => this.#records.list(query))
  }

  histogram(query: HistogramQuery): Promise<readonly number[]> {
    const { fromInclusive, untilExclusive, sliceMs, namespace = '', kind = '' } = query
    const slices = new Array<number>(Math.ceil((untilExclusive - fromInclusive) / sliceMs)).fill(0)
    const words = [String(fromInclusive), String(untilExclusive), String(sliceMs), namespace, kind]
    return this.#run(async () => {
      await Promise.all(this.#shards.map((shard) => shard.addToHistogram(slices, words)))
      return slices
    })
  }

  counts(): Promise<Counts> {
    return this.#run(async () => {
      const names = ['created', 'settled', 'cancelled', 'replaced', 'dead'] as const
      const replies = await Promise.all(
        this.#shards.map(({ key }) =>
          this.#nodes.call(key, ['HMGET', key, ...names.map((name) => `count:${name}`)]),
        ),
      )
      const sums = names.map((_, index) =>
        replies.reduce((sum: number, reply) => sum + Number((reply as (Buffer | null)[])[index] ?? 0), 0),
      )
      const [created, settled, cancelled, replaced, dead] = sums as [number, number, number, number, number]
      return { created, settled, cancelled, replaced, dead }
    })
  }

  countRows(): Promise<number> {
    return this.#run(async () => {
      const counts = await Promise.all(this.#shards.map((shard) => shard.countRows()))
      return counts.reduce((sum, count) => sum + count, 0)
    })
  }

  tallies(): Promise<readonly Tally[]> {
    return this.#run(() => Promise.all(this.#shards.map((shard) => shard.tally())))
  }

  usage(namespace: string): Promise<Usage> {
    return this.#run(async () => {
      const usages = await Promise.all(this.#shards.map((shard) => shard.usage(namespace)))
      return usages.reduce(
        (sum, { timers, bytes }) => ({ timers: sum.timers + timers, bytes: sum.bytes + bytes }),
        { timers: 0, bytes: 0 },
      )
    })
  }

  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    return this.#run(() => this.#records.deadLetters(query))
  }

  removeDead(ids: readonly string[]): Promise<readonly boolean[]> {
    return this.#run(() => this.#records.removeDead(ids, this.#scripts.removeDead))
  }

  history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    return this.#run(() => this.#records.history(query))
  }

  pruneHistory(beforeExclusive: number): Promise<number> {
    return this.#run(async () => {
      const counts = await Promise.all(this.#shards.map((shard) => shard.pruneHistory(beforeExclusive)))
      return counts.reduce((sum, count) => sum + count, 0)
    })
  }

  // ---- cluster

  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }> {
    return this.#run(() => this.#shared.heartbeat(member, ttlMs))
  }

  leave(id: string): Promise<void> {
    return this.#run(() => this.#shared.leave(id))
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
    // One of its own for each: the same function may listen twice.
    const heard = (shard: number): void => listener(shard)
    this.#listeners.add(heard)
    return () => void this.#listeners.delete(heard)
  }

  #heard(shard: number): void {
    for (const listener of this.#listeners) listener(shard)
  }

  async #stop(): Promise<void> {
    this.#listeners.clear()
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#channel.end()
    this.#nodes.end()
  }

  async #run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.#stopping !== undefined) throw new StateError('stopped', 'the Redis store was stopped')
    this.#underWay++
    try {
      return await call()
    } finally {
      if (--this.#underWay === 0) this.#onIdle?.()
    }
  }

  /** A write of a store of claims: one step for each shard it concerns. */
  async #writeToMany({ operations, history = [] }: OwnerWrite): Promise<WriteAnswer> {
    const notes = new Notes(history, this.shardCount)
    const shardOfOperation = (operation: Operation): number =>
      operation.type === 'answer' ? 0 : shardOf(operation, this.shardCount)
    const answers = await inGroups(operations, shardOfOperation, async (shard, some) => {
      const write = { operations: some, history: notes.take(shard) }
      return (await this.#shards[shard]!.write(undefined, write)).answers
    })
    await Promise.all(
      notes
        .rest()
        .map(([shard, entries]) =>
          this.#shards[shard]!.write(undefined, { operations: [], history: entries }),
        ),
    )
    return { answers, readLevel: firstPlace }
  }

  /** The earliest of all shards: asks each what is due, then claims from each its share of the earliest. */
  async #claimDue(claim: DueClaim): Promise<ClaimedRow[]> {
    if (claim.limit <= 0) return []
    if (this.shardCount === 1) return await this.#claims[0]!.claimDue(claim, claim.limit)
    for (;;) {
      const claimed = await this.#claimEarliest(claim)
      // Nothing was due; or all that was seen was taken by others meanwhile, and there may be more.
      if (claimed === undefined || claimed.length > 0) return claimed ?? []
    }
  }

  /** Undefined when nothing is due. */
  async #claimEarliest(claim: DueClaim): Promise<ClaimedRow[] | undefined> {
    const due = await Promise.all(this.#claims.map((claims) => claims.due(claim)))
    if (due.every((places) => places.length === 0)) return undefined
    const earliest = due
      .flatMap((places, shard) => places.map((place) => ({ place: place.slice(0, 14), shard })))
      .toSorted((a, b) => (a.place < b.place ? -1 : a.place > b.place ? 1 : a.shard - b.shard))
      .slice(0, claim.limit)
    const shares = new Map<number, number>()
    for (const { shard } of earliest) shares.set(shard, (shares.get(shard) ?? 0) + 1)
    const claimed = await Promise.all(
      [...shares].map(([shard, share]) => this.#claims[shard]!.claimDue(claim, share)),
    )
    return claimed.flat().toSorted((a, b) => a.row.position - b.row.position)
  }

  #shard(shard: number): RedisShard {
    return shardAt(this.#shards, shard)
  }
}

/** Refuses a write that the server would refuse, and the connection with it. */
function checkWeight(write: OwnerWrite): void {
  const bytes = payloadBytesOf(write)
  if (bytes <= MOST_WRITE_BYTES) return
  throw new LimitError(
    'payload-too-large',
    `the payloads of one write weigh ${bytes} bytes; a Redis store takes ${MOST_WRITE_BYTES} in one`,
  )
}
