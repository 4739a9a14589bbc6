import type { EngineStats } from '../../engine/index.js'
import type { TimersStats } from '../../front/index.js'
import type { Clock } from '../../time/index.js'
import { type Deliveries, deliveryMetrics } from './delivery-metrics.js'
import { kindMetrics } from './kind-metrics.js'
import { labelOf, metric } from './metric-text.js'
import { StoreCalls } from './observed-store.js'
import { ProcessMetrics } from './process-metrics.js'
import { threadMetrics } from './thread-metrics.js'

const DURATION_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

interface RouteCount {
  readonly byStatus: Map<number, number>
  readonly buckets: Float64Array
  sum: number
  count: number
}

/** Counts requests, and writes them with the engine's counts in the text format of Prometheus. */
export class Metrics {
  readonly #routes = new Map<string, RouteCount>()
  readonly #forwards = new Map<string, number>()
  /** Counts the calls of the store. */
  readonly storeCalls: StoreCalls
  readonly #process: ProcessMetrics

  constructor(clock: Clock) {
    this.storeCalls = new StoreCalls(clock)
    this.#process = new ProcessMetrics(clock)
  }

  recordRequest(route: string, status: number, seconds: number): void {
    let count = this.#routes.get(route)
    if (count === undefined) {
      count = { byStatus: new Map(), buckets: new Float64Array(DURATION_SECONDS.length), sum: 0, count: 0 }
      this.#routes.set(route, count)
    }
    count.byStatus.set(status, (count.byStatus.get(status) ?? 0) + 1)
    count.sum += seconds
    count.count++
    for (let at = DURATION_SECONDS.length - 1; at >= 0 && seconds <= DURATION_SECONDS[at]!; at--) {
      count.buckets[at]!++
    }
  }

  /** Counts a message to another instance. */
  recordForward(outcome: string): void {
    this.#forwards.set(outcome, (this.#forwards.get(outcome) ?? 0) + 1)
  }

  stop(): void {
    this.#process.stop()
  }

  /** The text. The store's counts are absent while it does not answer. */
  text(
    stats: EngineStats & Partial<TimersStats>,
    isReady: boolean,
    more: { readonly deliveries: Deliveries; readonly storeLines: readonly string[] },
  ): string {
    const lines = [
      ...this.#store(stats),
      ...this.#timers(stats),
      ...more.storeLines,
      ...kindMetrics(stats.kinds),
      ...threadMetrics(stats.threads ?? []),
      ...deliveryMetrics(more.deliveries),
      ...metric('carillon_ready', 'gauge', 'Whether /readyz answers 200.', Number(isReady)),
      ...this.storeCalls.text(),
      ...this.#requests(),
      ...this.#process.text(),
    ]
    return `${lines.join('\n')}\n`
  }

  *#store({ pending, store }: Partial<TimersStats>): Generator<string> {
    yield* metric(
      'carillon_store_up',
      'gauge',
      'Whether the store answered for this page.',
      Number(store !== undefined),
    )
    if (store === undefined || pending === undefined) return
    yield* metric(
      'carillon_timers_pending',
      'gauge',
      'Timers that are set and not settled, in the store.',
      pending,
    )
    for (const [name, value] of Object.entries(store) as [string, number][]) {
      yield* metric(
        `carillon_store_${name}_total`,
        'counter',
        `Timers ${name} since the store was made.`,
        value,
      )
    }
  }

  *#timers({ counts, shards, unhandled, unowned, clockOffsetMs }: EngineStats): Generator<string> {
    yield* metric(
      'carillon_clock_offset_seconds',
      'gauge',
      "How far this machine's clock is ahead of the store's.",
      clockOffsetMs / 1000,
    )
    yield* metric(
      'carillon_shards_unowned',
      'gauge',
      'Shards without an owner, as far as this instance has seen.',
      unowned.length,
    )
    for (const name of ['fired', 'done', 'retried', 'dead', 'settled', 'superseded', 'carried'] as const) {
      yield* metric(`carillon_${name}_total`, 'counter', `Attempts ${name} by this instance.`, counts[name])
    }
    yield* metric(
      'carillon_missed_total',
      'counter',
      'Timers that could not start by their latest start.',
      counts.missed,
    )
    yield* metric(
      'carillon_unreadable_total',
      'counter',
      'Timers whose row could not be read when they were due. They are dead letters.',
      counts.unreadable,
    )
    yield* metric(
      'carillon_put_back_total',
      'counter',
      'Due timers put back into the store because they could not start and memory was crowded.',
      counts.putBack,
    )
    yield* metric(
      'carillon_offered_total',
      'counter',
      'Due timers offered to other instances because this one does not handle their kind.',
      counts.offered,
    )
    yield '# HELP carillon_unhandled Due timers that wait because no instance handles their kind.'
    yield '# TYPE carillon_unhandled gauge'
    for (const { namespace, kind, waiting } of unhandled)
      yield `carillon_unhandled{namespace=${labelOf(namespace)},kind=${labelOf(kind)}} ${waiting}`
    yield* metric('carillon_shards', 'gauge', 'Shards that this instance owns.', shards.length)
    const sumOf = (of: (shard: (typeof shards)[number]) => number) =>
      shards.reduce((sum, shard) => sum + of(shard), 0)
    yield* metric(
      'carillon_in_memory',
      'gauge',
      'Timers in memory.',
      sumOf(({ inMemory }) => inMemory),
    )
    yield* metric(
      'carillon_in_flight',
      'gauge',
      'Running attempts.',
      sumOf(({ inFlight }) => inFlight),
    )
    yield* metric(
      'carillon_queued',
      'gauge',
      'Operations that wait to be written.',
      sumOf(({ queued }) => queued),
    )
    const { lateness } = counts
    const name = 'carillon_lateness_seconds'
    yield `# HELP ${name} How late attempts began, counted from the due time, or from when the timer was accepted if that is later.`
    yield `# TYPE ${name} histogram`
    let below = 0
    for (const [at, count] of lateness.counts.entries()) {
      below += count
      // Bucket n ends at 2^n milliseconds. The last one has no end and becomes "+Inf".
      if (at < lateness.counts.length - 1) yield `${name}_bucket{le="${2 ** at / 1000}"} ${below}`
    }
    yield `${name}_bucket{le="+Inf"} ${lateness.count}`
    yield `${name}_sum ${lateness.sumMs / 1000}`
    yield `${name}_count ${lateness.count}`
  }

  *#requests(): Generator<string> {
    yield '# HELP carillon_http_requests_total Requests that were answered.'
    yield '# TYPE carillon_http_requests_total counter'
    for (const [route, { byStatus }] of this.#routes) {
      for (const [status, count] of byStatus)
        yield `carillon_http_requests_total{route="${route}",status="${status}"} ${count}`
    }
    yield '# HELP carillon_forwards_total Messages to other instances.'
    yield '# TYPE carillon_forwards_total counter'
    for (const [outcome, count] of this.#forwards)
      yield `carillon_forwards_total{outcome="${outcome}"} ${count}`
    const name = 'carillon_http_request_duration_seconds'
    yield `# HELP ${name} From the first byte of a request to the last of its answer.`
    yield `# TYPE ${name} histogram`
    for (const [route, { buckets, sum, count }] of this.#routes) {
      for (const [at, le] of DURATION_SECONDS.entries())
        yield `${name}_bucket{route="${route}",le="${le}"} ${buckets[at]}`
      yield `${name}_bucket{route="${route}",le="+Inf"} ${count}`
      yield `${name}_sum{route="${route}"} ${sum}`
      yield `${name}_count{route="${route}"} ${count}`
    }
  }
}
