import { checkOptions, checkWhole, LimitError } from '../error/index.js'
import type { Store, Usage } from '../store/index.js'
import type { Clock } from '../time/index.js'
import { nameText, type QuotaLimits, type QuotaView } from '../timer/index.js'
import type { SetRequest } from './set-request.js'

interface Count extends Usage {
  readonly at: number
  /** How long it took: large stores are counted less often. */
  readonly tookMs: number
}

// Far from a limit a count may be this old, near it this; and counting takes no more than a hundredth, or near a
// limit a tenth, of the time.
const FAR_MS = 30_000
const NEAR_MS = 1000
const NEAR = 0.8

/**
 * The quota of a namespace, kept in the store's settings. The store is counted now and then, and what this instance
 * sets in between is added: so nothing that was set here is overlooked, and what ended since is still counted. Before
 * anything is refused it is counted anew, and timers that would only replace another are told apart. What other
 * instances set between two counts is not seen: by that much the quota may be exceeded. Without a quota nothing is
 * counted.
 */
export class NamespaceQuota {
  readonly #store: Store
  readonly #clock: Clock
  readonly #namespace: string
  readonly #name: string
  #limits: QuotaLimits | undefined
  // How many looks at the store have begun, and which of them said what the limits are.
  #looks = 0
  #heardFrom = 0
  #count: Count | undefined
  #counting: Promise<void> | undefined
  // Set since the count began, or not yet answered for then.
  #added = { timers: 0, bytes: 0 }
  #underWay = { timers: 0, bytes: 0 }

  constructor(parts: { readonly store: Store; readonly clock: Clock; readonly namespace: string }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#namespace = parts.namespace
    this.#name = `quota/${encodeURIComponent(parts.namespace)}`
  }

  /** Whether anything is limited at all. */
  get isLimited(): boolean {
    return this.#limits !== undefined
  }

  /** Looks at the store again. */
  async look(): Promise<void> {
    const look = ++this.#looks
    const settings = await this.#store.settings(this.#name)
    // One that began later knows better.
    if (look < this.#heardFrom) return
    this.#heardFrom = look
    const setting = settings.find(({ name }) => name === this.#name)
    this.#limits = setting === undefined ? undefined : (JSON.parse(setting.value) as QuotaLimits)
    if (setting === undefined) this.#count = undefined
  }

  /** Puts the quota, or takes it away. */
  async put(limits: QuotaLimits | undefined): Promise<void> {
    if (limits !== undefined) checkLimits(limits)
    await this.#store.putSetting(this.#name, limits === undefined ? undefined : JSON.stringify(limits))
    await this.look()
  }

  /** The quota and its use, counted anew unless that was done a moment ago. */
  async view(): Promise<QuotaView> {
    await this.look()
    if (this.#limits === undefined) return {}
    await this.#countUnlessYoung(NEAR_MS, 10)
    return this.known
  }

  /** As `view`, without asking the store. */
  get known(): QuotaView {
    if (this.#limits === undefined) return {}
    if (this.#count === undefined) return this.#limits
    return { ...this.#limits, used: this.#used, countedAt: this.#count.at }
  }

  /** Sets timers if there is room for them; refuses all of them otherwise. */
  async within<Answer>(operations: readonly SetRequest[], set: () => Promise<Answer>): Promise<Answer> {
    let wanted = { timers: operations.length, bytes: bytesOf(operations) }
    if (this.#count === undefined) await this.#recount()
    else if (this.#isDue()) void this.#recount().catch(() => undefined)
    if (!this.#fits(wanted)) {
      await this.#countUnlessYoung(NEAR_MS, 10)
      if (!this.#fits(wanted)) wanted = await this.#growthOf(operations)
      if (!this.#fits(wanted)) throw this.#refusal(wanted)
    }
    this.#add(this.#added, wanted, 1)
    this.#add(this.#underWay, wanted, 1)
    try {
      return await set()
    } finally {
      this.#add(this.#underWay, wanted, -1)
    }
  }

  get #used(): Usage {
    return {
      timers: (this.#count?.timers ?? 0) + this.#added.timers,
      bytes: (this.#count?.bytes ?? 0) + this.#added.bytes,
    }
  }

  #fits(wanted: Usage): boolean {
    const { timers, bytes } = this.#used
    const { maxTimers = Infinity, maxBytes = Infinity } = this.#limits ?? {}
    // What does not grow is never too much.
    const hasRoom = wanted.timers <= 0 || timers + wanted.timers <= maxTimers
    return hasRoom && (wanted.bytes <= 0 || bytes + wanted.bytes <= maxBytes)
  }

  /** What would be more than now: a timer of a name that is there, or comes again after it, takes its place. */
  async #growthOf(operations: readonly SetRequest[]): Promise<Usage> {
    const last = [...new Map(operations.map((operation) => [nameText(operation), operation])).values()]
    const rows = await this.#store.find(last)
    const growth = { timers: 0, bytes: bytesOf(last) }
    for (const row of rows) {
      if (row === undefined) growth.timers++
      else growth.bytes -= row.payload.length
    }
    return growth
  }

  #isDue(): boolean {
    const { timers, bytes } = this.#used
    const { maxTimers = Infinity, maxBytes = Infinity } = this.#limits ?? {}
    const isNear = timers > NEAR * maxTimers || bytes > NEAR * maxBytes
    return this.#age > (isNear ? this.#spacing(NEAR_MS, 10) : this.#spacing(FAR_MS, 100))
  }

  get #age(): number {
    return this.#clock.now() - (this.#count?.at ?? -Infinity)
  }

  #spacing(leastMs: number, times: number): number {
    return Math.max(leastMs, times * (this.#count?.tookMs ?? 0))
  }

  async #countUnlessYoung(leastMs: number, times: number): Promise<void> {
    if (this.#age > this.#spacing(leastMs, times)) await this.#recount()
  }

  #recount(): Promise<void> {
    this.#counting ??= this.#countAll().finally(() => (this.#counting = undefined))
    return this.#counting
  }

  async #countAll(): Promise<void> {
    const before = { ...this.#added }
    const underWay = { ...this.#underWay }
    const at = this.#clock.now()
    const began = this.#clock.monotonic()
    const usage = await this.#store.usage(this.#namespace)
    this.#count = { ...usage, at, tookMs: this.#clock.monotonic() - began }
    this.#add(this.#added, before, -1)
    this.#add(this.#added, underWay, 1)
  }

  #add(to: { timers: number; bytes: number }, { timers, bytes }: Usage, times: 1 | -1): void {
    to.timers += times * timers
    to.bytes += times * bytes
  }

  #refusal(wanted: Usage): LimitError {
    const { timers, bytes } = this.#used
    const { maxTimers, maxBytes } = this.#limits ?? {}
    const parts = [
      ...(maxTimers === undefined ? [] : [`${timers} of ${maxTimers} timers`]),
      ...(maxBytes === undefined ? [] : [`${bytes} of ${maxBytes} bytes of payloads`]),
    ]
    return new LimitError(
      'quota-exceeded',
      `the namespace ${this.#namespace} has ${parts.join(' and ')}: there is no room for ${wanted.timers} more of ${wanted.bytes} bytes`,
    )
  }
}

function bytesOf(operations: readonly SetRequest[]): number {
  let bytes = 0
  for (const { payload } of operations) bytes += payload.length
  return bytes
}

function checkLimits(limits: QuotaLimits): void {
  checkOptions('a quota', limits, ['maxTimers', 'maxBytes'])
  if (limits.maxTimers !== undefined) checkWhole('maxTimers', limits.maxTimers, 0)
  if (limits.maxBytes !== undefined) checkWhole('maxBytes', limits.maxBytes, 0)
}
