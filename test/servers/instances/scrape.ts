import type { StoreCounts } from './ledger.js'
import { tellsSockets } from './socket-owner.js'
import type { LifeCount } from './webhook-receiver.js'

/** The metrics of one instance, and where they differ from what the receiver saw. */
export interface Scrape {
  readonly life: string
  readonly fired: number
  readonly done: number
  readonly received: LifeCount
  /** Whether the counts had to be equal. */
  readonly isExact: boolean
  readonly faults: readonly string[]
}

export interface ScrapeParts {
  readonly life: string
  readonly text: string
  /** What the receiver counted for it. */
  readonly received: LifeCount | undefined
  /** What came over connections whose process the kernel did not name. */
  readonly unknown?: LifeCount | undefined
  /** The counters of the store, as `verify` answers them. */
  readonly counts: StoreCounts
  /** Attempts that got no answer, according to its log. */
  readonly unanswered: number
  /** Whether it lost shards that it had not released. */
  readonly hasLost: boolean
  /** Whether attempts were handed over with their shard or leased by workers. Another process may count their end. */
  readonly isShared?: boolean
}

/**
 * Compares the metrics of an instance with an independent count, when nothing is under way any more:
 *
 * - `carillon_fired_total` with the deliveries that came from that process;
 * - `carillon_done_total` and `carillon_retried_total` with how these were answered;
 * - `carillon_store_*_total` with what `verify` answers, and `carillon_timers_pending` with 0.
 *
 * The two counts may differ by the attempts that got no answer in time, according to its log, and by what came over
 * connections whose process is unknown. A process that was paused for longer than its lease, or lost a shard
 * otherwise, may have started attempts that nobody saw. For it, the receiver must not have counted more than it has
 * fired.
 */
export function scrapeOf(parts: ScrapeParts): Scrape {
  const { life, text, counts, unanswered, hasLost, isShared } = parts
  const received = parts.received ?? { deliveries: 0, done: 0, failed: 0 }
  const of = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  const fired = of('carillon_fired_total')
  const done = of('carillon_done_total')
  const faults: string[] = []
  const within = (name: string, least: number, most: number): void => {
    const value = of(name)
    if (value >= least && value <= most) return
    faults.push(`${life} says ${name} ${value}, wanted ${least === most ? least : `${least} to ${most}`}`)
  }
  for (const [name, count] of Object.entries(counts)) within(`carillon_store_${name}_total`, count, count)
  within('carillon_timers_pending', 0, 0)
  if (tellsSockets) {
    const { deliveries, done: doneHere, failed } = received
    const unknown = parts.unknown ?? { deliveries: 0, done: 0, failed: 0 }
    const mostFired = deliveries + unanswered + unknown.deliveries
    within('carillon_fired_total', deliveries, hasLost ? Infinity : mostFired)
    if (isShared !== true)
      within('carillon_done_total', hasLost ? 0 : doneHere - unanswered, doneHere + unknown.done)
    if (!hasLost && isShared !== true)
      within('carillon_retried_total', failed, failed + unanswered + unknown.failed)
  }
  return {
    life,
    fired,
    done,
    received,
    isExact: tellsSockets && !hasLost && isShared !== true && unanswered === 0,
    faults,
  }
}
