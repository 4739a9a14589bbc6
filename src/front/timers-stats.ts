import type { HandlerThreadsStats } from '../delivery/index.js'
import type { EngineStats } from '../engine/index.js'
import type { FineClockStats } from '../parallel/index.js'
import type { Counts } from '../store/index.js'

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
