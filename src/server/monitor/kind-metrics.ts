import type { EngineStats } from '../../engine/index.js'
import { MAX_METRIC_KINDS } from '../defaults.js'
import { labelOf, metricOf } from './metric-text.js'

type KindView = EngineStats['kinds'][number]

const outcomes = ['done', 'next', 'retry', 'dead'] as const

/**
 * The metrics by kind and namespace. At most `MAX_METRIC_KINDS` kinds have lines of their own: those with the most due
 * timers that wait, then those with the most attempts. The others are added up under the kind `(others)`.
 *
 * Proven by test/server/outages/metrics.test.ts.
 */
export function* kindMetrics(kinds: readonly KindView[]): Generator<string> {
  const shown = bounded(kinds)
  const each = (value: (kind: KindView) => number) =>
    shown.map((kind): readonly [string, number] => [labelsOf(kind), value(kind)])
  yield* metricOf(
    'carillon_kind_open',
    'gauge',
    'Whether this instance may start timers of the kind: 0 if it is paused, or has neither handler nor target.',
    each(({ isOpen }) => Number(isOpen)),
  )
  yield* metricOf(
    'carillon_kind_waiting',
    'gauge',
    'Due timers that wait in memory.',
    each(({ waiting }) => waiting),
  )
  yield* metricOf(
    'carillon_kind_overdue_seconds',
    'gauge',
    'How long the first waiting timer has been due.',
    each(({ overdueMs }) => overdueMs / 1000),
  )
  yield* metricOf(
    'carillon_kind_in_flight',
    'gauge',
    'Running attempts.',
    each(({ inFlight }) => inFlight),
  )
  yield* metricOf(
    'carillon_kind_fired_total',
    'counter',
    'Attempts that were started.',
    each(({ started }) => started),
  )
  yield* metricOf(
    'carillon_kind_ended_total',
    'counter',
    'Attempts by how they ended; next is an occurrence of a schedule that is done.',
    shown.flatMap((kind) =>
      outcomes.map((outcome) => [`${labelsOf(kind)},outcome="${outcome}"`, kind.ended[outcome]] as const),
    ),
  )
}

function labelsOf({ namespace, kind }: KindView): string {
  return `namespace=${labelOf(namespace)},kind=${labelOf(kind)}`
}

function bounded(kinds: readonly KindView[]): readonly KindView[] {
  if (kinds.length <= MAX_METRIC_KINDS) return kinds
  const sorted = kinds.toSorted((a, b) => b.waiting - a.waiting || b.started - a.started)
  const others = sorted.splice(MAX_METRIC_KINDS)
  return [...sorted, others.reduce(together, { ...others[0]!, ...none })]
}

const none = Object.freeze({
  namespace: '',
  kind: '(others)',
  isOpen: true,
  waiting: 0,
  overdueMs: 0,
  inFlight: 0,
  started: 0,
  ended: { done: 0, next: 0, retry: 0, dead: 0 },
})

function together(sum: KindView, each: KindView): KindView {
  return {
    ...sum,
    isOpen: sum.isOpen && each.isOpen,
    waiting: sum.waiting + each.waiting,
    overdueMs: Math.max(sum.overdueMs, each.overdueMs),
    inFlight: sum.inFlight + each.inFlight,
    started: sum.started + each.started,
    ended: {
      done: sum.ended.done + each.ended.done,
      next: sum.ended.next + each.ended.next,
      retry: sum.ended.retry + each.ended.retry,
      dead: sum.ended.dead + each.ended.dead,
    },
  }
}
