import type { TimersStats } from '../../front/index.js'
import { MAX_METRIC_KINDS, MAX_METRIC_THREADS } from '../defaults.js'
import { labelOf, metricOf } from './metric-text.js'

type ThreadsOfKind = TimersStats['threads'][number]

/**
 * The metrics of handlers on threads, by kind and by thread. At most `MAX_METRIC_KINDS` kinds and `MAX_METRIC_THREADS`
 * threads have lines. Nothing is written if no handler runs on threads.
 *
 * Proven by test/server/thread-metrics.test.ts.
 */
export function* threadMetrics(all: readonly ThreadsOfKind[]): Generator<string> {
  if (all.length === 0) return
  const kinds = all.slice(0, MAX_METRIC_KINDS)
  const each = (value: (kind: ThreadsOfKind) => number) =>
    kinds.map((kind): readonly [string, number] => [labelsOf(kind), value(kind)])
  const threads = kinds
    .flatMap((kind) =>
      kind.threads.map((one) => ({ ...one, labels: `${labelsOf(kind)},thread="${one.thread}"` })),
    )
    .slice(0, MAX_METRIC_THREADS)
  yield* metricOf(
    'carillon_threads',
    'gauge',
    'Threads of handlers that run.',
    each((kind) => kind.threads.length),
  )
  yield* metricOf(
    'carillon_threads_waiting',
    'gauge',
    'Attempts that wait until a thread is free.',
    each(({ waiting }) => waiting),
  )
  yield* metricOf(
    'carillon_thread_deaths_total',
    'counter',
    'Threads that died and were replaced.',
    each(({ deaths }) => deaths),
  )
  yield* metricOf(
    'carillon_thread_interrupted_total',
    'counter',
    'Attempts whose thread ended. Their outcome is unknown.',
    each(({ interrupted }) => interrupted),
  )
  yield* metricOf(
    'carillon_thread_timeouts_total',
    'counter',
    'Attempts on threads that exceeded their timeout.',
    each(({ timeouts }) => timeouts),
  )
  yield* metricOf(
    'carillon_thread_running',
    'gauge',
    'Attempts that a thread has.',
    threads.map(({ labels, running }) => [labels, running]),
  )
  yield* metricOf(
    'carillon_thread_ended_total',
    'counter',
    'Attempts that have ended in a thread.',
    threads.map(({ labels, ended }) => [labels, ended]),
  )
}

function labelsOf({ namespace, kind }: ThreadsOfKind): string {
  return `namespace=${labelOf(namespace)},kind=${labelOf(kind)}`
}
