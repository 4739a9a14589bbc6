import type { EngineSettings } from 'carillon/engine'

/**
 * What an engine's process tells the receiver, one line of JSON each, written with one system call before
 * anything else happens: what the receiver has read when the process is dead is all that was said.
 */
export type Line =
  | { readonly say: 'ready'; readonly openMs: number; readonly settings: ChaosSettings }
  /** About to set these, and: these were acknowledged. */
  | { readonly say: 'set'; readonly timers: readonly (readonly [key: string, dueAt: number])[] }
  | { readonly say: 'acked'; readonly keys: readonly string[] }
  /** About to cancel, and: the answer was `cancelled`. */
  | { readonly say: 'cancel'; readonly key: string }
  | { readonly say: 'cancelled'; readonly key: string }
  /** A handler was called with these. */
  | { readonly say: 'fired'; readonly firings: readonly Fired[] }
  /** A handler ended: these are done, or will be tried again. */
  | { readonly say: 'ended'; readonly ids: readonly string[]; readonly isDone: boolean; readonly at: number }
  /** The store acknowledged a settlement. */
  | ({ readonly say: 'settled' } & Settled)
  /** Nothing is left, and so many dead letters. */
  | { readonly say: 'drained'; readonly dead: number }

/** What a settlement settled: what lies before the level or is named, but for what was rewritten. */
export interface Settled {
  readonly level: Place
  /** Revisions. */
  readonly done: readonly number[]
  /** Rows that go on, by the revision they had. Without a place the timer was changed meanwhile. */
  readonly rewritten: readonly (readonly [revision: number, to?: Place])[]
}

export interface Place {
  readonly position: number
  readonly revision: number
}

export interface Fired extends Place {
  readonly key: string
  readonly id: string
  readonly attempt: number
  readonly dueAt: number
  readonly at: number
}

/** How the engine of a round behaves: drawn anew for each. */
export type ChaosSettings = Pick<
  EngineSettings,
  'strategy' | 'windowMs' | 'settleMs' | 'settleCount' | 'carryAfterMs'
>

export function parseLine(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line
  } catch {
    // Cut off by the kill.
    return undefined
  }
}
