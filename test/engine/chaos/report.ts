import type { EngineSettings } from 'carillon/engine'

/**
 * What an engine's process reports to the receiver, one line of JSON each. A line is written synchronously before
 * anything else runs. So when the process is dead, the receiver has read every report.
 */
export type Line =
  | { readonly say: 'ready'; readonly openMs: number; readonly settings: ChaosSettings }
  /** These are about to be set, and these were acknowledged. */
  | { readonly say: 'set'; readonly timers: readonly (readonly [key: string, dueAt: number])[] }
  | { readonly say: 'acked'; readonly keys: readonly string[] }
  /** This is about to be cancelled, and the answer was `cancelled`. */
  | { readonly say: 'cancel'; readonly key: string }
  | { readonly say: 'cancelled'; readonly key: string }
  /** A handler was called with these firings. */
  | { readonly say: 'fired'; readonly firings: readonly Fired[] }
  /** A handler ended: these are done, or will be retried. */
  | { readonly say: 'ended'; readonly ids: readonly string[]; readonly isDone: boolean; readonly at: number }
  /** The store acknowledged a settlement. */
  | ({ readonly say: 'settled' } & Settled)
  /** No timer is left. The number of dead letters. */
  | { readonly say: 'drained'; readonly dead: number }

/** What a settlement settled: rows below the level and rows that are named, except those that were rewritten. */
export interface Settled {
  readonly level: Place
  /** Revisions. */
  readonly done: readonly number[]
  /** Rewritten rows, by their old revision. Without a place the timer was changed meanwhile. */
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

/** The settings of the engine in a round, drawn at random. */
export type ChaosSettings = Pick<
  EngineSettings,
  'strategy' | 'windowMs' | 'settleMs' | 'settleCount' | 'carryAfterMs'
>

export function parseLine(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line
  } catch {
    // The kill cut the line off.
    return undefined
  }
}
