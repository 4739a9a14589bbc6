import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

interface Pause {
  readonly from: number
  readonly until: number
}

// Entries arrive through the event loop, to which measured code does not return.
const DELIVERY_MS = 20

/**
 * Observes the garbage collector while candidates work, so that its pauses can be reported separately. Only pauses within
 * timed work count, and none that the bench itself forced.
 */
export class Garbage {
  readonly #observer: PerformanceObserver
  readonly #pauses: Pause[] = []
  readonly #timed: Pause[] = []

  constructor() {
    this.#observer = new PerformanceObserver((list) => this.#take(list.getEntries()))
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  /** Runs timed work, whose pauses count. Returns how long it took. */
  time(work: () => void): number {
    const from = performance.now()
    work()
    const until = performance.now()
    this.count(from, until)
    return until - from
  }

  /** Counts the pauses in a period that was timed elsewhere. */
  count(from: number, until: number): void {
    this.#timed.push({ from, until })
  }

  /** Must be called before the pauses are read. */
  async stop(): Promise<void> {
    await sleep(DELIVERY_MS)
    this.#take(this.#observer.takeRecords())
    this.#observer.disconnect()
  }

  worstMs(): number {
    return Math.max(0, ...this.#counted().map(({ from, until }) => until - from))
  }

  totalMs(): number {
    return this.#counted().reduce((sum, { from, until }) => sum + until - from, 0)
  }

  /** How much of a period was garbage collection. */
  overlapMs(from: number, until: number): number {
    let sum = 0
    for (const pause of this.#pauses) sum += overlap(pause, { from, until })
    return sum
  }

  #counted(): Pause[] {
    return this.#pauses.filter((pause) => this.#timed.some((timed) => overlap(pause, timed) > 0))
  }

  #take(entries: readonly PerformanceEntry[]): void {
    for (const entry of entries) {
      if (isForced(entry)) continue
      this.#pauses.push({ from: entry.startTime, until: entry.startTime + entry.duration })
    }
  }
}

function overlap(a: Pause, b: Pause): number {
  return Math.max(0, Math.min(a.until, b.until) - Math.max(a.from, b.from))
}

function isForced(entry: PerformanceEntry): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined
  if (typeof detail !== 'object' || detail === null || !('flags' in detail)) return false
  return (Number(detail.flags) & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0
}
