import type { WebFiring } from '../web/key-history.js'
import type { WebRow } from '../web/web-line.js'

/**
 * What an instance reports to the receiver: one line of JSON each. Each is written with one system call before
 * anything else happens, so a killed process has lost no report. Lines of different instances arrive in any order. So
 * everything that is compared has a time `at`: milliseconds of the machine's monotonic clock, which all its processes
 * share.
 */
export type Line =
  | { readonly say: 'ready' }
  /** Before the sets, and after them with those that were acknowledged. The others may exist or not. */
  | { readonly say: 'set'; readonly timers: readonly (readonly [key: string, dueAt: number])[] }
  | { readonly say: 'acked'; readonly keys: readonly string[] }
  | { readonly say: 'unsure'; readonly keys: readonly string[] }
  /** Before a cancel, and after it if the answer was `cancelled`. */
  | { readonly say: 'cancel'; readonly key: string }
  | { readonly say: 'cancelled'; readonly key: string; readonly at: number }
  /** A handler was called with these firings. */
  | { readonly say: 'fired'; readonly firings: readonly Fired[] }
  /** A handler ended: these attempts are done, or will be retried. */
  | {
      readonly say: 'ended'
      readonly attempts: readonly (readonly [key: string, attempt: number])[]
      readonly isDone: boolean
      readonly at: number
    }
  /** A handler was called with a timer of a web process, and it ended. */
  | ({ readonly say: 'web-fired' } & Omit<WebFiring, 'by'>)
  | ({ readonly say: 'web-ended'; readonly isDone: boolean; readonly rowDueAt: number } & WebRow)
  /** A handler blocked the event loop, longer than the lease allows. */
  | { readonly say: 'blocked'; readonly from: number; readonly until: number }
  /** The store acknowledged the settlement of these timers. */
  | { readonly say: 'settled'; readonly keys: readonly string[]; readonly at: number }
  /** The instance acquired a shard, or released or lost it. */
  | { readonly say: 'acquired' | 'let-go'; readonly shard: number; readonly at: number }
  /** The engine emitted another event. */
  | {
      readonly say: 'event'
      readonly type: string
      readonly shard?: number
      readonly text: string
      readonly at: number
    }
  /** The command with this number is done. `text` is the answer. */
  | { readonly say: 'answer'; readonly number: number; readonly text: string }
  /** A call to the store failed, and this is the code of its error. */
  | { readonly say: 'trouble'; readonly code: string }

export interface Fired {
  readonly key: string
  readonly id: string
  readonly attempt: number
  readonly dueAt: number
  /** When its engine checked its lease and started it. The handler is called a moment later. */
  readonly startedAt: number
  readonly at: number
  /** The shard of its row, if the strategy has owners. */
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
    // The process was killed while it wrote the line.
    return undefined
  }
}
