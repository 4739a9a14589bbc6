import { setTimeout as sleep } from 'node:timers/promises'
import { CarillonError, openTimers, PartialError, timer, type Timers } from 'carillon'
import { Random } from 'carillon/testing'
import { processorSeconds } from '../instances/processor-time.js'
import { startPostgres } from '../postgres.js'
import { startOwnRedis } from '../redis.js'
import { PoolLedger } from './pool-ledger.js'
import { PoolWorker } from './pool-worker.js'

/** What each worker handles before the deploy. Two kinds have one worker each, and two kinds have two. */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  a: ['mail', 'report'],
  b: ['image', 'report'],
  c: ['video', 'mail'],
}
/** After it: `push` is new, `image` is renamed to `picture`, and `video` is dropped. */
const AFTER: Readonly<Record<string, readonly string[]>> = {
  a: ['mail', 'report', 'push'],
  b: ['picture', 'report'],
  c: ['push', 'mail'],
}
/** Timers of these kinds are left over. In the end a worker comes that handles them. */
const LEFT_OVER = ['image', 'video']

const TICK_MS = 250
const LEAST_DELAY_MS = 2000
const MOST_DELAY_MS = 8000
const MAX_WAIT_MS = 180_000

export interface PoolsTask {
  readonly server: string
  readonly timers: number
  readonly rate: number
  readonly seed: number
  /** How long to wait after each start and stop of a worker. */
  readonly pauseMs: number
}

export interface PoolsReport {
  readonly ledger: PoolLedger
  readonly workers: readonly PoolWorker[]
  readonly faults: readonly string[]
  /** Timers of dropped and renamed kinds that waited for the last worker. */
  readonly leftOver: number
  /** Seconds of processor time of all workers, and of the store. */
  readonly workerSeconds: number
  readonly storeSeconds: number
}

interface PoolServer {
  readonly url: string
  readonly pids: readonly number[]
  stop(): Promise<void>
}

export const poolServers: Readonly<Record<string, () => Promise<PoolServer>>> = {
  async postgres() {
    const server = await startPostgres()
    return { url: server.url, pids: server.pid === undefined ? [] : [server.pid], stop: () => server.stop() }
  },
  async redis() {
    const server = await startOwnRedis([])
    return { url: server.url, pids: [server.process.pid], stop: () => server.stop() }
  },
}

/**
 * Three workers handle different kinds on one store. This process sets timers and never starts. In the middle the
 * workers are replaced one after the other, by a version that adds, renames and drops kinds. Every timer must start in
 * a worker that handles its kind.
 */
export class PoolsTrial {
  readonly #task: PoolsTask
  readonly #random: Random
  readonly #ledger = new PoolLedger()
  readonly #workers: PoolWorker[] = []
  readonly #running = new Map<string, PoolWorker>()
  readonly #faults: string[] = []
  #url = ''
  #kinds = [...new Set(Object.values(BEFORE).flat())]
  #leftOver = 0
  #storeSeconds = 0

  constructor(task: PoolsTask) {
    this.#task = task
    this.#random = new Random(task.seed)
  }

  async run(): Promise<PoolsReport> {
    const server = await poolServers[this.#task.server]!()
    this.#url = server.url
    let timers: Timers | undefined
    try {
      timers = await openTimers({ store: this.#url as 'postgres://', logger: false })
      await Promise.all(Object.entries(BEFORE).map(([name, kinds]) => this.#startWorker(name, kinds)))
      await sleep(this.#task.pauseMs)
      const setting = this.#setAll(timers)
      await this.#until('half of the timers are set', () => this.#ledger.acked >= this.#task.timers / 2)
      await this.#deploy()
      await setting
      await this.#waitForOthers()
      await this.#startWorker('d', LEFT_OVER)
      await this.#until('all timers have started', () => this.#ledger.waiting === 0)
      // Owners settle what other workers report. Workers that stop one after the other would leave reports in inboxes.
      await this.#until('all timers are settled', async () => (await timers!.stats()).pending === 0)
      for (const worker of this.#running.values()) await worker.stop()
      await this.#checkStore(timers)
      this.#storeSeconds = processorSeconds(server.pids)
    } catch (error) {
      this.#faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
    } finally {
      await Promise.all(this.#workers.map((worker) => worker.remove()))
      await timers?.stop()
      await server.stop()
    }
    this.#ledger.finish()
    return {
      ledger: this.#ledger,
      workers: this.#workers,
      faults: [...this.#faults, ...this.#ledger.faults],
      leftOver: this.#leftOver,
      workerSeconds: this.#workers.reduce((sum, worker) => sum + worker.processorSeconds, 0),
      storeSeconds: this.#storeSeconds,
    }
  }

  async #startWorker(name: string, kinds: readonly string[]): Promise<void> {
    const worker = new PoolWorker({ name, url: this.#url, kinds }, (firings, by) => {
      for (const firing of firings) this.#ledger.fired(firing, by)
    })
    this.#workers.push(worker)
    await worker.start()
    this.#running.set(name[0]!, worker)
  }

  /** The new version of a worker starts before the old one stops, as a rolling deploy does it. */
  async #deploy(): Promise<void> {
    this.#kinds = [...new Set([...this.#kinds, ...Object.values(AFTER).flat()])]
    for (const [name, kinds] of Object.entries(AFTER)) {
      const old = this.#running.get(name)!
      await this.#startWorker(`${name}2`, kinds)
      await sleep(this.#task.pauseMs)
      await old.stop()
      await sleep(this.#task.pauseMs)
    }
    this.#kinds = [...new Set(Object.values(AFTER).flat())]
  }

  /** Sets timers at a steady rate. They are due within seconds. */
  async #setAll(timers: Timers): Promise<void> {
    const from = performance.now()
    const calls: Promise<void>[] = []
    let made = 0
    while (made < this.#task.timers) {
      const due = Math.min(this.#task.timers, ((performance.now() - from) * this.#task.rate) / 1000)
      const kind = this.#random.one(this.#kinds)!
      const now = Date.now()
      const rows: { readonly key: string; readonly at: number }[] = []
      for (; made < due; made++) {
        const delay = LEAST_DELAY_MS + this.#random.below(MOST_DELAY_MS - LEAST_DELAY_MS)
        rows.push({ key: `${kind}-${made}`, at: now + delay })
      }
      if (rows.length > 0) calls.push(this.#set(timers, kind, rows))
      await sleep(TICK_MS / this.#kinds.length)
    }
    await Promise.all(calls)
  }

  async #set(
    timers: Timers,
    kind: string,
    rows: readonly { readonly key: string; readonly at: number }[],
  ): Promise<void> {
    // They are noted before the answer: a timer may start before the answer is here.
    for (const { key, at } of rows) this.#ledger.set(kind, key, at)
    try {
      await timers.setMany(timer(kind), rows, { timeout: '1m' })
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      const failed =
        error instanceof PartialError ? error.rows.filter((row) => row.error !== undefined) : rows
      for (const { key } of failed) this.#ledger.unsure(key)
    }
  }

  /** Waits until only the kinds that nobody handles are left, and compares them with what the workers say. */
  async #waitForOthers(): Promise<void> {
    await sleep(MOST_DELAY_MS)
    const waiting = () => this.#ledger.waitingByKind(Date.now())
    await this.#until('only kinds without a handler wait', () =>
      [...waiting().keys()].every((kind) => LEFT_OVER.includes(kind)),
    )
    this.#leftOver = this.#ledger.waiting
    let last = ''
    await this.#until('the workers name the kinds that nobody handles', async () => {
      const found = new Map<string, number>()
      for (const worker of this.#running.values()) {
        for (const [kind, count] of Object.entries(await worker.unhandled()))
          found.set(kind, (found.get(kind) ?? 0) + count)
      }
      last = JSON.stringify([...found])
      return LEFT_OVER.every((kind) => (found.get(kind) ?? 0) === (waiting().get(kind) ?? 0))
    }).catch((error: unknown) => {
      this.#faults.push(`${String(error)}: they say ${last}, left are ${JSON.stringify([...waiting()])}`)
    })
  }

  /** Nothing is left, and every timer was settled once. */
  async #checkStore(timers: Timers): Promise<void> {
    const { store, pending } = await timers.stats()
    const { created, settled, dead } = store
    const [most, least] = [this.#task.timers, this.#task.timers - this.#ledger.unsureCount]
    if (pending === 0 && created <= most && created >= least && settled === created && dead === 0) return
    this.#faults.push(`the store counts ${JSON.stringify(store)} after ${this.#task.timers} timers`)
  }

  async #until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = performance.now() + MAX_WAIT_MS + (this.#task.timers / this.#task.rate) * 1000
    while (!(await isSo())) {
      if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
      await sleep(100)
    }
  }
}
