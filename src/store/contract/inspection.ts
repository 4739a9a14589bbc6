import type { TimerRow } from '../../timer/index.js'

/** Reading everything that is stored, to find what cannot be read. Calls go on meanwhile. */
export interface StoreInspection {
  /** Reads every row and every record, with their checksums if they have any. Changes nothing. */
  inspect(options: InspectOptions): Promise<Inspection>
}

/** How far an inspection goes, and whom it tells. */
export interface InspectOptions {
  /** Why a row is of no use although the store can read it; undefined if nothing is wrong. */
  readonly checkRow: (row: TimerRow) => string | undefined
  /** Is called now and then. */
  readonly onProgress?: (progress: InspectProgress) => void
  /** Ends the inspection. It then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** How far an inspection has come. */
export interface InspectProgress {
  readonly checkedRows: number
  /** About how many there are. */
  readonly totalRows: number
}

/** What was read, and what is damaged. */
export interface Inspection {
  /** Rows of timers. A file store also reads removed rows that it still has. */
  readonly rows: number
  /** Dead letters, entries of the history, settings and requests. */
  readonly records: number
  /** How many values had a checksum of Carillon's. A database has its own. */
  readonly checksums: number
  readonly damageCount: number
  /** The first of them. */
  readonly damages: readonly Damage[]
}

/** Something that cannot be read, and where it is. */
export interface Damage {
  /** What is damaged: a page of the file, a row of a shard, … */
  readonly where: string
  readonly what: string
}
