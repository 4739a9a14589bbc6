/**
 * What an instance tells the receiver, one line of JSON each, written with one system call before anything else
 * happens: what the receiver has read when the process is dead is all that was said. Lines of different instances
 * arrive in any order, so whatever has to be compared carries `at`: milliseconds of the machine's monotonic
 * clock, which all processes of one machine share.
 */
export type Line =
  | { readonly say: 'ready' }
  /** About to set these, and: these were acknowledged. The others of them may be there or not. */
  | { readonly say: 'set'; readonly timers: readonly (readonly [key: string, dueAt: number])[] }
  | { readonly say: 'acked'; readonly keys: readonly string[] }
  | { readonly say: 'unsure'; readonly keys: readonly string[] }
  /** About to cancel, and: the answer was `cancelled`. */
  | { readonly say: 'cancel'; readonly key: string }
  | { readonly say: 'cancelled'; readonly key: string; readonly at: number }
  /** A handler was called with these. */
  | { readonly say: 'fired'; readonly firings: readonly Fired[] }
  /** A handler ended: these attempts are done, or will be tried again. */
  | {
      readonly say: 'ended'
      readonly attempts: readonly (readonly [key: string, attempt: number])[]
      readonly isDone: boolean
      readonly at: number
    }
  /** A handler blocked the event loop, longer than the lease allows. */
  | { readonly say: 'blocked'; readonly from: number; readonly until: number }
  /** The store acknowledged the settlement of these. */
  | { readonly say: 'settled'; readonly keys: readonly string[]; readonly at: number }
  /** A shard came or went. */
  | { readonly say: 'acquired' | 'let-go'; readonly shard: number; readonly at: number }
  /** The engine announced something else. */
  | {
      readonly say: 'event'
      readonly type: string
      readonly shard?: number
      readonly text: string
      readonly at: number
    }
  /** What was asked for by a command of that number is done; `text` is the answer. */
  | { readonly say: 'answer'; readonly number: number; readonly text: string }
  /** A call to the store failed, and this is the code of its error. */
  | { readonly say: 'trouble'; readonly code: string }

export interface Fired {
  readonly key: string
  readonly id: string
  readonly attempt: number
  readonly dueAt: number
  /** When its engine looked at its lease and started it; the handler is called some moments later. */
  readonly startedAt: number
  readonly at: number
  /** The shard of its row, where the strategy has owners. */
  readonly shard?: number
}

/** Milliseconds of the clock that all processes of this machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export function parseLine(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line
  } catch {
    // Cut off by the kill.
    return undefined
  }
}
