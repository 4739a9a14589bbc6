import type { GuardOptions, TargetSeal } from '../delivery/index.js'
import type { EngineSettings, Peers } from '../engine/index.js'
import type { FineClock } from '../parallel/index.js'
import type { Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import type { Calls } from './call/calls.js'
import type { HistoryPolicy } from './read/history-policy.js'
import type { SharedEngine } from './shared-engine.js'
import type { TimersEvent } from './event/timers-event.js'
import type { Tracing } from './event/tracing.js'

/** What `Timers` is made of. */
export interface TimersParts {
  readonly store: Store
  /** Whether `stop` also stops the store. */
  readonly ownsStore: boolean
  readonly clock: Clock
  /** The same clock, if these timers have to stop it. */
  readonly fineClock?: FineClock | undefined
  readonly random: () => number
  readonly namespace: string
  readonly settings: Partial<EngineSettings>
  readonly history: HistoryPolicy
  readonly historyMs: number
  /** Whether to acquire every shard, even before `start`: for a store that no other instance uses. */
  readonly holdsAll: boolean
  /** For webhooks: undefined guards only those in the store, false guards none. */
  readonly guard?: GuardOptions | false | undefined
  /** Encrypts the targets in the store. */
  readonly seal?: TargetSeal | undefined
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined
  readonly onEvent: (event: TimersEvent) => void
  /** Runs the calls. By default with the default timeout. */
  readonly calls?: Calls
  readonly peers?: Peers | undefined
  /** The engine of the timers whose `within` opened these. Without it, these timers make their own engine. */
  readonly within?: SharedEngine
  /** These timers of another namespace were stopped by themselves. */
  readonly onLeft?: () => void
}
