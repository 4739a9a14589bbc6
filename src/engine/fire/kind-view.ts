import type { LatenessHistogram } from '../lateness-histogram.js'
import type { Lane } from './lane.js'
import type { Throttles } from './throttles.js'

/** What an instance knows about one kind. */
export interface KindView {
  readonly namespace: string
  readonly kind: string
  /** Whether this instance may start timers of the kind: it has a handler or a target, and is not paused. */
  readonly isOpen: boolean
  /** Due timers that wait in memory, and how long the first of them has been due. */
  readonly waiting: number
  readonly overdueMs: number
  /** Attempts under way. */
  readonly inFlight: number
  /** Attempts since this instance was opened, by how they ended. */
  readonly started: number
  readonly ended: Readonly<Record<'done' | 'next' | 'retry' | 'dead', number>>
  /** How late they began. */
  readonly lateness: LatenessHistogram
}

/** The kinds of which this instance has had a due timer. */
export function kindViews(
  throttles: Throttles,
  shards: Iterable<{ readonly lanes: Iterable<Lane> }>,
  now: number,
): readonly KindView[] {
  const waiting = new Map<object, { count: number; dueAt: number }>()
  for (const { lanes } of shards) {
    for (const lane of lanes) {
      const first = lane.peek()
      if (first === undefined) continue
      const known = waiting.get(lane.throttle)
      waiting.set(lane.throttle, {
        count: lane.waiting + (known?.count ?? 0),
        dueAt: Math.min(first.row.dueAt, known?.dueAt ?? Infinity),
      })
    }
  }
  return Array.from(throttles, ({ namespace, kind, throttle }) => {
    const { count = 0, dueAt = now } = waiting.get(throttle) ?? {}
    return {
      namespace,
      kind,
      isOpen: throttle.isOpen,
      waiting: count,
      overdueMs: Math.max(0, now - dueAt),
      inFlight: throttle.running,
      started: throttle.startedCount,
      ended: throttle.endedCounts,
      lateness: throttle.lateness,
    }
  })
}
