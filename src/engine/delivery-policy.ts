import type { Firing, Outcome } from '../timer/index.js'
import type { HistoryNote, KindName } from '../store/index.js'
import { KindFilter } from './cluster/kind-filter.js'
import type { OwnerChange } from './own/owner-change.js'

/** How many attempts may run, and what the history records: the engine's user decides. */
export interface DeliveryPolicy {
  /** How many attempts of a kind may run at once in the instance; 0 while it has no handler or is paused. */
  concurrencyOf(namespace: string, kind: string): number
  /** How many attempts of a kind may start per second in the instance; undefined for no limit. */
  rateOf(namespace: string, kind: string): number | undefined
  /** Whether this instance has a handler for a kind, paused or not. If not, its timers are offered to other members. */
  handles(namespace: string, kind: string): boolean
  /** The kinds of due timers that owners may offer to this instance. */
  takes(): KindFilter
  /** The kinds that may run at all; undefined for every kind. Only the strategy `claim` asks for them. */
  kinds(): readonly KindName[] | undefined
  /** How many attempts may still be started in all: a bounded pass sets it. */
  readonly allowance: { left: number }
  /** False if `notesOf` has nothing for a first attempt that succeeded. Most attempts are such: it is not asked then. */
  readonly notesSuccesses: boolean
  /** The history of an attempt that has ended, or whose outcome is unknown. */
  notesOf(firing: Firing, ending: Ending): readonly HistoryNote[]
}

/** How an attempt ended. `ownerChange` is set if its shard changed its owner while the timer was due. */
export type Ending = { readonly at: number; readonly ownerChange: OwnerChange | undefined } & (
  | { readonly type: 'ended'; readonly outcome: Outcome; readonly isFollowed: boolean }
  | { readonly type: 'unknown' }
  /** No attempt was made: the timer may not start any more. */
  | { readonly type: 'given-up'; readonly reason: string }
)

/** No limits but `concurrency` for each kind, and no history. */
export function unlimitedPolicy(concurrency: number): DeliveryPolicy {
  return {
    concurrencyOf: () => concurrency,
    rateOf: () => undefined,
    handles: () => true,
    takes: () => KindFilter.all,
    kinds: () => undefined,
    allowance: { left: Infinity },
    notesSuccesses: true,
    notesOf: () => [],
  }
}
