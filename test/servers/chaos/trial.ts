import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Counts, openStore } from 'carillon/store'
import { Random } from 'carillon/testing'
import { deadLetters } from '../dead-letters.js'
import { FakeClock } from '../fake-clock.js'
import { TcpProxy } from '../tcp-proxy.js'
import { WebLedger } from '../web/web-ledger.js'
import type { WebRead } from '../web/web-line.js'
import { WebPair } from '../web/web-pair.js'
import { canHappen, clockFaults, faults } from './fault.js'
import { Instance } from './instance.js'
import { Receiver } from './receiver.js'
import { type Line, machineMs } from './report.js'
import { type ChaosServer, servers } from './server.js'
import { Takeovers } from './takeovers.js'
import { type Pace, paces, type PaceName, strategies } from './task.js'
import type { Plant } from './reporting-store.js'
import type { LoadName } from './work.js'

const INSTANCES = 3
const SHARDS = 12
const MAX_START_MS = 60_000
const MAX_DRAIN_MS = 120_000
/** A takeover may take this much longer than lease, heartbeat and acquisition, on a busy machine. */
const SLACK_MS = 30_000
const ATTEMPTS = 1000
/** How many stories each web process plays at once. */
const WEB_STORIES = 6
/** Allows for the errors of the measured clock and of the receiver's clock. */
const TOLERANCE_MS = 20

export interface TrialTask {
  readonly server: string
  readonly strategy: string
  /** The names of the faults. */
  readonly faults: readonly string[]
  /** The loads besides timers of short handlers. */
  readonly loads: readonly LoadName[]
  readonly pace: PaceName
  /** PostgreSQL: its messages are in German. */
  readonly isGerman: boolean
  readonly rounds: number
  readonly rate: number
  readonly seed: number
  readonly plant: Plant
  /** Whether two processes that never start take part. */
  readonly hasWeb: boolean
  /** Whether to keep the receiver's log even if nothing was wrong. */
  readonly keepsLog: boolean
}

/** The result of a trial. It passes if `faults` is empty. */
export interface TrialReport {
  readonly receiver: Receiver
  readonly web: WebLedger
  readonly takeovers: ReadonlyMap<string, readonly number[]>
  /** Shards that nobody else took, although their owner was away for longer than its lease. */
  readonly kept: number
  /** How often each fault happened. */
  readonly broken: ReadonlyMap<string, number>
  readonly counts: Counts | undefined
  /** Timers acknowledged per second, with the time of all faults included. */
  readonly ackedRate: number
  readonly drainMs: number
  readonly folder: string
}

/**
 * Three instances on one server, and a receiver that gets reports of everything they do. Every fault happens once, in
 * random order, before any happens again. In the end every acknowledged timer must have been delivered, and nothing
 * may be left.
 */
export class Trial {
  readonly #task: TrialTask
  readonly #random: Random
  readonly #pace: Pace
  readonly #receiver: Receiver
  readonly #ledger: WebLedger
  readonly #epochMs = Date.now() - machineMs()
  readonly #takeovers = new Takeovers()
  readonly #broken = new Map<string, number>()
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'carillon-chaos-servers-'))
  readonly #log = openSync(path.join(this.#folder, 'receiver.log'), 'a')
  readonly #instances: Instance[] = []
  // Instances that joined for one fault.
  readonly #guests: Instance[] = []
  #server: ChaosServer | undefined
  #webProxy: TcpProxy | undefined
  #web: WebPair | undefined
  #started = 0
  #kept = 0

  constructor(task: TrialTask) {
    this.#task = task
    this.#random = new Random(task.seed)
    this.#pace = paces[task.pace]
    const storeTimeAt = (at: number): number => at + this.#epochMs + this.#storeAheadAt(at)
    const receiver = new Receiver({ storeTimeAt, toleranceMs: TOLERANCE_MS, attempts: ATTEMPTS })
    this.#receiver = receiver
    this.#ledger = new WebLedger({
      storeTimeAt,
      toleranceMs: TOLERANCE_MS,
      isDisturbed: (by, from, until) => receiver.isDisturbed(by, from, until),
      // A claimed row counts as firing. A `set` replaces it, and the attempt may begin until its lease is over.
      inFlightMs: strategies[task.strategy]!.store === 'claim' ? this.#pace.leaseMs : 0,
    })
  }

  async run(): Promise<TrialReport> {
    const { isGerman } = this.#task
    const server = await servers[this.#task.server]!({ isGerman, hasClock: this.#movesClocks })
    this.#server = server
    let counts: Counts | undefined
    let [ackedRate, drainMs] = [0, 0]
    try {
      await this.#prepare(server)
      for (let index = 0; index < INSTANCES; index++) this.#instances.push(await this.#instance(server))
      await Promise.all(this.#instances.map(({ ready }) => ready))
      await this.#until('all shards are shared out', MAX_START_MS, () => this.#areSharedOut())
      if (this.#task.hasWeb) await this.#startWeb(server)
      const [from, ackedBefore] = [machineMs(), this.#receiver.acked]
      await this.#breakAll(server)
      const until = machineMs()
      ackedRate = ((this.#receiver.acked - ackedBefore) * 1000) / (until - from)
      counts = await this.#drain(server)
      drainMs = machineMs() - until
    } catch (error) {
      this.#receiver.add(error instanceof Error ? (error.stack ?? error.message) : String(error))
    } finally {
      await Promise.all([...this.#instances, ...this.#guests].map((instance) => instance.remove()))
      await this.#web?.remove()
      await this.#webProxy?.stop()
      await server.stop()
      closeSync(this.#log)
    }
    if (this.#receiver.faults.length === 0 && !this.#task.keepsLog)
      rmSync(this.#folder, { recursive: true, force: true })
    return {
      receiver: this.#receiver,
      web: this.#ledger,
      takeovers: this.#takeovers.msByFault,
      kept: this.#kept,
      broken: this.#broken,
      counts,
      ackedRate,
      drainMs,
      folder: this.#folder,
    }
  }

  async #prepare(server: ChaosServer): Promise<void> {
    const { store: strategy } = strategies[this.#task.strategy]!
    const store = await openStore(server.urlThrough(server.port), { shardCount: SHARDS, strategy })
    await store.stop()
  }

  async #instance(server: ChaosServer): Promise<Instance> {
    const { rate, seed, plant, strategy, loads } = this.#task
    const pace = this.#pace
    const task = {
      seed,
      rate: rate / INSTANCES,
      plant,
      loads,
      pace,
      engine: { ...pace.engine, strategy: strategies[strategy]!.strategy },
      attempts: ATTEMPTS,
      epochMs: this.#epochMs,
    }
    return await Instance.start({
      index: this.#started++,
      server,
      task,
      clock: this.#movesClocks ? new FakeClock() : undefined,
      onLine: (by, line, text) => this.#take(by, line, text),
      onGone: (by, at, wasKilled) => this.#receiver.gone(by, at, wasKilled),
    })
  }

  async #startWeb(server: ChaosServer): Promise<void> {
    const { seed, strategy } = this.#task
    const proxy = await TcpProxy.to(server.port)
    this.#webProxy = proxy
    this.#web = new WebPair({
      task: {
        url: server.urlThrough(proxy.port),
        seed,
        stories: WEB_STORIES,
        engine: { ...this.#pace.engine, strategy: strategies[strategy]!.strategy },
        epochMs: this.#epochMs,
        longestMs: this.#task.loads.includes('long') ? this.#pace.longestMs : 0,
      },
      folder: this.#folder,
      ledger: this.#ledger,
      random: new Random(seed),
      readElsewhere: (keys) => this.#readInInstance(keys),
    })
    await this.#web.start()
  }

  async #readInInstance(keys: readonly string[]): Promise<(WebRead & { by: string }) | undefined> {
    const ready = this.#instances.filter(({ isReady }) => isReady)
    if (ready.length === 0) return undefined
    const instance = this.#random.one(ready)!
    const by = instance.name
    return { by, ...(JSON.parse(await instance.ask({ do: 'look', keys })) as WebRead) }
  }

  async #withoutWorkers(from: number): Promise<void> {
    const end = this.#ledger.noWorkers(from)
    await sleep(Math.max(0, from - machineMs()))
    for (const text of (await this.#web?.exercise()) ?? []) this.#receiver.add(`without workers: ${text}`)
    end(machineMs())
  }

  get #movesClocks(): boolean {
    return this.#task.faults.some((name) => clockFaults.includes(name))
  }

  /** How far ahead the store's clock may have been when an owner measured it last. */
  #storeAheadAt(at: number): number {
    return this.#server?.clock?.maxOffsetBetween(at - this.#pace.heartbeatMs * 2 - 1000, at) ?? 0
  }

  #take(by: string, line: Line, text: string): void {
    writeSync(this.#log, `${Math.round(machineMs())} ${by} ${text}\n`)
    if (line.say === 'web-fired') this.#ledger.fired({ by, ...line })
    if (line.say === 'web-ended' && line.isDone) this.#ledger.done(line)
    this.#receiver.take(by, line)
    this.#takeovers.take(by, line)
  }

  #areSharedOut(): boolean {
    // With `claim`, shards have no owners.
    if (strategies[this.#task.strategy]!.store === 'claim') return true
    // One of the three may get no shard by chance.
    if (this.#instances.filter(({ shards }) => shards.size > 0).length < 2) return false
    return new Set(this.#instances.flatMap(({ shards }) => [...shards])).size === SHARDS
  }

  async #breakAll(server: ChaosServer): Promise<void> {
    let deck: string[] = []
    for (let round = 1; round <= this.#task.rounds; round++) {
      if (deck.length === 0) deck = this.#task.faults.filter((fault) => canHappen(fault, server))
      const [name] = deck.splice(this.#random.below(deck.length), 1) as [string]
      await sleep(200 + this.#random.below(600))
      const owners = this.#instances.filter(({ shards }) => shards.size > 0)
      const victim = this.#random.one(owners.length > 0 ? owners : this.#instances)!
      const owner = victim.name
      writeSync(this.#log, `${Math.round(machineMs())} ${name} ${owner}: ${[...victim.shards].join(' ')}\n`)
      this.#receiver.faultBegins(name)
      this.#ledger.faultBegins(name)
      const loss = await faults[name]!({
        server,
        victim,
        random: this.#random,
        takeovers: this.#takeovers,
        receiver: this.#receiver,
        pace: this.#pace,
        all: this.#instances,
        webProxy: this.#webProxy,
        withoutWorkers: (from) => this.#withoutWorkers(from),
        join: async () => {
          const joined = await this.#instance(server)
          this.#guests.push(joined)
          await joined.ready
          return joined
        },
      })
      for (const guest of this.#guests.splice(0)) await guest.remove()
      this.#broken.set(name, (this.#broken.get(name) ?? 0) + 1)
      if (loss !== undefined) this.#takeovers.lost(name, owner, loss.shards, loss.at)
      this.#takeovers.look()
      this.#checkAlive()
      if (this.#receiver.faults.length > 0) return
      if (round % 10 === 0 || this.#task.pace === 'default') this.#say(round)
    }
    await sleep(1000)
  }

  /** Waits for the instances to finish, reads the counters of the store, and stops the instances cleanly. */
  async #drain(server: ChaosServer): Promise<Counts> {
    for (const instance of this.#instances) instance.say('drain')
    const webDrain = this.#drainWeb()
    const store = await openStore(server.urlThrough(server.port))
    try {
      await webDrain
      await this.#until('nothing is left', MAX_DRAIN_MS, async () => {
        this.#checkAlive()
        if (this.#receiver.waiting.length > 0 || this.#ledger.waiting.length > 0) return false
        return (await store.countRows()) === 0
      }).catch((error: unknown) => this.#receiver.add(String(error)))
      for (const { shard, owner, fault } of this.#takeovers.look()) {
        if (fault === 'kill') this.#receiver.add(`nobody took shard ${shard} of ${owner}, which was killed`)
        else this.#kept++
      }
      for (const instance of this.#instances) {
        const code = await instance.stop()
        if (code !== 0) this.#receiver.add(`instance ${instance.name} ended with ${code}`)
      }
      for await (const { key, reason } of deadLetters(store)) this.#receiver.dead(key, reason)
      this.#receiver.finish()
      this.#ledger.finish()
      for (const fault of this.#ledger.faults) this.#receiver.add(fault)
      this.#checkTakeovers()
      const counts = await store.counts()
      const rows = await store.countRows()
      const { created, settled, cancelled, dead, replaced } = counts
      const isWhole = created === settled + cancelled + replaced
      if (rows !== 0 || !isWhole || dead !== 0 || replaced > this.#ledger.sentSets) {
        this.#receiver.add(`the store counts ${JSON.stringify(counts)} and has ${rows} rows`)
      }
      return counts
    } finally {
      await store.stop()
    }
  }

  /** Lets the web processes end what they have begun, and stops them. */
  async #drainWeb(): Promise<void> {
    if (this.#web === undefined) return
    const late = sleep(MAX_DRAIN_MS, 'late', { ref: false })
    if ((await Promise.race([this.#web.drain(), late])) === 'late')
      this.#receiver.add(`the web processes had not ended their calls after ${MAX_DRAIN_MS} ms`)
    for (const text of await this.#web.stop()) this.#receiver.add(text)
  }

  #checkTakeovers(): void {
    const { leaseMs, acquireMs, heartbeatMs } = this.#pace
    const bound = leaseMs + acquireMs + heartbeatMs + SLACK_MS
    for (const [fault, all] of this.#takeovers.msByFault) {
      const most = Math.max(...all)
      if (most > bound) {
        this.#receiver.add(
          `a shard was without an owner for ${most.toFixed(0)} ms after ${fault}, wanted at most ${bound}`,
        )
      }
    }
  }

  #checkAlive(): void {
    for (const { hasFallen, name } of this.#instances) {
      if (hasFallen) throw new Error(`instance ${name} ended by itself, see above`)
    }
    for (const name of this.#web?.fallen ?? [])
      throw new Error(`web process ${name} ended by itself, see above`)
  }

  async #until(what: string, longestMs: number, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = machineMs() + longestMs
    while (!(await isSo())) {
      if (machineMs() > end) throw new Error(`waited ${longestMs} ms until ${what}, in vain`)
      await sleep(50)
    }
  }

  #say(round: number): void {
    const { acked, deliveries, settledCount, repeats, resumed } = this.#receiver
    process.stderr.write(
      `chaos: ${this.#task.server}, ${this.#task.strategy}: ${round} of ${this.#task.rounds} faults: ` +
        `${acked} timers acknowledged, ${deliveries} deliveries, ${settledCount} settled, ${repeats} repeated, ` +
        `${resumed} resumed\n`,
    )
  }
}
