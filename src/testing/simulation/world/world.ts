import type { MemoryStore } from '../../../store/index.js'
import type { VirtualClock } from '../../../time/index.js'
import type { Chaos } from '../plan/chaos.js'
import type { Journal } from '../check/journal.js'
import type { Ledger } from '../check/ledger.js'
import type { StoreInspector } from '../check/store-inspector.js'
import type { Plan } from '../plan/plan.js'
import type { Receiver } from './receiver.js'
import type { ShardCheck } from '../check/shard-check.js'
import type { StoreTime } from './store-time.js'

/** What all processes of a run share. `clock` is true time, `time` is the store's clock. */
export interface World {
  readonly plan: Plan
  readonly clock: VirtualClock
  readonly time: StoreTime
  readonly store: MemoryStore
  readonly inspector: StoreInspector
  readonly journal: Journal
  readonly ledger: Ledger
  readonly shardCheck: ShardCheck
  readonly chaos: Chaos
  readonly receiver: Receiver
}
