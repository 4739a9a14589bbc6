import { CarillonError, type Timers } from 'carillon'
import type { Random } from 'carillon/testing'
import { type Caller, counted } from './caller.js'

const MAX_TIMERS = 12
/** Farther than any run, and than the clock of a server is set ahead. */
const FAR_MS = 10 * 86_400_000
const OVER = '20d'

export interface AuditParts {
  readonly timers: Timers
  readonly caller: Caller
  readonly random: Random
  readonly namespace: string
  readonly now: () => number
  /** Lets another process count the timers of the namespace. Resolves when it has, or after a while. */
  readonly others: (namespace: string, count: number) => Promise<void>
}

/**
 * Sets timers that never fire in a namespace of its own, cancels them by prefix, and counts them after each change:
 * by `forecast`, `list`, `stats` and the quota, here and in another process. It is over at the first error, because
 * then nobody knows how many there are: `isOver` is false, and the namespace must be emptied later.
 */
export class Audit {
  isOver = false
  readonly #parts: AuditParts

  constructor(parts: AuditParts) {
    this.#parts = parts
  }

  async play(): Promise<void> {
    const { caller, random, namespace } = this.#parts
    try {
      const within = await this.#parts.timers.within(namespace)
      const [first, second] = [1 + random.below(MAX_TIMERS), 1 + random.below(MAX_TIMERS)]
      await this.#set(within, 'a', first)
      await this.#countAll(within, first)
      await this.#set(within, 'b', second)
      await this.#countAll(within, first + second)
      await this.#isFull(within, first + second)
      if (!(await this.#cancel(within, 'a', first))) return
      await this.#countAll(within, second)
      if (!(await this.#cancel(within, '', second))) return
      await this.#countAll(within, 0)
      this.isOver = true
    } catch (error) {
      caller.codeOf('audit', error)
    }
  }

  async #set(within: Timers, prefix: string, count: number): Promise<void> {
    const { caller, namespace } = this.#parts
    const before = (await within.stats()).store.created
    const at = Math.floor(this.#parts.now() + FAR_MS)
    caller.audited({ sent: count, acked: 0 })
    await within.setMany(
      counted,
      Array.from({ length: count }, (_, index) => ({ key: `${prefix}${index}`, at })),
    )
    caller.audited({ sent: 0, acked: count })
    const limits = { how: 'stats', namespace, least: before + count, most: Number.MAX_SAFE_INTEGER } as const
    await caller.count(limits, async () => (await within.stats()).store.created)
  }

  /** Returns false if nobody knows whether they were cancelled. */
  async #cancel(within: Timers, keyPrefix: string, count: number): Promise<boolean> {
    const { caller, namespace } = this.#parts
    const limits = { how: 'cancel-many', namespace, least: count, most: count } as const
    const cancelled = await caller.count(limits, async () => {
      const counts = await within.cancelMany({ kind: counted, keyPrefix })
      return counts.cancelled ?? 0
    })
    return cancelled !== undefined
  }

  async #countAll(within: Timers, count: number): Promise<void> {
    const { caller, namespace, others } = this.#parts
    await countWithin(within, caller, { namespace, count })
    await others(namespace, count)
  }

  /** With a quota of what there is, one more is refused. */
  async #isFull(within: Timers, count: number): Promise<void> {
    const { caller, namespace, now } = this.#parts
    await within.setQuota({ maxTimers: count })
    caller.audited({ sent: 1, acked: 0 })
    await caller.count({ how: 'quota', namespace, least: 1, most: 1 }, async () => {
      try {
        await within.set(counted, 'a-more', { at: Math.floor(now() + FAR_MS) })
        return 0
      } catch (error) {
        if (error instanceof CarillonError && error.code === 'quota-exceeded') return 1
        throw error
      }
    })
    await within.setQuota(undefined)
  }
}

/** Counts the timers of a namespace in two ways. */
export async function countWithin(
  within: Timers,
  caller: Caller,
  { namespace, count: wanted, turn }: { namespace: string; count: number; turn?: number },
): Promise<void> {
  const limits = { namespace, least: wanted, most: wanted, ...(turn !== undefined && { turn }) }
  await caller.count({ how: 'forecast', ...limits }, async () => {
    const slices = await within.forecast({ kind: counted, over: OVER, slice: '1d' })
    return slices.reduce((sum, slice) => sum + slice.count, 0)
  })
  await caller.count({ how: 'list', ...limits }, async () => {
    let [count, cursor]: [number, string | undefined] = [0, undefined]
    // A page may be short: a list has a budget of time.
    do {
      const page = await within.list({ kind: counted, limit: 1000, ...(cursor !== undefined && { cursor }) })
      count += page.items.length
      cursor = page.cursor
    } while (cursor !== undefined)
    return count
  })
}
