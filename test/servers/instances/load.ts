import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import type { Ledger } from './ledger.js'
import type { ServedProcess } from './served-process.js'

const TICK_MS = 20
const BATCH = 500
/** One of six timers is set by itself, the others in batches. */
const SINGLE_SHARE = 1 / 6
const CANCEL_SHARE = 0.02
/** The most requests of each sort under way at one instance. A caller would then use another instance. */
const MAX_SINGLES = 200
const MAX_BATCHES = 6

export interface LoadParts {
  readonly instances: readonly ServedProcess[]
  readonly ledger: Ledger
  readonly token: string
  readonly random: Random
  /** Timers per second, of all sorts. */
  readonly rate: number
  /** Additional loads, of a few timers per second. */
  readonly loads: readonly LoadName[]
}

/** `long`: webhooks that are answered after many seconds. `workers`: timers that workers lease for minutes. */
export const loadNames = ['long', 'workers'] as const
export type LoadName = (typeof loadNames)[number]
/** The kind of the timers of each load. Keys begin with its first letter. */
export const kindOfLoad = { long: 'long', workers: 'worked' } as const
const LOAD_A_SECOND = 3

/**
 * Sets timers through all instances, singly and in batches, and cancels a few through another instance. The rate is
 * steady and does not depend on the answers (an open loop). A request for which no instance has capacity is not sent,
 * and is counted as shed.
 */
export class Load {
  /** Timers that were planned, and those of them for which no instance had capacity. */
  offered = 0
  shed = 0
  readonly setMs: number[] = []
  readonly cancelMs: number[] = []
  readonly problems = new Map<string, number>()
  readonly #parts: LoadParts
  readonly #singles: number[]
  readonly #batches: number[]
  #made = 0
  #underWay = 0
  #isOn = true

  constructor(parts: LoadParts) {
    this.#parts = parts
    this.#singles = parts.instances.map(() => 0)
    this.#batches = parts.instances.map(() => 0)
  }

  /** Runs until `stop`. It follows the clock: a late tick also sends what earlier ticks should have sent. */
  async run(): Promise<void> {
    const from = performance.now()
    let [singles, batches, others] = [0, 0, 0]
    while (this.#isOn) {
      const due = ((performance.now() - from) * this.#parts.rate) / 1000
      for (; singles < due * SINGLE_SHARE; singles++) this.#single('single')
      for (; others < ((performance.now() - from) * LOAD_A_SECOND) / 1000; others++)
        for (const load of this.#parts.loads) this.#single(kindOfLoad[load])
      for (; batches < Math.floor((due * (1 - SINGLE_SHARE)) / BATCH); batches++) this.#batch()
      await sleep(TICK_MS)
    }
  }

  /** Sends nothing more. */
  end(): void {
    this.#isOn = false
  }

  /** Sends nothing more. Resolves when every request was answered. */
  async stop(): Promise<void> {
    this.end()
    while (this.#underWay > 0) await sleep(20)
  }

  #single(kind: string): void {
    this.offered++
    const instance = this.#withRoom(this.#singles, MAX_SINGLES)
    if (instance === undefined) this.shed++
    else void this.#during(this.#singles, instance, () => this.#setOne(instance, kind))
  }

  #batch(): void {
    this.offered += BATCH
    const instance = this.#withRoom(this.#batches, MAX_BATCHES)
    if (instance === undefined) this.shed += BATCH
    else void this.#during(this.#batches, instance, () => this.#setMany(instance))
  }

  async #setOne(instance: ServedProcess, kind: string): Promise<void> {
    const { ledger, token, random } = this.#parts
    const { key, at } = this.#newTimer(kind[0]!)
    const begun = performance.now()
    const answer = await this.#asked(instance.ask('PUT', `/v1/timers/${kind}/${key}`, token, { at }))
    ledger.answered(key, verdictOf(answer?.status))
    if (answer === undefined || answer.status >= 300) return
    this.setMs.push(performance.now() - begun)
    if (kind === 'single' && random.chance(CANCEL_SHARE)) await this.#cancel(instance, key)
  }

  async #cancel(setBy: ServedProcess, key: string): Promise<void> {
    const { instances, ledger, token } = this.#parts
    const instance = instances[(setBy.index + 1) % instances.length]!
    ledger.cancelAsked(key)
    const begun = performance.now()
    const answer = await this.#asked(instance.ask('DELETE', `/v1/timers/single/${key}`, token))
    if (answer?.status !== 200) return
    this.cancelMs.push(performance.now() - begun)
    ledger.cancelledNow(key, Date.now())
  }

  async #setMany(instance: ServedProcess): Promise<void> {
    const { ledger, token } = this.#parts
    const rows = Array.from({ length: BATCH }, () => ({ kind: 'batched', ...this.#newTimer('b') }))
    const answer = await this.#asked(instance.ask('POST', '/v1/batch', token, rows))
    if (answer === undefined || answer.status !== 200) {
      for (const { key } of rows) ledger.answered(key, verdictOf(answer?.status))
      return
    }
    const answers = JSON.parse(answer.text) as readonly { outcome: string; code?: string }[]
    for (const [index, { key }] of rows.entries()) {
      const { outcome, code } = answers[index]!
      if (code !== undefined) this.#problem(code)
      ledger.answered(key, outcome === 'failed' ? 'unsure' : outcome === 'refused' ? 'refused' : 'acked')
    }
  }

  #newTimer(prefix: string): { readonly key: string; readonly at: number } {
    const { random, ledger } = this.#parts
    const key = `${prefix}${++this.#made}`
    const at = dueAt(random)
    ledger.sent(key, at)
    return { key, at }
  }

  /** The answer; undefined if there was none. */
  async #asked(
    asking: ReturnType<ServedProcess['ask']>,
  ): Promise<Awaited<ReturnType<ServedProcess['ask']>> | undefined> {
    try {
      const answer = await asking
      if (answer.status >= 400) this.#problem(codeOf(answer))
      return answer
    } catch (error) {
      const { code, name } = error as { code?: string; name: string }
      this.#problem(code === undefined || typeof code !== 'string' ? name : code)
      return undefined
    }
  }

  #problem(code: string): void {
    this.problems.set(code, (this.problems.get(code) ?? 0) + 1)
  }

  /** A random instance, or the least busy one if that is full. */
  #withRoom(underWay: readonly number[], most: number): ServedProcess | undefined {
    const { instances, random } = this.#parts
    const chosen = random.below(instances.length)
    if (underWay[chosen]! < most) return instances[chosen]
    const least = underWay.indexOf(Math.min(...underWay))
    return underWay[least]! < most ? instances[least] : undefined
  }

  async #during(underWay: number[], { index }: ServedProcess, work: () => Promise<void>): Promise<void> {
    underWay[index]!++
    this.#underWay++
    try {
      await work()
    } finally {
      underWay[index]!--
      this.#underWay--
    }
  }
}

/** Most are due soon. Some are due at once or overdue, and some so late that a takeover may come first. */
function dueAt(random: Random): number {
  const now = Date.now()
  if (random.chance(0.1)) return now
  if (random.chance(0.05)) return now - random.below(1000)
  return now + random.below(random.chance(0.3) ? 10_000 : 2000)
}

/** A refused request changed nothing. Any other failure may have changed something. */
function verdictOf(status: number | undefined): 'acked' | 'unsure' | 'refused' {
  if (status === undefined || status >= 500) return 'unsure'
  return status < 300 ? 'acked' : 'refused'
}

function codeOf({ status, text }: { readonly status: number; readonly text: string }): string {
  try {
    return (JSON.parse(text) as { code: string }).code
  } catch {
    return String(status)
  }
}
