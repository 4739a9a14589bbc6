import type { MemoryStore } from '../../store/index.js'
import type { VirtualClock } from '../../time/index.js'
import type { Chaos } from './chaos.js'
import type { Journal } from './journal.js'
import type { Ledger } from './ledger.js'
import type { Peephole } from './peephole.js'
import type { Plan } from './plan.js'
import type { Receiver } from './receiver.js'
import type { ShardCheck } from './shard-check.js'

/** What all processes of a run share. `clock` is true time, and the store's. */
export interface World {
  readonly plan: Plan
  readonly clock: VirtualClock
  readonly store: MemoryStore
  readonly peephole: Peephole
  readonly journal: Journal
  readonly ledger: Ledger
  readonly shardCheck: ShardCheck
  readonly chaos: Chaos
  readonly receiver: Receiver
}
