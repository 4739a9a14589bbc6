import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from 'carillon/testing'
import { Takeovers } from '../chaos/takeovers.js'
import { freePorts } from '../free-ports.js'
import { Ledger, type StoreCounts } from './ledger.js'
import { Load } from './load.js'
import { processorSeconds } from './processor-time.js'
import { type Scrape, scrapeOf } from './scrape.js'
import { ServedProcess } from './served-process.js'
import { SocketOwner, tellsSockets } from './socket-owner.js'
import { storeServers } from './store-server.js'
import { WebhookReceiver } from './webhook-receiver.js'

const INSTANCES = 3
/** What `carillon serve` has: leases of 10 s, and a look at what is free every 2 s. */
const LEASE_MS = 10_000
const PLANTED_MS = 1000
const LONGEST_READY_MS = 60_000
const LONGEST_DRAIN_MS = 180_000
/** What a takeover may take beyond lease, heartbeat and look, on a busy machine. */
const LONGEST_TAKEOVER_MS = 45_000

export interface TrialTask {
  readonly server: string
  /** How long timers are set for, at least: the faults take about half a minute. */
  readonly seconds: number
  readonly rate: number
  readonly seed: number
  /** A fault of the trial itself, to see that it would be found. */
  readonly plant: Plant
}

/**
 * `none`, or what the receiver's side gets wrong: `lost` forgets the deliveries of one timer in a thousand,
 * `count` counts one more for a life than came, `early` has a clock that is a second behind.
 */
export const plants = ['none', 'lost', 'count', 'early'] as const
export type Plant = (typeof plants)[number]

/** What one trial found; no faults is what is wanted. */
export interface TrialReport {
  readonly faults: readonly string[]
  readonly ledger: Ledger
  readonly load: Load | undefined
  readonly takeovers: ReadonlyMap<string, readonly number[]>
  readonly warnings: ReadonlyMap<string, number>
  readonly scrapes: readonly Scrape[]
  readonly counts: StoreCounts | undefined
  /** Seconds of load, and timers acknowledged in each. */
  readonly seconds: number
  readonly drainMs: number
  /** Seconds of processor time, by who used them: instances, store, callers and receiver. */
  readonly processorSeconds: readonly number[]
}

/**
 * Three `carillon serve` on one store, timers set through all of them over HTTP, and one receiver of their webhooks:
 * a rolling restart of all, kill -9 of one, SIGSTOP of another for longer than its lease. In the end all that was
 * acknowledged was delivered, `verify` misses nothing, and the metrics say what the receiver counted.
 */
export class Trial {
  readonly #task: TrialTask
  readonly #random: Random
  readonly #instances: ServedProcess[] = []
  readonly #lives = new Map<number, string>()
  readonly #takeovers = new Takeovers()
  readonly #warnings = new Map<string, number>()
  readonly #ledger = new Ledger((life) => this.#instances.some(({ sleepers }) => sleepers.has(life)))
  readonly #faults: string[] = []
  #token = ''
  #load: Load | undefined
  #seconds = 0

  constructor(task: TrialTask) {
    this.#task = task
    this.#random = new Random(task.seed)
  }

  async run(): Promise<TrialReport> {
    const owner = new SocketOwner(() => [...this.#lives.keys()])
    const receiver = await WebhookReceiver.start({
      seed: this.#task.seed,
      lifeOf: (port, to) => (tellsSockets && this.#lives.get(owner.of(port, to) ?? 0)) || 'unknown',
      onDelivery: (delivery) => {
        if (this.#task.plant === 'lost' && delivery.key.endsWith('777')) return
        const at = delivery.at - (this.#task.plant === 'early' ? PLANTED_MS : 0)
        this.#ledger.delivered({ ...delivery, at })
      },
    })
    const server = await storeServers[this.#task.server]!()
    let scrapes: readonly Scrape[] = []
    let counts: StoreCounts | undefined
    let drainMs = 0
    let used: readonly number[] = []
    try {
      await this.#begin(server.url, receiver)
      await this.#breakAll()
      const from = Date.now()
      counts = await this.#drain()
      drainMs = Date.now() - from
      this.#ledger.finish(counts)
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
      await Promise.all(this.#instances.map((instance) => instance.remove()))
      await receiver.stop()
      await server.stop()
    }
    return {
      faults: [...this.#faults, ...this.#ledger.faults],
      ledger: this.#ledger,
      load: this.#load,
      takeovers: this.#takeovers.msByFault,
      warnings: this.#warnings,
      scrapes,
      counts,
      seconds: this.#seconds,
      drainMs,
      processorSeconds: used,
    }
  }

  /** The first instance makes the first key and learns where timers go; then the others come. */
  async #begin(storeUrl: string, receiver: WebhookReceiver): Promise<void> {
    const ports = await freePorts(INSTANCES)
    for (const [index, port] of ports.entries()) {
      this.#instances.push(
        new ServedProcess({
          index,
          port,
          storeUrl,
          receiverPort: receiver.port,
          onShard: (by, { type, shard, time }) => {
            if (type === 'acquired') this.#takeovers.take(by, { say: 'acquired', shard, at: time })
          },
          onWarning: (_by, what) => this.#warnings.set(what, (this.#warnings.get(what) ?? 0) + 1),
        }),
      )
    }
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
    await this.#put(first, 'batched', { ...target, batch: { most: 500, wait: '50ms' } })
    await Promise.all(others.map((instance) => this.#live(instance)))
    await this.#until('all have shards', LONGEST_READY_MS, () =>
      this.#instances.every(({ shards }) => shards.size > 0),
    )
  }

  async #put(instance: ServedProcess, kind: string, target: unknown): Promise<void> {
    const { status, text } = await instance.ask('PUT', `/v1/targets/${kind}`, this.#token, target)
    if (status >= 300) throw new Error(`the target of ${kind} was answered with ${status}: ${text}`)
  }

  /** A new life; ends when it says that it is ready. */
  async #live(instance: ServedProcess): Promise<void> {
    await instance.begin()
    this.#lives.set(instance.pid, instance.name)
    await this.#until(`instance ${instance.name} is ready`, LONGEST_READY_MS, async () => {
      const answer = await instance.ask('GET', '/readyz', this.#token).catch(() => undefined)
      return answer?.status === 200
    })
  }

  async #breakAll(): Promise<void> {
    const from = Date.now()
    this.#load = new Load({
      instances: this.#instances,
      ledger: this.#ledger,
      token: this.#token,
      random: this.#random,
      rate: this.#task.rate,
    })
    const loading = this.#load.run()
    await sleep(2000)
    for (const instance of this.#instances) await this.#restart(instance)
    await sleep(1000)
    const [killed, stopped] = this.#instances as [ServedProcess, ServedProcess]
    await Promise.all([this.#kill(killed), sleep(1500).then(() => this.#pause(stopped))])
    const leftMs = from + this.#task.seconds * 1000 - Date.now()
    await sleep(Math.max(2000, leftMs))
    await this.#load.stop()
    await loading
    this.#seconds = (Date.now() - from) / 1000
    for (const { shard, owner, fault } of this.#takeovers.look()) {
      if (fault !== 'SIGSTOP') this.#faults.push(`nobody took shard ${shard} of ${owner} after ${fault}`)
    }
    for (const [fault, all] of this.#takeovers.msByFault) {
      const most = Math.max(...all)
      if (most > LONGEST_TAKEOVER_MS)
        this.#faults.push(`a shard was without an owner for ${most} ms after ${fault}`)
    }
  }

  /** As in a rolling restart: the next one comes when this one is ready again. */
  async #restart(instance: ServedProcess): Promise<void> {
    const [shards, owner, at] = [[...instance.shards], instance.name, Date.now()]
    const code = await instance.stop()
    if (code !== 0) this.#faults.push(`instance ${owner} ended with ${code}`)
    this.#takeovers.lost('restart', owner, shards, at)
    await this.#live(instance)
    await this.#until(
      `instance ${instance.name} has shards`,
      LONGEST_READY_MS,
      () => instance.shards.size > 0,
    )
    await sleep(500)
  }

  async #kill(instance: ServedProcess): Promise<void> {
    const [shards, owner] = [[...instance.shards], instance.name]
    const at = await instance.kill()
    this.#takeovers.lost('kill -9', owner, shards, at)
    await sleep(3000)
    await this.#live(instance)
    await this.#untilTaken(shards, owner, at)
  }

  async #pause(instance: ServedProcess): Promise<void> {
    const [shards, owner] = [[...instance.shards], instance.name]
    const at = instance.sleep()
    this.#takeovers.lost('SIGSTOP', owner, shards, at)
    await sleep(LEASE_MS * 1.1)
    await this.#untilTaken(shards, owner, at)
    instance.wake()
  }

  async #untilTaken(shards: readonly number[], owner: string, since: number): Promise<void> {
    await this.#until(`the shards of ${owner} have been taken over`, LONGEST_TAKEOVER_MS, () =>
      shards.every((shard) => this.#takeovers.isTaken(owner, shard, since)),
    )
  }

  /** Until all that was acknowledged was done and every instance says that nothing is missing, and nothing left. */
  async #drain(): Promise<StoreCounts> {
    let last = ''
    let counts: StoreCounts | undefined
    await this.#until('nothing is left', LONGEST_DRAIN_MS, async () => {
      const waiting = this.#ledger.waiting().length
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
      throw new Error(`${String(error)}; ${last}`)
    })
    return counts!
  }

  /** Every instance that is alive says of itself what the receiver counted of it, and of the store what all say. */
  async #scrape(receiver: WebhookReceiver, counts: StoreCounts): Promise<readonly Scrape[]> {
    if (this.#task.plant === 'count') receiver.counts.get(this.#instances[2]!.name)!.deliveries++
    const scrapes: Scrape[] = []
    for (const instance of this.#instances) {
      const { text } = await instance.ask('GET', '/metrics', this.#token)
      const scrape = scrapeOf({
        life: instance.name,
        unanswered: instance.unanswered,
        hasLost: instance.lostShards > 0 || instance.sleepers.has(instance.name),
        text,
        received: receiver.counts.get(instance.name),
        unknown: receiver.counts.get('unknown'),
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
