/**
 * What a child tells its parent, one line of JSON each: what it is about to ask of the store, and what the store
 * acknowledged. A line is written with one system call before anything else happens, so what the parent has read
 * when the child is dead is all that was said.
 */
export type Line =
  | { readonly say: 'ready'; readonly openMs: number }
  | { readonly say: 'ask'; readonly call: number; readonly changes: readonly Change[] }
  /** The revisions that the changes were given, 0 where there is none. */
  | { readonly say: 'done'; readonly call: number; readonly revisions: readonly number[] }

/** What becomes of one key when a call is carried out. A call is carried out wholly or not at all. */
export type Change =
  | { readonly to: 'standing'; readonly key: string; readonly row: Standing }
  | { readonly to: 'gone'; readonly key: string; readonly how: 'cancelled' | 'settled' | 'dead' }
  | { readonly to: 'asked'; readonly request: string }
  | { readonly to: 'answered'; readonly request: string }
  | { readonly to: 'level'; readonly position: number; readonly revision: number }

/** What is compared of a row. */
export interface Standing {
  readonly identity: number
  readonly position: number
  readonly attempt: number
  readonly payload: string
}

export function parseLine(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line
  } catch {
    // Cut off by the kill.
    return undefined
  }
}
