import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from 'carillon/testing'
import { machineMs } from '../chaos/report.js'
import { WebLedger } from '../web/web-ledger.js'
import { WEB_KIND, type WebPayload, type WebRead, type WebRow } from '../web/web-line.js'
import { WebPair } from '../web/web-pair.js'
import type { Delivery, OtherTimers } from './ledger.js'
import type { ServedProcess } from './served-process.js'

/** The most stories that each web process plays at once: one for each 200 timers a second. */
const MAX_STORIES = 6
const RATE_OF_STORY = 200
/**
 * A webhook of a replaced timer may arrive this long after the answer: it was sent before. Its start is not known.
 * `npm run chaos -- servers` knows the starts, and has no such allowance.
 */
const IN_FLIGHT_MS = 5000
const TOLERANCE_MS = 20
const MAX_DRAIN_MS = 120_000

export interface WebPartOptions {
  readonly storeUrl: string
  readonly seed: number
  /** How many timers are set a second by others. */
  readonly rate: number
  readonly token: () => string
  readonly instances: readonly ServedProcess[]
  /** Whether a process was paused for a while. */
  readonly isSleeper: (life: string) => boolean
  /** The latest time that the store's clock may have shown at a moment of the right wall clock. */
  readonly storeTimeAt: (at: number) => number
}

/** The web processes of a trial: they use the store of the instances without HTTP, and never start. */
export class WebPart {
  readonly ledger: WebLedger
  readonly #options: WebPartOptions
  readonly #epochMs = Date.now() - machineMs()
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'carillon-chaos-web-'))
  readonly #random: Random
  readonly #pair: WebPair

  constructor(options: WebPartOptions) {
    this.#options = options
    const { seed, rate, storeUrl, isSleeper, storeTimeAt } = options
    const stories = Math.max(1, Math.min(MAX_STORIES, Math.floor(rate / RATE_OF_STORY)))
    this.#random = new Random(seed)
    this.ledger = new WebLedger({
      storeTimeAt: (at) => storeTimeAt(at + this.#epochMs),
      toleranceMs: TOLERANCE_MS,
      isDisturbed: isSleeper,
      inFlightMs: IN_FLIGHT_MS,
    })
    this.#pair = new WebPair({
      task: { url: storeUrl, seed, stories, engine: {}, epochMs: this.#epochMs, longestMs: 0 },
      folder: this.#folder,
      ledger: this.ledger,
      random: new Random(seed),
      readElsewhere: (keys) => this.#readByHttp(keys),
    })
  }

  static isWebKey(key: string): boolean {
    return key.startsWith(`${WEB_KIND}-`)
  }

  start(): Promise<void> {
    return this.#pair.start()
  }

  get fallen(): readonly string[] {
    return this.#pair.fallen
  }

  /** Its sets, for the counts of the store. */
  get sets(): OtherTimers {
    const { acknowledgedSets, sentSets, doneCount } = this.ledger
    return { acked: acknowledgedSets, sent: sentSets, done: doneCount }
  }

  delivered({ key, data, dueAt, at, by, attempt, isDone }: Delivery): void {
    const row = { key, version: (data as WebPayload).v, dueAt }
    const machine = at - this.#epochMs
    // A process that was paused may have started it at any time.
    const startedAt = this.#options.isSleeper(by) ? -Infinity : machine
    this.ledger.fired({ ...row, by, attempt, startedAt, at: machine })
    if (isDone) this.ledger.done(row)
  }

  /** Makes all calls while no instance is up and, from then on, no lease of one is left. Returns what went wrong. */
  async withoutWorkers(inMs: number): Promise<readonly string[]> {
    const end = this.ledger.noWorkers(machineMs() + inMs)
    await sleep(inMs)
    const faults = await this.#pair.exercise()
    end(machineMs())
    return faults.map((text) => `without workers: ${text}`)
  }

  /** Ends what the web processes have begun, and stops them. Returns what went wrong. */
  async drain(): Promise<readonly string[]> {
    const late = sleep(MAX_DRAIN_MS, 'late', { ref: false })
    const isLate = (await Promise.race([this.#pair.drain(), late])) === 'late'
    const faults = await this.#pair.stop()
    return isLate ? [...faults, `the web processes had not ended after ${MAX_DRAIN_MS} ms`] : faults
  }

  /** The last checks. The ledgers on disk are kept if something was wrong. Returns what was. */
  finish(): readonly string[] {
    this.ledger.finish()
    const { faults } = this.ledger
    return faults.length === 0 ? [] : [...faults, `the ledgers of the web processes are in ${this.#folder}`]
  }

  async remove(): Promise<void> {
    await this.#pair.remove()
    if (this.ledger.faults.length === 0) rmSync(this.#folder, { recursive: true, force: true })
  }

  async #readByHttp(keys: readonly string[]): Promise<(WebRead & { readonly by: string }) | undefined> {
    const instance = this.#random.one(this.#options.instances)!
    const read = { by: instance.name, how: 'get', keys, from: machineMs() } as const
    const seen: WebRow[] = []
    for (const key of keys) {
      const route = `/v1/timers/${WEB_KIND}/${key}`
      const answer = await instance.ask('GET', route, this.#options.token()).catch(() => undefined)
      if (answer === undefined || (answer.status !== 200 && answer.status !== 404))
        return { ...read, seen: [], at: machineMs(), failed: `status ${answer?.status ?? 'unknown'}` }
      if (answer.status === 404) continue
      const { state, dueAt, payload } = JSON.parse(answer.text) as {
        state: string
        dueAt: number
        payload: WebPayload
      }
      if (state !== 'settled') seen.push({ key, version: payload.v, dueAt })
    }
    return { ...read, seen, at: machineMs() }
  }
}
