import { ATTEMPT_SECONDS } from '../../delivery/index.js'
import type { DeliveryReport } from '../../front/index.js'
import { MAX_METRIC_KINDS } from '../defaults.js'
import { labelOf, metric, metricOf } from './metric-text.js'

/** The deliveries of each namespace that is open here. */
export type Deliveries = readonly (readonly [namespace: string, report: DeliveryReport])[]

interface Shown {
  readonly labels: string
  readonly kind: DeliveryReport['kinds'][number]
}

/**
 * The metrics of deliveries by kind and namespace: pauses, breakers, targets, answers and durations. At most
 * `MAX_METRIC_KINDS` kinds are shown: those that are paused or whose breaker is open, then those with the most attempts.
 *
 * Proven by test/server/outages/metrics.test.ts.
 */
export function* deliveryMetrics(deliveries: Deliveries): Generator<string> {
  const shown = shownKinds(deliveries)
  const flags = [
    ['carillon_kind_paused', 'Whether the kind, or everything in its namespace, is paused.', 'isPaused'],
    ['carillon_kind_breaker_open', 'Whether the breaker of its target is open here.', 'isBreakerOpen'],
    ['carillon_kind_handled', 'Whether any instance has a handler or a target for the kind.', 'isHandled'],
  ] as const
  for (const [name, help, flag] of flags) {
    const values = shown.map(({ labels, kind }): readonly [string, number] => [labels, Number(kind[flag])])
    yield* metricOf(name, 'gauge', help, values)
  }
  yield* metricOf(
    'carillon_kind_answers_total',
    'counter',
    'Messages to the target by the class of its answer; none if there was no answer.',
    shown.flatMap(({ labels, kind }) =>
      Array.from(kind.answers ?? [], ([name, count]) => [`${labels},class="${name}"`, count] as const),
    ),
  )
  yield* durations(shown)
  const sum = (of: (report: DeliveryReport) => number) =>
    deliveries.reduce((total, [, report]) => total + of(report), 0)
  yield* metric(
    'carillon_worker_leases',
    'gauge',
    'Firings that workers have leased here.',
    sum(({ leased }) => leased),
  )
  yield* metric(
    'carillon_workers_waiting',
    'gauge',
    'Workers that wait for firings here.',
    sum(({ waitingWorkers }) => waitingWorkers),
  )
}

function* durations(shown: readonly Shown[]): Generator<string> {
  const name = 'carillon_kind_attempt_seconds'
  yield `# HELP ${name} How long attempts took that waited for something, such as an answer.`
  yield `# TYPE ${name} histogram`
  for (const { labels, kind } of shown) {
    if (kind.times === undefined) continue
    const { upTo, count, sumMs } = kind.times
    for (const [at, le] of ATTEMPT_SECONDS.entries()) yield `${name}_bucket{${labels},le="${le}"} ${upTo[at]}`
    yield `${name}_bucket{${labels},le="+Inf"} ${count}`
    yield `${name}_sum{${labels}} ${sumMs / 1000}`
    yield `${name}_count{${labels}} ${count}`
  }
}

function shownKinds(deliveries: Deliveries): readonly Shown[] {
  const all = deliveries.flatMap(([namespace, { kinds }]) =>
    kinds.map((kind) => ({
      labels: `namespace=${labelOf(namespace)},kind=${labelOf(kind.kind)}`,
      kind,
      rank: kind.isPaused || kind.isBreakerOpen ? Infinity : (kind.times?.count ?? 0),
    })),
  )
  if (all.length <= MAX_METRIC_KINDS) return all
  return all.toSorted((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank)).slice(0, MAX_METRIC_KINDS)
}
