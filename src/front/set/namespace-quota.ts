import type { CallLimit } from '../../async/index.js'
import type { TimerEngine } from '../../engine/index.js'
import { checkOptions, checkInteger, LimitError } from '../../error/index.js'
import type { DeadLetter, Listed, Store, Usage } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { nameKey, type QuotaLimits, type QuotaView } from '../../timer/index.js'
import {
  DEAD_LETTERS_PER_READ,
  DEAD_READ_MS,
  QUOTA_FAR_MS,
  QUOTA_FAR_SPACING,
  QUOTA_NEAR,
  QUOTA_NEAR_MS,
  QUOTA_NEAR_SPACING,
} from '../defaults.js'
import type { SetRequest } from './set-request.js'

interface DatedUsage extends Usage {
  /** How many of `timers` are dead letters. */
  readonly deadLetters: number
  readonly at: number
  /** How long the count took. Large stores are counted less often. */
  readonly tookMs: number
}

type QuotaEngine = Pick<TimerEngine, 'clock' | 'applyAcknowledged'>

/**
 * The quota of a namespace, kept in the store's settings. It limits timers and dead letters together: otherwise timers
 * that fail would fill the store. This instance counts the store now and then, and adds its own sets since the last count. Timers that ended since then still count. Before it refuses a set, it counts again, and
 * leaves out timers that only replace others. It does not see what other instances set between two counts: the use can
 * exceed the quota by that much. Without a quota, nothing is counted. Proven by test/front/namespace-quota.test.ts.
 */
export class NamespaceQuota {
  readonly #store: Store
  readonly #clock: Clock
  readonly #namespace: string
  readonly #name: string
  readonly #engine: QuotaEngine
  #limits: QuotaLimits | undefined
  // Refreshes may overlap: how many have begun, and which one the limits are from.
  #refreshes = 0
  #appliedRefresh = 0
  #count: DatedUsage | undefined
  #counting: Promise<void> | undefined
  // What was set since the last count began, or was unanswered then.
  #added = { timers: 0, bytes: 0 }
  #unanswered = { timers: 0, bytes: 0 }

  constructor(parts: { readonly store: Store; readonly engine: QuotaEngine; readonly namespace: string }) {
    this.#store = parts.store
    this.#engine = parts.engine
    this.#clock = parts.engine.clock
    this.#namespace = parts.namespace
    this.#name = `quota/${encodeURIComponent(parts.namespace)}`
  }

  /** Whether there is a quota. */
  get isLimited(): boolean {
    return this.#limits !== undefined
  }

  /** Reads the quota again. */
  async refresh(): Promise<void> {
    const refresh = ++this.#refreshes
    const settings = await this.#store.settings(this.#name)
    // A refresh that began later has already been applied.
    if (refresh < this.#appliedRefresh) return
    this.#appliedRefresh = refresh
    const setting = settings.find(({ name }) => name === this.#name)
    this.#limits = setting === undefined ? undefined : (JSON.parse(setting.value) as QuotaLimits)
    if (setting === undefined) this.#count = undefined
  }

  /** Stores the quota, or removes it. */
  async put(limits: QuotaLimits | undefined, limit?: CallLimit): Promise<void> {
    if (limits !== undefined) checkLimits(limits)
    limit?.act()
    await this.#store.putSetting(this.#name, limits === undefined ? undefined : JSON.stringify(limits))
    await this.refresh()
  }

  /** The quota and its use. Counts the store, unless the last count is recent. */
  async view(): Promise<QuotaView> {
    await this.refresh()
    if (this.#limits === undefined) return {}
    await this.#countUnlessYoung(QUOTA_NEAR_MS, QUOTA_NEAR_SPACING)
    return this.known
  }

  /** As `view`, without a call to the store. */
  get known(): QuotaView {
    if (this.#limits === undefined) return {}
    if (this.#count === undefined) return this.#limits
    const { deadLetters, at } = this.#count
    return { ...this.#limits, used: { ...this.#used, deadLetters }, countedAt: at }
  }

  /** Sets timers if they fit into the quota. Refuses all of them otherwise. */
  async within<Answer>(
    operations: readonly SetRequest[],
    set: () => Promise<Answer>,
    limit?: CallLimit,
  ): Promise<Answer> {
    const admitted = this.#admit(operations, limit)
    const wanted = await (limit === undefined ? admitted : limit.orNotDone(admitted))
    try {
      return await set()
    } finally {
      this.#add(this.#unanswered, wanted, -1)
    }
  }

  /** By how much the use grows. Nothing may come between the last look at the use and the addition to it. */
  async #admit(operations: readonly SetRequest[], limit: CallLimit | undefined): Promise<Usage> {
    let wanted: Usage = { timers: operations.length, bytes: bytesOf(operations) }
    if (this.#count === undefined) await this.#recount()
    else if (this.#isDue()) void this.#recount().catch(() => undefined)
    if (!this.#fits(wanted)) {
      await this.#countUnlessYoung(QUOTA_NEAR_MS, QUOTA_NEAR_SPACING)
      if (!this.#fits(wanted)) wanted = await this.#growthOf(operations)
      if (!this.#fits(wanted)) throw this.#refusal(wanted)
    }
    if (limit?.isOver === true) throw limit.notDone()
    this.#add(this.#added, wanted, 1)
    this.#add(this.#unanswered, wanted, 1)
    return wanted
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
    // A set that does not increase the use always fits.
    const timersFit = wanted.timers <= 0 || timers + wanted.timers <= maxTimers
    return timersFit && (wanted.bytes <= 0 || bytes + wanted.bytes <= maxBytes)
  }

  /** By how much the use would grow. A timer with an existing name, or with the name of a later row, adds nothing. */
  async #growthOf(operations: readonly SetRequest[]): Promise<Usage> {
    const last = [...new Map(operations.map((operation) => [nameKey(operation), operation])).values()]
    await this.#engine.applyAcknowledged(last)
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
    const isNear = timers > QUOTA_NEAR * maxTimers || bytes > QUOTA_NEAR * maxBytes
    return (
      this.#age >
      (isNear
        ? this.#spacing(QUOTA_NEAR_MS, QUOTA_NEAR_SPACING)
        : this.#spacing(QUOTA_FAR_MS, QUOTA_FAR_SPACING))
    )
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
    const unanswered = { ...this.#unanswered }
    const at = this.#clock.now()
    const began = this.#clock.monotonic()
    await this.#engine.applyAcknowledged()
    const [live, dead] = await Promise.all([this.#store.usage(this.#namespace), this.#deadUsage()])
    this.#count = {
      timers: live.timers + dead.timers,
      bytes: live.bytes + dead.bytes,
      deadLetters: dead.timers,
      at,
      tookMs: this.#clock.monotonic() - began,
    }
    this.#add(this.#added, before, -1)
    this.#add(this.#added, unanswered, 1)
  }

  async #deadUsage(): Promise<Usage> {
    const usage = { timers: 0, bytes: 0 }
    let cursor: string | undefined
    do {
      const query = {
        namespace: this.#namespace,
        limit: DEAD_LETTERS_PER_READ,
        cursor,
        budgetMs: DEAD_READ_MS,
      }
      const page: Listed<DeadLetter> = await this.#store.deadLetters(query)
      usage.timers += page.items.length
      for (const { row } of page.items) usage.bytes += row.payload.length
      cursor = page.cursor
    } while (cursor !== undefined)
    return usage
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
    const { deadLetters = 0 } = this.#count ?? {}
    const dead = deadLetters === 0 ? '' : ` (${deadLetters} of them dead letters: redrive or discard them)`
    return new LimitError(
      'quota-exceeded',
      `namespace ${this.#namespace} uses ${parts.join(' and ')}${dead}: no room for ${wanted.timers} more timers with ${wanted.bytes} bytes`,
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
  if (limits.maxTimers !== undefined) checkInteger('maxTimers', limits.maxTimers, 0)
  if (limits.maxBytes !== undefined) checkInteger('maxBytes', limits.maxBytes, 0)
}
