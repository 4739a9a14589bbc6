import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from 'carillon/testing'
import { machineMs } from '../chaos/report.js'
import { Takeovers } from '../chaos/takeovers.js'
import type { WebLedger } from '../web/web-ledger.js'
import { WEB_KIND } from '../web/web-line.js'
import { freePorts } from '../free-ports.js'
import { FakeClock } from '../fake-clock.js'
import { Ledger, type StoreCounts } from './ledger.js'
import { LeaseWorkers } from './lease-workers.js'
import { kindOfLoad, Load, type LoadName } from './load.js'
import { processorSeconds } from './processor-time.js'
import { type Overlap, Running, UNKNOWN } from './running.js'
import { type Scrape, scrapeOf } from './scrape.js'
import { ServedProcess, type ShardEvent } from './served-process.js'
import { SocketOwner, tellsSockets } from './socket-owner.js'
import { type StoreServer, storeServers } from './store-server.js'
import { WebPart } from './web-part.js'
import { WebhookReceiver } from './webhook-receiver.js'

const INSTANCES = 3
/** The settings of `carillon serve`: leases of 10 s, and a check for free shards every 2 s. */
const LEASE_MS = 10_000
/** After a lease is over, others notice it within two heartbeats and two checks. */
const NOTICE_MS = 8000
const PLANTED_MS = 1000
const MAX_READY_MS = 60_000
const MAX_DRAIN_MS = 180_000
/** A takeover may take this much longer than lease, heartbeat and check, on a busy machine. */
const MAX_TAKEOVER_MS = 45_000
/** The longest time of a slow answer: longer than `carryAfterMs`, `stopMs` and the lease. */
const MAX_ANSWER_MS = 25_000
const HOUR_MS = 3_600_000
/** How long a clock is wrong. */
const CLOCK_MS = 5000
/** A measured clock may be as old as two heartbeats. */
const MEASURED_MS = 5000
/** Allows for the error of a measured clock. */
const TOLERANCE_MS = 20

export interface TrialTask {
  readonly server: string
  /** For how long timers are set, at least. The faults take about half a minute. */
  readonly seconds: number
  readonly rate: number
  readonly seed: number
  /** The names of the faults, in order. Each happens once. */
  readonly faults: readonly FaultName[]
  readonly loads: readonly LoadName[]
  /** Whether web processes take part. */
  readonly hasWeb: boolean
  /** PostgreSQL: its messages are in German. */
  readonly isGerman: boolean
  /** A fault planted in the trial itself, to see that it is found. */
  readonly plant: Plant
}

/**
 * `none`, or a fault of the receiver. `lost` forgets the deliveries of one timer in a thousand. `count` counts one
 * delivery too many for a process. `early` has a clock that is a second behind.
 */
export const plants = ['none', 'lost', 'count', 'early'] as const
export type Plant = (typeof plants)[number]

/** The faults. By default all of them happen, except those of clocks where clocks cannot be moved. */
export const faultNames = [
  'roll',
  'kill-and-stop',
  'join',
  'all-stop',
  'all-kill',
  'clock-ahead',
  'clock-off',
  'clock-hour',
  'server-hour',
] as const
export type FaultName = (typeof faultNames)[number]
export const clockFaults: readonly FaultName[] = ['clock-ahead', 'clock-off', 'clock-hour', 'server-hour']

/** The result of a trial. It passes if `faults` is empty. */
export interface TrialReport {
  readonly faults: readonly string[]
  readonly ledger: Ledger
  readonly web: WebLedger | undefined
  readonly load: Load | undefined
  readonly takeovers: ReadonlyMap<string, readonly number[]>
  readonly warnings: ReadonlyMap<string, number>
  readonly scrapes: readonly Scrape[]
  readonly counts: StoreCounts | undefined
  /** For how many seconds timers were set. */
  readonly seconds: number
  readonly drainMs: number
  readonly workers: LeaseWorkers | undefined
  /** Seconds of processor time of the instances, of the store, and of callers and receiver. */
  readonly processorSeconds: readonly number[]
}

/**
 * Three `carillon serve` on one store. Timers are set through all of them over HTTP, and one receiver gets their
 * webhooks. All are restarted in turn, one is killed (kill -9), and another is paused (SIGSTOP) for longer than its
 * lease. In the end every acknowledged timer was delivered, `verify` finds nothing missing, and the metrics equal
 * what the receiver counted.
 */
export class Trial {
  readonly #task: TrialTask
  readonly #random: Random
  readonly #instances: ServedProcess[] = []
  readonly #lives = new Map<number, string>()
  readonly #takeovers = new Takeovers()
  readonly #warnings = new Map<string, number>()
  readonly #running = new Running()
  readonly #shardEvents: (ShardEvent & { readonly by: string })[] = []
  readonly #ledger = new Ledger(
    (life) => this.#instances.some(({ sleepers }) => sleepers.has(life)),
    (at) => at + this.#storeAheadAt(at),
  )
  readonly #epochMs = Date.now() - machineMs()
  #server: StoreServer | undefined
  #workers: LeaseWorkers | undefined
  #working: Promise<void> = Promise.resolve()
  // An instance that joined for one fault.
  #guest: ServedProcess | undefined
  #storeUrl = ''
  #receiverPort = 0
  readonly #faults: string[] = []
  #token = ''
  #load: Load | undefined
  #web: WebPart | undefined
  #seconds = 0

  constructor(task: TrialTask) {
    this.#task = task
    this.#random = new Random(task.seed)
  }

  async run(): Promise<TrialReport> {
    const owner = new SocketOwner(() => [...this.#lives.keys()])
    const receiver = await WebhookReceiver.start({
      seed: this.#task.seed,
      lifeOf: (port, to) => (tellsSockets && this.#lives.get(owner.of(port, to) ?? 0)) || UNKNOWN,
      onDelivery: (delivery) => {
        if (WebPart.isWebKey(delivery.key)) {
          this.#web?.delivered(delivery)
          return
        }
        if (this.#task.plant === 'lost' && delivery.key.endsWith('777')) return
        const at = delivery.at - (this.#task.plant === 'early' ? PLANTED_MS : 0)
        this.#ledger.delivered({ ...delivery, at })
        this.#running.begins(delivery.key, delivery.attempt, delivery.by)
      },
      onEnd: (key, attempt, by) => this.#running.ends(key, attempt, by),
      answerMs: (key) => (key.startsWith(kindOfLoad.long[0]!) ? 1000 + this.#random.below(MAX_ANSWER_MS) : 0),
    })
    const { isGerman } = this.#task
    const server = await storeServers[this.#task.server]!({ isGerman, hasClock: this.#movesClocks })
    this.#server = server
    let scrapes: readonly Scrape[] = []
    let counts: StoreCounts | undefined
    let drainMs = 0
    let used: readonly number[] = []
    try {
      await this.#begin(server.url, receiver)
      await this.#breakAll(receiver)
      const from = Date.now()
      this.#faults.push(...((await this.#web?.drain()) ?? []))
      counts = await this.#drain()
      drainMs = Date.now() - from
      await this.#workers?.stop()
      await this.#working
      for (const overlap of this.#running.overlaps) this.#violatedBy(overlap)
      this.#faults.push(...(this.#web?.finish() ?? []))
      this.#ledger.finish(counts, this.#web?.sets)
      scrapes = await this.#scrape(receiver, counts)
      used = this.#processorSeconds(server.pids)
      for (const instance of this.#instances) {
        const code = await instance.stop()
        if (code !== 0) this.#faults.push(`instance ${instance.name} ended with ${code}`)
      }
    } catch (error) {
      this.#faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
    } finally {
      this.#load?.end()
      void this.#workers?.stop()
      await this.#guest?.remove()
      await Promise.all(this.#instances.map((instance) => instance.remove()))
      await this.#web?.remove()
      await receiver.stop()
      await server.stop()
    }
    return {
      faults: [...this.#faults, ...this.#ledger.faults],
      ledger: this.#ledger,
      web: this.#web?.ledger,
      load: this.#load,
      takeovers: this.#takeovers.msByFault,
      warnings: this.#warnings,
      scrapes,
      counts,
      seconds: this.#seconds,
      drainMs,
      workers: this.#workers,
      processorSeconds: used,
    }
  }

  /** The first instance creates the first key and gets the target of the timers. Then the others start. */
  async #begin(storeUrl: string, receiver: WebhookReceiver): Promise<void> {
    const ports = await freePorts(INSTANCES)
    this.#storeUrl = storeUrl
    this.#receiverPort = receiver.port
    for (const [index, port] of ports.entries()) this.#instances.push(this.#instanceAt(index, port))
    const [first, ...others] = this.#instances as [ServedProcess, ...ServedProcess[]]
    await this.#live(first)
    this.#token = /ck_\S+/.exec(first.said)![0]
    const target = {
      type: 'webhook',
      url: `http://127.0.0.1:${receiver.port}/`,
      secret: `whsec_${randomBytes(32).toString('base64')}`,
      retry: { attempts: 100, backoff: '50ms..1s' },
    }
    await this.#put(first, 'single', target)
    await this.#put(first, WEB_KIND, target)
    await this.#put(first, 'batched', { ...target, batch: { most: 500, wait: '50ms' } })
    const timeout = `${MAX_ANSWER_MS * 2}ms`
    if (this.#task.loads.includes('long'))
      await this.#put(first, kindOfLoad.long, { ...target, timeout, concurrency: 1000 })
    if (this.#task.loads.includes('workers'))
      await this.#put(first, kindOfLoad.workers, { type: 'lease', duration: '5m', retry: target.retry })
    await Promise.all(others.map((instance) => this.#live(instance)))
    await this.#until('all have shards', MAX_READY_MS, () =>
      this.#instances.every(({ shards }) => shards.size > 0),
    )
    if (!this.#task.hasWeb) return
    this.#web = new WebPart({
      storeUrl,
      seed: this.#task.seed,
      rate: this.#task.rate,
      token: () => this.#token,
      instances: this.#instances,
      isSleeper: (life) => life === UNKNOWN || this.#instances.some(({ sleepers }) => sleepers.has(life)),
      storeTimeAt: (at) => at + this.#storeAheadAt(at),
    })
    await this.#web.start()
  }

  #instanceAt(index: number, port: number): ServedProcess {
    return new ServedProcess({
      index,
      port,
      storeUrl: this.#storeUrl,
      receiverPort: this.#receiverPort,
      clock: this.#movesClocks ? new FakeClock() : undefined,
      onShard: (by, { type, shard, time }) => {
        this.#shardEvents.push({ by, type, shard, time })
        if (type === 'lost') this.#running.troubled(by, time)
        if (type === 'acquired') this.#takeovers.take(by, { say: 'acquired', shard, at: time })
      },
      onWarning: (_by, what) => this.#warnings.set(what, (this.#warnings.get(what) ?? 0) + 1),
    })
  }

  async #newInstance(index: number): Promise<ServedProcess> {
    const [port] = await freePorts(1)
    return this.#instanceAt(index, port!)
  }

  async #put(instance: ServedProcess, kind: string, target: unknown): Promise<void> {
    const { status, text } = await instance.ask('PUT', `/v1/targets/${kind}`, this.#token, target)
    if (status >= 300) throw new Error(`the target of ${kind} was answered with ${status}: ${text}`)
  }

  /** Starts a new process. Resolves when it reports that it is ready. */
  async #live(instance: ServedProcess): Promise<void> {
    await instance.begin()
    this.#lives.set(instance.pid, instance.name)
    await this.#until(`instance ${instance.name} is ready`, MAX_READY_MS, async () => {
      const answer = await instance.ask('GET', '/readyz', this.#token).catch(() => undefined)
      return answer?.status === 200
    })
  }

  async #breakAll(receiver: WebhookReceiver): Promise<void> {
    const from = Date.now()
    this.#load = new Load({
      instances: this.#instances,
      ledger: this.#ledger,
      token: this.#token,
      random: this.#random,
      rate: this.#task.rate,
      loads: this.#task.loads,
    })
    const loading = this.#load.run()
    const working = this.#startWorkers(receiver)
    await sleep(2000)
    for (const name of this.#task.faults) {
      if (name === 'server-hour' && this.#server?.clock === undefined) continue
      this.#say(name)
      this.#ledger.faultBegins(name)
      this.#web?.ledger.faultBegins(name)
      await this.#break(name)
      await sleep(1000)
    }
    const leftMs = from + this.#task.seconds * 1000 - Date.now()
    await sleep(Math.max(2000, leftMs))
    await this.#load.stop()
    await loading
    this.#working = working
    this.#seconds = (Date.now() - from) / 1000
    await this.#areTaken()
    for (const [fault, all] of this.#takeovers.msByFault) {
      const most = Math.max(...all)
      if (most > MAX_TAKEOVER_MS)
        this.#faults.push(`a shard was without an owner for ${most} ms after ${fault}`)
    }
  }

  /**
   * Waits until every lost shard has an owner again. The remaining instances notice the loss by a heartbeat, and then
   * check the shards.
   */
  async #areTaken(): Promise<void> {
    const left = () => this.#takeovers.look().filter(({ fault }) => fault !== 'SIGSTOP')
    const end = Date.now() + MAX_TAKEOVER_MS
    while (left().length > 0 && Date.now() < end) await sleep(50)
    for (const { shard, owner, fault } of left())
      this.#faults.push(`nobody took shard ${shard} of ${owner} after ${fault}`)
  }

  async #break(name: FaultName): Promise<void> {
    const [first, second, third] = this.#instances as [ServedProcess, ServedProcess, ServedProcess]
    switch (name) {
      case 'roll':
        for (const instance of [first, second, third]) await this.#restart(instance)
        break
      case 'kill-and-stop':
        await Promise.all([this.#kill(first), sleep(1500).then(() => this.#pause(second))])
        break
      case 'join':
        await this.#join()
        break
      case 'all-stop':
        await Promise.all(this.#instances.map((instance) => this.#end(instance, () => instance.stop())))
        this.#faults.push(...((await this.#web?.withoutWorkers(0)) ?? []))
        await Promise.all(this.#instances.map((instance) => this.#live(instance)))
        break
      case 'all-kill':
        await Promise.all(this.#instances.map((instance) => this.#end(instance, () => instance.kill())))
        this.#faults.push(...((await this.#web?.withoutWorkers(LEASE_MS + NOTICE_MS)) ?? []))
        await Promise.all(this.#instances.map((instance) => this.#live(instance)))
        break
      case 'clock-ahead':
        await this.#clockOff(third.clock!, 300)
        break
      case 'clock-off':
        await this.#clockOff(third.clock!, 30_000)
        break
      case 'clock-hour':
        await this.#clockOff(second.clock!, HOUR_MS)
        break
      case 'server-hour':
        await this.#clockOff(this.#server!.clock!, HOUR_MS)
        break
    }
  }

  /** Ends an instance for a while. Its attempts may be repeated. */
  async #end(instance: ServedProcess, end: () => Promise<unknown>): Promise<void> {
    const owner = instance.name
    this.#running.troubled(owner)
    await end()
    this.#running.troubled(owner)
  }

  /** One more instance joins, gets shards, and stops cleanly. */
  async #join(): Promise<void> {
    const joined = await this.#newInstance(this.#instances.length)
    this.#guest = joined
    await this.#live(joined)
    await this.#until('the one that joined has shards', MAX_READY_MS, () => joined.shards.size > 0)
    await sleep(LEASE_MS / 2)
    await this.#leave(joined)
    await joined.remove()
    this.#guest = undefined
  }

  async #clockOff(clock: FakeClock, offsetMs: number): Promise<void> {
    clock.set(offsetMs)
    await sleep(CLOCK_MS)
    clock.set(0)
    await sleep(LEASE_MS / 2)
  }

  #startWorkers(receiver: WebhookReceiver): Promise<void> {
    if (!this.#task.loads.includes('workers')) return Promise.resolve()
    this.#workers = new LeaseWorkers({
      instances: () => [...this.#instances, ...(this.#guest === undefined ? [] : [this.#guest])],
      token: this.#token,
      random: this.#random,
      kind: kindOfLoad.workers,
      onBegin: (delivery) => {
        receiver.count(delivery.by, 'deliveries', 1)
        this.#ledger.delivered(delivery)
        this.#running.begins(delivery.key, delivery.attempt, delivery.by)
      },
      onEnd: (key, attempt, by, isDone) => {
        if (isDone) receiver.count(by, 'done', 1)
        this.#running.ends(key, attempt, by)
        const answer = isDone ? 'was acknowledged' : 'was answered that its lease is over'
        this.#ledger.ended(key, `attempt ${attempt} ${answer}`, isDone)
      },
    })
    return this.#workers.run()
  }

  /**
   * Reports an attempt that began while another ran, with what both processes logged about their shards meanwhile.
   */
  #violatedBy({ key, attempt, by, beside, at }: Overlap): void {
    const said = this.#shardEvents
      .filter((event) => event.by === by || event.by === beside.by)
      .filter(({ time }) => time >= beside.from && time <= at)
      .map(({ by: life, type, shard, time }) => `${life} ${type} ${shard} after ${time - beside.from} ms`)
    this.#ledger.violated(
      key,
      `began as attempt ${attempt} in ${by} while attempt ${beside.attempt} was under way in ${beside.by}, ` +
        `which was well, for ${at - beside.from} ms (${said.join(', ')})`,
    )
  }

  get #movesClocks(): boolean {
    return this.#task.faults.some((name) => clockFaults.includes(name))
  }

  /** How far ahead the store's clock may have been when an owner last measured it. */
  #storeAheadAt(at: number): number {
    const machine = at - this.#epochMs
    const ahead = this.#server?.clock?.maxOffsetBetween(machine - MEASURED_MS, machine) ?? 0
    return ahead + (this.#movesClocks ? TOLERANCE_MS : 0)
  }

  #say(name: string): void {
    const { acked, deliveries, repeats } = this.#ledger
    process.stderr.write(
      `chaos: ${this.#task.server}: ${name}: ${acked} timers acknowledged, ${deliveries} deliveries, ${repeats} repeated\n`,
    )
  }

  /** Stops an instance cleanly. Other instances take over attempts that have not ended by then. */
  async #leave(instance: ServedProcess): Promise<void> {
    const [shards, owner, at] = [[...instance.shards], instance.name, Date.now()]
    this.#running.troubled(owner)
    const code = await instance.stop()
    this.#running.troubled(owner)
    if (code !== 0) this.#faults.push(`instance ${owner} ended with ${code}`)
    this.#takeovers.lost('restart', owner, shards, at)
  }

  /** Restarts an instance as in a rolling restart. Resolves when it is ready and owns shards again. */
  async #restart(instance: ServedProcess): Promise<void> {
    await this.#leave(instance)
    await this.#live(instance)
    await this.#until(`instance ${instance.name} has shards`, MAX_READY_MS, () => instance.shards.size > 0)
    await sleep(500)
  }

  async #kill(instance: ServedProcess): Promise<void> {
    const [shards, owner] = [[...instance.shards], instance.name]
    const at = await instance.kill()
    this.#running.troubled(owner)
    this.#takeovers.lost('kill -9', owner, shards, at)
    await sleep(3000)
    await this.#live(instance)
    await this.#untilTaken(shards, owner, at)
  }

  async #pause(instance: ServedProcess): Promise<void> {
    const [shards, owner] = [[...instance.shards], instance.name]
    this.#running.troubled(owner)
    const at = instance.sleep()
    this.#takeovers.lost('SIGSTOP', owner, shards, at)
    await sleep(LEASE_MS * 1.1)
    await this.#untilTaken(shards, owner, at)
    this.#running.troubled(owner)
    instance.wake()
  }

  async #untilTaken(shards: readonly number[], owner: string, since: number): Promise<void> {
    await this.#until(`the shards of ${owner} have been taken over`, MAX_TAKEOVER_MS, () =>
      shards.every((shard) => this.#takeovers.isTaken(owner, shard, since)),
    )
  }

  /**
   * Waits until every acknowledged timer is done, and every instance reports that none is missing and none is left.
   */
  async #drain(): Promise<StoreCounts> {
    let last = ''
    let counts: StoreCounts | undefined
    await this.#until('nothing is left', MAX_DRAIN_MS, async () => {
      const waiting = this.#ledger.waiting().length + (this.#web?.ledger.waiting.length ?? 0)
      last = `${waiting} are waiting`
      if (waiting > 0) {
        await sleep(200)
        return false
      }
      for (const instance of this.#instances) {
        const { status, text } = await instance.ask('GET', '/v1/verify', this.#token, undefined, 30_000)
        last = `${instance.name} verifies with ${status}: ${text}`
        const { isWhole, rows, pending, store } = JSON.parse(text) as Verified
        if (status !== 200 || !isWhole || rows !== 0 || pending !== 0) return false
        counts = store
      }
      return true
    }).catch((error: unknown) => {
      for (const key of this.#ledger.waiting()) this.#ledger.violated(key, 'was acknowledged and never done')
      throw new Error(`${String(error)}; ${last}`)
    })
    return counts!
  }

  /**
   * Compares the metrics of every running instance with what the receiver counted for it, and with the counters of
   * the store.
   */
  async #scrape(receiver: WebhookReceiver, counts: StoreCounts): Promise<readonly Scrape[]> {
    if (this.#task.plant === 'count') receiver.counts.get(this.#instances[2]!.name)!.deliveries++
    const scrapes: Scrape[] = []
    for (const instance of this.#instances) {
      const { text } = await instance.ask('GET', '/metrics', this.#token)
      const scrape = scrapeOf({
        life: instance.name,
        unanswered: instance.unanswered,
        isShared: this.#task.loads.length > 0,
        hasLost: instance.lostShards > 0 || instance.sleepers.has(instance.name),
        text,
        received: receiver.counts.get(instance.name),
        unknown: receiver.counts.get(UNKNOWN),
        counts,
      })
      this.#faults.push(...scrape.faults)
      scrapes.push(scrape)
    }
    return scrapes
  }

  #processorSeconds(storePids: readonly number[]): readonly number[] {
    const { user, system } = process.cpuUsage()
    const instances = this.#instances.reduce((sum, instance) => sum + instance.processorSeconds, 0)
    return [instances, processorSeconds(storePids), (user + system) / 1e6]
  }

  async #until(what: string, longestMs: number, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = Date.now() + longestMs
    while (!(await isSo())) {
      for (const { hasFallen, name } of this.#instances.filter(({ pid }) => pid > 0)) {
        if (hasFallen) throw new Error(`instance ${name} ended by itself`)
      }
      for (const name of this.#web?.fallen ?? []) throw new Error(`web process ${name} ended by itself`)
      if (Date.now() > end) throw new Error(`waited ${longestMs} ms until ${what}, in vain`)
      await sleep(50)
    }
  }
}

interface Verified {
  readonly isWhole: boolean
  readonly rows: number
  readonly pending: number
  readonly store: StoreCounts
}
