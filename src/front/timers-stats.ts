import type { HandlerThreadsStats } from '../delivery/index.js'
import type { EngineStats } from '../engine/index.js'
import type { FineClock, FineClockStats } from '../parallel/index.js'
import type { Counts } from '../store/index.js'
import type { SharedEngine } from './shared-engine.js'

/** The statistics of one instance and of its store. */
export interface TimersStats extends EngineStats {
  /** Timers in the whole store that are set and not settled. */
  readonly pending: number
  /** How many timers were created, settled and so on since the store was made. */
  readonly store: Counts
  /** The threads of handler modules, in all namespaces that are open here. */
  readonly threads: readonly ThreadsOfKind[]
  /** With `precision: 'fine'`: the alarms of its thread. */
  readonly alarm: FineClockStats | undefined
}

export interface ThreadsOfKind extends HandlerThreadsStats {
  readonly namespace: string
}

/** The statistics of an instance with this engine, on a store with these counts. */
export function timersStatsOf(
  store: Counts,
  shared: SharedEngine,
  fineClock: FineClock | undefined,
): TimersStats {
  return {
    ...shared.engine.stats(),
    pending: store.created - store.settled - store.cancelled - store.replaced - store.dead,
    store,
    threads: shared.threads(),
    alarm: fineClock?.stats,
  }
}
