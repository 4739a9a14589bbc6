import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import type { Delivery } from './ledger.js'
import type { ServedProcess } from './served-process.js'

/** How long a lease lasts, and the longest time that a worker keeps a firing. */
const LEASE = '5m'
const MAX_WORK_MS = 25_000
const WAIT_MS = 1000
const TRY_MS = 1000
const MAX_TRIES = 30

export interface LeaseWorkersParts {
  readonly instances: () => readonly ServedProcess[]
  readonly token: string
  readonly random: Random
  readonly kind: string
  readonly onBegin: (delivery: Delivery) => void
  readonly onEnd: (key: string, attempt: number, by: string, isDone: boolean) => void
}

interface LeasedFiring {
  readonly receipt: string
  readonly id: string
  readonly key: string
  readonly attempt: number
  readonly dueAt: number
}

/** Workers that lease firings for minutes from every instance, work for a while, and ack them at any instance. */
export class LeaseWorkers {
  readonly #parts: LeaseWorkersParts
  // The name of the process behind each member id.
  readonly #names = new Map<string, string>()
  #isOn = true
  #underWay = 0
  leased = 0
  acked = 0
  /** How many receipts were no longer valid. */
  stale = 0

  constructor(parts: LeaseWorkersParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    const asking = new Set<ServedProcess>()
    while (this.#isOn) {
      for (const instance of this.#parts.instances()) {
        if (asking.has(instance)) continue
        asking.add(instance)
        void this.#ask(instance).finally(() => asking.delete(instance))
      }
      await sleep(100)
    }
  }

  /** Leases nothing more. Resolves when every leased firing was answered. */
  async stop(): Promise<void> {
    this.#isOn = false
    while (this.#underWay > 0) await sleep(50)
  }

  async #ask(instance: ServedProcess): Promise<void> {
    const { token, kind, onBegin } = this.#parts
    try {
      await this.#learn(instance)
      const body = { kinds: [kind], max: 50, waitMs: WAIT_MS, duration: LEASE }
      const { status, text } = await instance.ask('POST', '/v1/leases', token, body)
      if (status !== 200) return
      const { firings } = JSON.parse(text) as { firings: readonly LeasedFiring[] }
      for (const firing of firings) {
        const { key, id, attempt, dueAt } = firing
        this.leased++
        const at = Date.now()
        const by = (await this.#issuerOf(firing)) ?? instance.name
        onBegin({ key, id, attempt, dueAt, at, by, isDone: false })
        void this.#work(instance, by, firing)
      }
    } catch {
      // The instance is down or was ended meanwhile.
      await sleep(WAIT_MS)
    }
  }

  /** The process that issued the lease: the one that was asked, or another one that it asked in turn. */
  async #issuerOf({ receipt }: LeasedFiring): Promise<string | undefined> {
    const member = receipt.slice(0, Math.max(0, receipt.indexOf('.')))
    if (!this.#names.has(member)) {
      for (const each of this.#parts.instances()) await this.#learn(each).catch(() => undefined)
    }
    return this.#names.get(member)
  }

  async #learn(instance: ServedProcess): Promise<void> {
    const { name } = instance
    if ([...this.#names.values()].includes(name)) return
    const { status, text } = await instance.ask('GET', '/v1/members', this.#parts.token)
    if (status === 200) this.#names.set((JSON.parse(text) as { self: string }).self, name)
  }

  async #work(instance: ServedProcess, by: string, { receipt, key, attempt }: LeasedFiring): Promise<void> {
    const { instances, token, random, onEnd } = this.#parts
    this.#underWay++
    await sleep(random.below(MAX_WORK_MS))
    // Any instance accepts the ack.
    const others = instances().filter((one) => one !== instance)
    let status: number | undefined
    // A worker without an answer tries again: its lease runs for minutes.
    for (let tries = 0; tries < MAX_TRIES && (status === undefined || status >= 500); tries++) {
      if (tries > 0) await sleep(TRY_MS)
      const asked = tries % 2 === 0 ? (random.one(others) ?? instance) : instance
      const path = `/v1/leases/${encodeURIComponent(receipt)}/ack`
      status = (await asked.ask('POST', path, token, {}).catch(() => undefined))?.status
    }
    const isDone = status === 200
    if (isDone) this.acked++
    else this.stale++
    onEnd(key, attempt, by, isDone)
    this.#underWay--
  }
}
