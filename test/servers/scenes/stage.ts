import { setTimeout as sleep } from 'node:timers/promises'
import { openStore, type Store } from 'carillon/store'
import { Instance } from '../chaos/instance.js'
import { Receiver } from '../chaos/receiver.js'
import { machineMs } from '../chaos/report.js'
import { type ChaosServer, servers } from '../chaos/server.js'
import { type Pace, paces, type PaceName, strategies } from '../chaos/task.js'
import type { Work } from '../chaos/work.js'
import { deadLetters } from '../dead-letters.js'
import type { FakeClock } from '../fake-clock.js'

/** Allows for the errors of the measured clock and of the receiver's clock. */
const TOLERANCE_MS = 20

export interface StageOptions {
  readonly server: string
  readonly strategy: string
  readonly pace: PaceName
  readonly shards: number
  readonly attempts: number
  readonly hasServerClock: boolean
  readonly isGerman: boolean
}

export interface JoinOptions {
  /** Its wall clock: a movable one, or that of the server. Default the machine's. */
  readonly clock?: FakeClock | undefined
  /** Whether it has handlers. Without them it owns shards but starts no attempts. Default true. */
  readonly handles?: boolean
}

export interface SetOptions {
  readonly count: number
  /** The delay from now, by the machine's real clock. */
  readonly inMs?: number
  readonly work?: Work | ((index: number) => Work)
}

/** The result of a scene. It passes if `red` is empty. */
export interface StageReport {
  /** How often each check failed. */
  readonly red: ReadonlyMap<string, number>
  readonly faults: readonly string[]
  /** Values to print, good or bad. */
  readonly facts: ReadonlyMap<string, number | string>
}

/** One server, the instances of a scene, and the receiver that checks the lines of all of them. */
export class Stage {
  readonly pace: Pace
  readonly receiver: Receiver
  readonly server: ChaosServer
  readonly #options: StageOptions
  readonly #store: Store
  readonly #epochMs = Date.now() - machineMs()
  readonly #instances: Instance[] = []
  readonly #facts = new Map<string, number | string>()
  readonly #red = new Map<string, number>()
  readonly #faults: string[] = []
  #lastTimer = 0
  #unanswered = 0

  private constructor(options: StageOptions, server: ChaosServer, store: Store) {
    this.#options = options
    this.pace = paces[options.pace]
    this.server = server
    this.#store = store
    this.receiver = new Receiver({
      storeTimeAt: (at) => at + this.#epochMs + this.#storeAheadAt(at),
      toleranceMs: TOLERANCE_MS,
      attempts: options.attempts,
    })
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { isGerman, hasServerClock, shards } = options
    const server = await servers[options.server]!({ isGerman, hasClock: hasServerClock })
    try {
      const { store: strategy } = strategies[options.strategy]!
      const store = await openStore(server.urlThrough(server.port), { shardCount: shards, strategy })
      return new Stage(options, server, store)
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  /** Enough time for a takeover and the work after it, on a busy machine. */
  get patienceMs(): number {
    return this.pace.leaseMs * 2 + 8000
  }

  async join({ clock, handles = true }: JoinOptions = {}): Promise<Instance> {
    const { attempts, strategy } = this.#options
    const instance = await Instance.start({
      index: this.#instances.length,
      server: this.server,
      task: {
        seed: this.#instances.length + 1,
        rate: 0,
        loads: [],
        plant: 'none',
        engine: { ...this.pace.engine, strategy: strategies[strategy]!.strategy },
        attempts,
        pace: this.pace,
        epochMs: this.#epochMs,
        handles,
      },
      clock,
      onLine: (by, line) => this.receiver.take(by, line),
      onGone: (by, at, wasKilled) => this.receiver.gone(by, at, wasKilled),
    })
    this.#instances.push(instance)
    await instance.ready
    return instance
  }

  /** Waits until every shard has an owner, and each of `owners` owns a shard. Returns at once with `claim`. */
  async untilOwned(...owners: readonly Instance[]): Promise<void> {
    const { shards, strategy } = this.#options
    if (strategies[strategy]!.store === 'claim') return
    const owned = (): number => new Set(this.#instances.flatMap((one) => [...one.shards])).size
    await this.until(() => owned() === shards && owners.every((one) => one.shards.size > 0))
  }

  /** Sets timers through an instance. Returns their keys once the instance has answered. */
  async set(by: Instance, { count, inMs = 0, work = {} }: SetOptions): Promise<readonly string[]> {
    const from = Math.floor(machineMs() + this.#epochMs + inMs)
    const rows = Array.from({ length: count }, (_, index) => ({
      key: `t${++this.#lastTimer}`,
      at: from,
      work: typeof work === 'function' ? work(index) : work,
    }))
    const answer = await Promise.race([by.ask({ do: 'set', rows }), this.#timeout()])
    if (answer === undefined) this.#unanswered++
    return rows.map(({ key }) => key)
  }

  /** Cancels timers through an instance. Returns an answer for each key, or `unanswered` for all if it takes too long. */
  async cancel(by: Instance, keys: readonly string[]): Promise<readonly string[]> {
    const answer = await Promise.race([by.ask({ do: 'cancel', keys }), this.#timeout()])
    return answer === undefined ? keys.map(() => 'unanswered') : answer.split(' ')
  }

  /** Waits until the condition is true. Returns false if `patienceMs` passes first. */
  async until(condition: () => boolean, patienceMs = this.patienceMs): Promise<boolean> {
    const end = machineMs() + patienceMs
    while (!condition()) {
      if (machineMs() > end) return false
      await sleep(20)
    }
    return true
  }

  /** Waits until the receiver has seen all these timers done. Returns false if `patienceMs` passes first. */
  async untilDone(keys: readonly string[], patienceMs?: number): Promise<boolean> {
    return await this.until(() => keys.every((key) => this.receiver.of(key).isDone), patienceMs)
  }

  startsOf(key: string): number {
    return this.receiver.of(key).starts.length
  }

  /** Adds a value to the report. */
  note(name: string, value: number | string): void {
    this.#facts.set(name, value)
  }

  /** Fails the scene if the count is not 0. For checks that the receiver does not make. */
  mustBeNone(name: string, count: number): void {
    if (count === 0) return
    this.#red.set(name, count)
    this.#faults.push(`${name}: ${count}`)
  }

  /** Waits for running attempts, checks everything, and returns the report. */
  async finish(patienceMs = this.patienceMs): Promise<StageReport> {
    const isIdle = await this.until(() => this.receiver.waiting.length === 0, patienceMs)
    if (isIdle) await sleep(this.pace.engine.settleMs ?? 1000)
    for await (const { key, reason } of deadLetters(this.#store)) this.receiver.dead(key, reason)
    this.receiver.finish()
    if (!isIdle) this.#faults.push(await this.describeShards())
    this.mustBeNone('calls without an answer', this.#unanswered)
    const { receiver } = this
    for (const [check, count] of receiver.counts) this.#red.set(check, count)
    const mostStarts = Math.max(0, ...[...receiver.timers].map(({ starts }) => starts.length))
    this.note('acknowledged', receiver.acked)
    this.note('starts', receiver.deliveries)
    this.note('most starts of one timer', mostStarts)
    if (receiver.cancelledCount > 0) this.note('cancelled', receiver.cancelledCount)
    if (receiver.deadCount > 0) this.note('dead letters', receiver.deadCount)
    if (receiver.mostEarlyMs > 1) this.note('most early', `${receiver.mostEarlyMs.toFixed(0)} ms`)
    for (const [type, count] of receiver.events) this.note(`event ${type}`, count)
    for (const [code, count] of receiver.troubles) this.note(`trouble ${code}`, count)
    return { red: this.#red, faults: [...receiver.faults, ...this.#faults], facts: this.#facts }
  }

  /** Describes the shard rows, for the report of a failed scene. */
  async describeShards(): Promise<string> {
    const now = await this.#store.now()
    const rows = await this.#store.shards()
    return rows
      .map(({ shard, owner, epoch, leaseUntil, readLevel, settledLevel }) => {
        const levels = `read ${readLevel.position - now} ms, settled ${settledLevel.position - now} ms from now`
        const held = owner === '' ? 'free' : `held by ${owner}, lease ${leaseUntil - now} ms from now`
        return `shard ${shard}: epoch ${epoch}, ${held}, ${levels}`
      })
      .join('; ')
  }

  async close(): Promise<void> {
    await Promise.all(this.#instances.map((instance) => instance.remove()))
    await this.#store.stop()
    await this.server.stop()
  }

  /** Resolves later than the deadline of any call. */
  async #timeout(): Promise<undefined> {
    await sleep(this.patienceMs + 2000, undefined, { ref: false })
    return undefined
  }

  /** How far ahead the store's clock may have been when an owner last measured it. */
  #storeAheadAt(at: number): number {
    return this.server.clock?.maxOffsetBetween(at - this.pace.heartbeatMs * 2 - 1000, at) ?? 0
  }
}
