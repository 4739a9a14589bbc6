/**
 * What a child reports to its parent, one line of JSON each: which call it begins, and which call the store
 * acknowledged. Each line is written with one system call before the child goes on. So when the child is dead, the
 * parent has read everything that it reported.
 */
export type ReportLine =
  | { readonly type: 'ready'; readonly openMs: number; readonly epoch: number }
  | { readonly type: 'begun'; readonly call: number; readonly changes: readonly Change[] }
  /** The revision of each change, 0 for a change without one. */
  | { readonly type: 'acknowledged'; readonly call: number; readonly revisions: readonly number[] }
  /** The backup has exactly what was acknowledged before this line. */
  | { readonly type: 'backed-up'; readonly folder: string }

/** One effect of a call. After a crash a call has all of its effects or none. */
export type Change =
  | { readonly to: 'live'; readonly key: string; readonly row: RowState }
  | { readonly to: 'removed'; readonly key: string; readonly how: 'cancelled' | 'settled' | 'dead' }
  | { readonly to: 'requested'; readonly request: string }
  | { readonly to: 'answered'; readonly request: string }
  | { readonly to: 'level'; readonly position: number; readonly revision: number }
  | { readonly to: 'epoch'; readonly epoch: number }

/** The fields of a row that are compared. */
export interface RowState {
  readonly identity: number
  readonly position: number
  readonly attempt: number
  readonly payload: string
}

export function parseReportLine(text: string): ReportLine | undefined {
  try {
    return JSON.parse(text) as ReportLine
  } catch {
    // The kill cut the line off.
    return undefined
  }
}
