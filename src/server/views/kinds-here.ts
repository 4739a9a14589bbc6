import type { KindHere as KindHereInFront, Timers } from '../../front/index.js'
import { MAX_OVERVIEW_KINDS } from '../defaults.js'
import type { SeriesRecorder } from './series.js'
import { counted } from './step-ring.js'

const MINUTE_MS = 60_000
const LATENESS_MS = 600_000

/** What one instance knows about a kind. */
export interface KindHere extends KindHereInFront {
  readonly waiting: number
  /** How long the first waiting timer has been due. */
  readonly overdueMs: number
  readonly inFlight: number
  /** What happened in the last minute: the counts of a step. */
  readonly minute: readonly number[]
  /** How late the attempts of the last ten minutes began: the buckets of a step. */
  readonly recent: readonly number[]
}

/** The kinds of a namespace as this instance sees them. Empty if the namespace is not open here. */
export function kindsHere(
  namespace: string,
  timers: Timers | undefined,
  recorder: SeriesRecorder,
): readonly KindHere[] {
  if (timers === undefined) return []
  recorder.sample()
  const views = new Map(
    timers.engine
      .stats()
      .kinds.filter((view) => view.namespace === namespace)
      .map((view) => [view.kind, view]),
  )
  // Due timers of a kind may be here before this instance has heard of the kind.
  const known = timers.kindsHere(views.keys())
  return known.slice(0, MAX_OVERVIEW_KINDS).map((here): KindHere => {
    const { kind } = here
    const { waiting = 0, overdueMs = 0, inFlight = 0 } = views.get(kind) ?? {}
    return Object.assign(here, {
      waiting,
      overdueMs,
      inFlight,
      minute: recorder.recent(namespace, kind, MINUTE_MS).slice(0, counted.length),
      recent: recorder.recent(namespace, kind, LATENESS_MS).slice(counted.length),
    })
  })
}
