import type { Firing, Outcome } from '../timer/index.js'
import type { HistoryNote, KindName } from '../store/index.js'
import type { HandOver } from './hand-over.js'

/** How much may be under way, and what is written down of it: what the engine asks of whoever uses it. */
export interface Flow {
  /** Attempts of a kind at once, in the whole instance; 0 while it has no handler or is paused. */
  concurrencyOf(namespace: string, kind: string): number
  /** Attempts of a kind per second, in the whole instance; undefined for as many as come. */
  rateOf(namespace: string, kind: string): number | undefined
  /** The kinds that may have attempts at all; undefined for every kind there is. Only claims ask for them. */
  kinds(): readonly KindName[] | undefined
  /** How many attempts may still be started in all: a bounded pass takes from it. */
  readonly allowance: { left: number }
  /** What the history gets of an attempt that ended, or of one whose outcome nobody knows. */
  notesOf(firing: Firing, ending: Ending): readonly HistoryNote[]
}

/** How an attempt ended; `handOver` when its shard changed hands while the timer was due. */
export type Ending = { readonly at: number; readonly handOver: HandOver | undefined } & (
  | { readonly type: 'ended'; readonly outcome: Outcome; readonly isFollowed: boolean }
  | { readonly type: 'unknown' }
)

/** Everything at once, nothing written down. */
export function freeFlow(concurrency: number): Flow {
  return {
    concurrencyOf: () => concurrency,
    rateOf: () => undefined,
    kinds: () => undefined,
    allowance: { left: Infinity },
    notesOf: () => [],
  }
}
