import { CarillonError, LimitError, StateError, StoreError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type {
  PlainSets,
  PlainShare,
  RequestedOperation,
  ShardClaim,
  ShardRow,
  Store,
} from '../store/index.js'
import { type Deliver, shardOf, type TimerRow } from '../timer/index.js'
import { type Answer, failed, type SubmitAnswer } from './answer.js'
import { Asker } from './asker.js'
import { checkStrategy } from './check-strategy.js'
import type { OnEvent } from './event.js'
import { type Flow, freeFlow } from './flow.js'
import type { HandOver } from './hand-over.js'
import { KeepAlive } from './keep-alive.js'
import { Membership } from './membership.js'
import { newNonce, type Reading } from './ownership.js'
import { Owners } from './owners.js'
import type { PeerAsk, PeerMember, Peers } from './peers.js'
import { Waits } from './waits.js'
import { Throttles } from './throttles.js'
import { EVEN_SHARES } from './protocol.js'
import { type EngineSettings, engineSettings } from './settings.js'
import { type RowProgress, ShardEngine } from './shard-engine.js'
import { diced, sharedOut } from './shares.js'
import { EngineCounts } from './engine-counts.js'
import type { EngineStats } from './engine-stats.js'
import { Unsettled } from './unsettled.js'
import type { TimerEngine } from './timer-engine.js'

export interface EngineOptions {
  readonly store: Store
  readonly clock: Clock
  readonly deliver: Deliver
  /** From 0 to 1, as `Math.random`, which is the default; a simulation gives its own. */
  readonly random?: () => number
  /** What this instance is called among the members. Random unless given. */
  readonly memberId?: string
  readonly settings?: Partial<EngineSettings>
  /** How much may be under way; parts that are left out are free. */
  readonly flow?: Partial<Flow>
  /** Claim every shard at `open`, whoever else is a member: for a store that nobody shares. */
  readonly holdsAll?: boolean
  readonly onEvent?: OnEvent
  /** A way to the other instances beside the store; without it operations on their shards go by their inboxes. */
  readonly peers?: Peers | undefined
}

/**
 * One instance of the engine. It claims its share of the shards, fires their timers, and carries out operations
 * on any timer: on its own shards itself, on others by their owner, directly or by its inbox. Several instances on
 * one store know of each other only by the store.
 */
export class Engine implements TimerEngine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #deliver: Deliver
  readonly #random: () => number
  readonly #settings: EngineSettings
  readonly #flow: Flow
  readonly #throttles: Throttles
  readonly #unsettled: Unsettled
  readonly #holdsAll: boolean
  readonly #onEvent: OnEvent
  readonly #membership: Membership
  readonly #asker: Asker
  readonly #owners: Owners
  readonly #shards = new Map<number, ShardEngine>()
  // What shards did that are no longer here.
  readonly #ended = new EngineCounts()
  readonly #claims = new Map<number, SentClaim>()
  // Members that let a lease run out, and until when they do not count.
  readonly #leftOut = new Map<string, number>()
  readonly #waits: Waits
  readonly #alive: KeepAlive
  #offWake: () => void = () => undefined
  #opening: Promise<void> | undefined
  #isStarted = false
  #isStopping = false
  #stopping: Promise<void> | undefined
  #loops: Promise<void> = Promise.resolve()

  constructor(options: EngineOptions) {
    const { store, clock, settings, peers, random = Math.random } = options
    this.#store = store
    this.#clock = clock
    this.#deliver = options.deliver
    this.#random = random
    this.#settings = engineSettings(settings)
    checkStrategy(store, this.#settings)
    this.#flow = { ...freeFlow(this.#settings.concurrency), ...options.flow }
    this.#throttles = new Throttles(clock, this.#flow)
    this.#unsettled = new Unsettled(clock, this.#settings.settleCount)
    this.#holdsAll = options.holdsAll ?? false
    this.#onEvent = options.onEvent ?? (() => undefined)
    const id = options.memberId ?? newNonce(random).toString(36)
    const { requestTimeoutMs } = this.#settings
    this.#membership = new Membership({
      id,
      store,
      clock,
      settings: this.#settings,
      onEvent: this.#onEvent,
      address: () => peers?.address,
    })
    const storeNow = (): number => this.#membership.storeNow()
    this.#asker = new Asker({ store, clock, settings: this.#settings, random, storeNow })
    this.#owners = new Owners({
      asker: this.#asker,
      peers,
      memberOf: (member) => this.#membership.peerOf(member),
      newDeadline: () => Math.ceil(storeNow() + requestTimeoutMs),
    })
    this.#waits = new Waits(clock)
    this.#alive = new KeepAlive(clock)
  }

  get settings(): EngineSettings {
    return this.#settings
  }

  get memberId(): string {
    return this.#membership.id
  }

  /** The instances that take a share of the shards, as far as this one has heard. */
  get memberIds(): readonly string[] {
    return this.#membership.firingIds
  }

  /** The shards this instance owns now. */
  get shards(): readonly ShardEngine[] {
    return [...this.#shards.values()]
  }

  stats(): EngineStats {
    const counts = new EngineCounts()
    counts.addAll(this.#ended)
    for (const shard of this.#shards.values()) counts.addAll(shard.counts)
    const shards = this.shards.map((shard) => shard.view)
    return { memberId: this.memberId, strategy: this.#settings.strategy, shards, counts }
  }

  /** Joins the members; with `holdsAll` claims every shard, without firing yet. */
  open(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** Claims its share of the shards and fires from now on. Opens first where that was not done. */
  async start(): Promise<void> {
    await this.open()
    if (this.#isStarted || this.#isStopping) return
    this.#isStarted = true
    // Also while every shard is still another's: their time will come.
    this.#alive.begin()
    for (const shard of this.#shards.values()) shard.start()
    await this.#membership.fire(true)
    await this.#acquire()
  }

  storeNow(): number {
    return this.#membership.storeNow()
  }

  hearMembers(): Promise<void> {
    return this.#membership.hear()
  }

  peerOf(memberId: string): PeerMember | undefined {
    return this.#membership.peerOf(memberId)
  }

  get transactionCapacity(): number {
    return this.#store.transactions?.capacity ?? 0
  }

  /** Whether everything due in the shards of this instance has been started and has ended. */
  get isCaughtUp(): boolean {
    return this.#shards.size > 0 && this.shards.every((shard) => shard.isCaughtUp)
  }

  /** Lets go of its shards and fires nothing more until it is started again. */
  async rest(): Promise<void> {
    this.#isStarted = false
    this.#alive.end()
    await Promise.all(this.shards.map((shard) => shard.stop()))
    if (!this.#isStopping) await this.#membership.fire(false)
    if (this.#holdsAll && !this.#isStopping) await this.#acquire()
  }

  /** Finishes attempts under way (bounded), settles, lets go of its shards, leaves. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** A handler came or went: lanes may start more or fewer. */
  refresh(): void {
    this.#throttles.refresh()
    for (const shard of this.#shards.values()) shard.refresh()
  }

  /** More or fewer of one kind may be under way than before. */
  refreshKind(namespace: string, kind: string): void {
    this.#throttles.refreshKind(namespace, kind)
  }

  /** How far a row has got in this instance; 'waiting' for one of another's. */
  progressOf(row: TimerRow): RowProgress {
    return this.#shards.get(shardOf(row, this.#store.shardCount))?.progressOf(row) ?? 'waiting'
  }

  /** Carries out operations, here or by their shard's owner; one answer each. */
  submit(operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    if (this.#isStopping) return Promise.reject(this.#stopped())
    if (operations.length === 0) return Promise.resolve([])
    const { shardCount } = this.#store
    // A call has its answer as it comes, without a promise for each room it came through.
    if (shardCount === 1) return this.#submitTo(0, operations)
    if (operations.length === 1) return this.#submitTo(shardOf(operations[0]!, shardCount), operations)
    return this.#submitAll(operations)
  }

  #stopped(): StateError {
    return new StateError('stopped', 'this instance was stopped: open another')
  }

  async #submitAll(operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    const shares = sharesOf(operations, this.#store.shardCount)
    const answers = new Array<SubmitAnswer>(operations.length)
    const submit = async (shard: number, share: Share): Promise<void> => {
      const given = await this.#submitSome(shard, share.operations)
      for (let at = 0; at < given.length; at++) answers[share.indexes[at]!] = given[at]!
    }
    await Promise.all(Array.from(shares, ([shard, share]) => submit(shard, share)))
    return answers
  }

  async submitPlain(sets: PlainSets): Promise<Float64Array | readonly SubmitAnswer[]> {
    if (this.#isStopping) throw this.#stopped()
    const revisions = new Float64Array(sets.length)
    const others: { readonly indexes: Uint32Array; readonly answers: readonly SubmitAnswer[] }[] = []
    const submit = async (shard: number, indexes: Uint32Array): Promise<void> => {
      const given = await this.#submitShare(shard, { sets, indexes })
      if (typeof given === 'number') {
        for (let at = 0; at < indexes.length; at++) revisions[indexes[at]!] = given + at
      } else others.push({ indexes, answers: given })
    }
    await Promise.all(
      sets.byShard(this.#store.shardCount).map(({ shard, indexes }) => submit(shard, indexes)),
    )
    if (others.length === 0) return revisions
    const all = Array.from(revisions, (revision): SubmitAnswer => ({
      outcome: 'set',
      revision,
      replaced: undefined,
    }))
    for (const { indexes, answers } of others) {
      for (let at = 0; at < indexes.length; at++) all[indexes[at]!] = answers[at]!
    }
    return all
  }

  /** Plain sets of one shard: where all of them are new timers of this instance's, the revision of the first. */
  async #submitShare(shard: number, share: PlainShare): Promise<number | readonly SubmitAnswer[]> {
    const { sets, indexes } = share
    const engine = this.#shards.get(shard)
    if (engine === undefined || !this.#takes(engine, indexes.length))
      return await this.#submitSome(shard, sets.operations(indexes))
    const given = await engine.submitPlain(share)
    if (typeof given === 'number') return given
    return await orFailed(given.length, async () => this.#asker.goOn(shard, sets.operations(indexes), given))
  }

  async submitFor({ shard, deadline, operations }: PeerAsk): Promise<readonly Answer[] | undefined> {
    const engine = this.#shards.get(shard)
    if (engine === undefined || this.#isStopping || this.storeNow() >= deadline) return undefined
    if (operations.some((operation) => shardOf(operation, this.#store.shardCount) !== shard)) return undefined
    return await this.#submitHere(engine, operations)
  }

  #submitSome(shard: number, operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    return orFailed(operations.length, () => this.#submitTo(shard, operations))
  }

  async #submitTo(
    shard: number,
    operations: readonly RequestedOperation[],
  ): Promise<readonly SubmitAnswer[]> {
    const engine = this.#shards.get(shard)
    if (engine === undefined) return await this.#owners.ask(shard, operations)
    return this.#asker.goOn(shard, operations, await this.#submitHere(engine, operations))
  }

  #submitHere(engine: ShardEngine, operations: readonly RequestedOperation[]): Promise<readonly Answer[]> {
    if (this.#takes(engine, operations.length)) return engine.submit(operations)
    const error = new LimitError(
      'engine-busy',
      `${engine.queued} operations wait for shard ${engine.shard} already, of at most ${this.#settings.maxQueued}`,
    )
    return Promise.resolve(operations.map(() => failed(error)))
  }

  /** Whether so many more may wait for a shard. */
  #takes(engine: ShardEngine, count: number): boolean {
    return engine.queued === 0 || engine.queued + count <= this.#settings.maxQueued
  }

  async #open(): Promise<void> {
    await this.#membership.join()
    this.#offWake = this.#store.onWake((shard) => {
      this.#shards.get(shard)?.poke()
      this.#asker.poke(shard)
    })
    if (this.#holdsAll) await this.#acquire()
    this.#loops = Promise.all([this.#keepBeating(), this.#keepAcquiring()]).then(() => undefined)
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    this.#waits.end()
    this.#alive.end()
    await this.#opening
    await this.#loops
    await Promise.all([...this.#shards.values()].map((shard) => shard.stop()))
    this.#asker.end()
    this.#offWake()
    await this.#membership.leave()
  }

  async #keepBeating(): Promise<void> {
    while (!this.#isStopping) {
      await this.#waits.wait(this.#settings.heartbeatMs)
      if (!this.#isStopping) await this.#membership.beat()
    }
  }

  async #keepAcquiring(): Promise<void> {
    while (!this.#isStopping) {
      await this.#waits.wait(this.#settings.acquireMs)
      if (!this.#isStopping && (this.#isStarted || this.#holdsAll)) await this.#acquire()
    }
  }

  /** Claims the shards that should be ours and are free, and lets go of those that should be another's. */
  async #acquire(): Promise<void> {
    if (!this.#membership.isFit) return
    try {
      const rows = await this.#store.shards()
      for (const row of rows) this.#owners.saw(row)
      const owners = this.#ownersOf(rows)
      await Promise.all(rows.map((row) => this.#look(row, owners.get(row.shard) === this.#membership.id)))
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'shards', error })
    }
  }

  async #look(row: ShardRow, isOurs: boolean): Promise<void> {
    const engine = this.#shards.get(row.shard)
    if (engine !== undefined) {
      // It may take its time to finish what is under way: others are not to wait for that.
      if (!isOurs) void this.#letGo(engine)
      return
    }
    if (isOurs && !this.#isStopping) await this.#claim(row)
  }

  /** Who should own each shard. */
  #ownersOf(rows: readonly ShardRow[]): ReadonlyMap<number, string> {
    const { id } = this.#membership
    if (this.#holdsAll) return new Map(rows.map(({ shard }) => [shard, id]))
    const candidates = this.#candidates(rows)
    if (this.#membership.oldestFiring < EVEN_SHARES) return diced(rows, candidates)
    // What was claimed since the rows were read is ours too.
    const isHere = (shard: number): boolean => this.#shards.has(shard)
    return sharedOut(
      rows.map(({ shard, owner }) => ({ shard, owner: isHere(shard) ? id : owner })),
      candidates,
    )
  }

  async #letGo(engine: ShardEngine): Promise<void> {
    try {
      await engine.stop()
    } catch (error) {
      const trouble = error instanceof Error ? error : new Error(String(error))
      this.#onEvent({ type: 'store-trouble', shard: engine.shard, call: 'release', error: trouble })
    }
  }

  /** An owner that let its lease run out does not count, though its heartbeat may still be remembered. */
  #candidates(rows: readonly ShardRow[]): readonly string[] {
    const { firingIds, id } = this.#membership
    for (const { owner, leaseUntil } of rows) {
      if (owner !== '' && owner !== id && leaseUntil <= this.#membership.storeNow()) this.#leaveOut(owner)
    }
    const now = this.#clock.monotonic()
    return firingIds.filter((other) => other === id || (this.#leftOut.get(other) ?? -Infinity) <= now)
  }

  /** Until its heartbeat would be forgotten; one that lives after all gets its share back then. */
  #leaveOut(owner: string): void {
    const { leaseMs, heartbeatMs } = this.#settings
    this.#leftOut.set(owner, this.#clock.monotonic() + leaseMs + heartbeatMs)
  }

  #newClaim({ shard, epoch }: ShardRow): SentClaim {
    const owner = this.#membership.id
    const nonce = newNonce(this.#random)
    return {
      claim: { shard, owner, nonce, leaseMs: this.#settings.leaseMs, expectedEpoch: epoch },
      sentAt: { monotonic: this.#clock.monotonic(), wall: this.#clock.now() },
    }
  }

  async #claim(seen: ShardRow): Promise<void> {
    const { shard } = seen
    const earlier = this.#claims.get(shard)
    // A claim whose answer was lost is sent again as it was: it may have been granted, from then on.
    const isOpen =
      earlier !== undefined &&
      (seen.epoch === earlier.claim.expectedEpoch || seen.nonce === earlier.claim.nonce)
    const { claim, sentAt } = isOpen ? earlier : this.#newClaim(seen)
    this.#claims.set(shard, { claim, sentAt })
    const row = await this.#store.claim(claim)
    this.#claims.delete(shard)
    if (row === undefined || this.#isStopping || this.#shards.has(shard)) return
    const engine = new ShardEngine({
      store: this.#store,
      clock: this.#clock,
      settings: this.#settings,
      random: this.#random,
      deliver: this.#deliver,
      flow: this.#flow,
      throttles: this.#throttles,
      unsettled: this.#unsettled,
      onEvent: this.#onEvent,
      storeNow: () => this.#membership.storeNow(),
      isClockRight: () => this.#membership.isClockRight,
      row,
      sentAt,
      handOver: handOverOf(seen, this.#membership.id, sentAt.wall),
      onEnd: () => {
        if (this.#shards.get(shard) === engine) this.#shards.delete(shard)
        this.#ended.addAll(engine.counts)
      },
    })
    this.#shards.set(shard, engine)
    this.#onEvent({ type: 'acquired', shard, epoch: row.epoch, isTakeover: seen.owner !== '' })
    engine.open()
    if (this.#isStarted) engine.start()
  }
}

function handOverOf({ epoch, owner }: ShardRow, to: string, at: number): HandOver | undefined {
  return epoch === 0 ? undefined : { from: owner === '' ? undefined : owner, to, at }
}

/** What of a call concerns one shard. */
interface Share {
  readonly operations: RequestedOperation[]
  /** Where each stands in the call. */
  readonly indexes: number[]
}

/** What one shard refuses is no answer for the others. */
async function orFailed(
  count: number,
  submit: () => Promise<readonly SubmitAnswer[]>,
): Promise<readonly SubmitAnswer[]> {
  try {
    return await submit()
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    return Array.from({ length: count }, () => failed(error))
  }
}

// A function of its own: V8 compiles a loop that is the beginning of a longer function anew in call after call.
function sharesOf(operations: readonly RequestedOperation[], shardCount: number): Map<number, Share> {
  const shares = new Map<number, Share>()
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index]!
    const shard = shardOf(operation, shardCount)
    const share = shares.get(shard)
    if (share === undefined) shares.set(shard, { operations: [operation], indexes: [index] })
    else {
      share.operations.push(operation)
      share.indexes.push(index)
    }
  }
  return shares
}

/** A claim, and what both clocks showed before it was sent first. */
interface SentClaim {
  readonly claim: ShardClaim
  readonly sentAt: Reading
}
