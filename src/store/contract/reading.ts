import type { TimerName, TimerRow } from '../../timer/index.js'
import type { DeadLetter, HistoryEntry } from './records.js'

/** Reads that need no fence. Rows below the settled level are invisible to all of them but `findSettled`. */
export interface StoreReading {
  /** The timers with these names, in the same order. */
  find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]>
  /**
   * The finished timers with these names, in the same order: the rows below the settled level that no sweep has deleted
   * yet. Undefined for a name whose timer has not finished, was removed, or is forgotten. A store of the mode `claim`
   * has no settled level, and answers undefined for every name.
   */
  findSettled(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]>
  /**
   * Rows in the order of shard and place. A page may be short or empty and still have a cursor. A long list works in
   * short turns, so that other calls do not wait for it.
   *
   * A due window reads only rows whose position is in the window, and rows whose position is not their due time. A
   * store may rely on it that the latter are before `lateBefore`, below the read level, or at the position of the
   * settled level.
   */
  list(query: ListQuery): Promise<ListedRows>
  /** How many rows are due in each slice of [fromInclusive, untilExclusive). */
  histogram(query: HistogramQuery): Promise<readonly number[]>
  /** How many rows each kind has, by the time at which they are due. Reads every row. */
  countKinds(query: KindCountQuery): Promise<readonly KindCount[]>
  /** Counters since the store was made: created = rows + settled + cancelled + replaced + dead. */
  counts(): Promise<Counts>
  /** How many rows there are. Reads every row. */
  countRows(): Promise<number>
  /** Counters and rows by shard, or one tally for a store that does not count by shard. Reads every row. */
  tallies(): Promise<readonly Tally[]>
  /** How many timers a namespace has, and the bytes of their payloads. Reads every row. */
  usage(namespace: string): Promise<Usage>
  /** How many dead letters there are, in all namespaces. */
  countDead(): Promise<number>
  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>>
  /** Deletes dead letters of a namespace. False for an id that is not there, or belongs to another namespace. */
  removeDead(namespace: string, ids: readonly string[]): Promise<readonly boolean[]>
  history(query: HistoryQuery): Promise<Listed<HistoryEntry>>
  /** Deletes the history before an instant. Answers how many entries it deleted. */
  pruneHistory(beforeExclusive: number): Promise<number>
}

/** One page of a list. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  /** For the query of the next page; undefined at the end of the list. */
  readonly cursor: string | undefined
}

/** One page of timers. */
export interface ListedRows extends Listed<TimerRow> {
  /** Whether it is as long as asked for, or the last one. Otherwise its budget was used up: the cursor continues. */
  readonly isComplete: boolean
  /** How many rows the list has looked at since its first page. */
  readonly looked: number
}

/** Which page of a list to read. */
export interface PageQuery {
  readonly limit: number
  /** The cursor of the page before; absent for the first page. */
  readonly cursor?: string | undefined
  /** Stop after about this long and answer what was found, with a cursor. Every page makes progress. */
  readonly budgetMs?: number
  /** Stops the query. It then rejects with the signal's reason. A store may ignore it where a query is short. */
  readonly signal?: AbortSignal | undefined
}

/** A timer matches when every given condition holds. */
export interface TimerFilter {
  readonly namespace: string
  readonly kind?: string
  readonly keyPrefix?: string
  /** Is somewhere in the key. */
  readonly keyPart?: string
  readonly tag?: string
  readonly dueFromInclusive?: number
  readonly dueUntilExclusive?: number
  /** Recorded attempts at this occurrence. */
  readonly attemptFromInclusive?: number
  readonly attemptUntilExclusive?: number
  /** Whether its details have a schedule: see `hasSchedule`. */
  readonly isRecurring?: boolean
}

/** Which timers to list. */
export interface ListQuery extends TimerFilter, PageQuery {}

/** Which span to count in slices, and for which timers. */
export interface HistogramQuery {
  readonly namespace?: string
  readonly kind?: string
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly sliceMs: number
}

/** Which timers to count by kind. */
export interface KindCountQuery {
  /** Only the kinds of this namespace. */
  readonly namespace?: string
  /** Slice i is [edges[i], edges[i + 1]). Ascending. Rows due before the first or from the last on are left out. */
  readonly edges: readonly number[]
}

/** The rows of one kind. A kind without rows in the slices has none. */
export interface KindCount {
  readonly namespace: string
  readonly kind: string
  /** How many rows are due in each slice. */
  readonly counts: readonly number[]
  /** How many of them have attempts at their current occurrence. */
  readonly attempted: number
  /** When the first of them is due. */
  readonly firstDueAt: number
}

/** How many there are. */
export interface Counts {
  readonly created: number
  readonly settled: number
  readonly cancelled: number
  readonly replaced: number
  readonly dead: number
}

/** The counters of a shard and the number of its rows. They agree while nothing is being written. */
export interface Tally {
  /** Undefined for a tally of the whole store. */
  readonly shard: number | undefined
  readonly counts: Counts
  readonly rows: number
}

/** What a namespace holds. */
export interface Usage {
  readonly timers: number
  /** Of their payloads together. */
  readonly bytes: number
}

/** Which dead letters to read. */
export interface DeadQuery extends PageQuery {
  readonly namespace: string
  readonly kind?: string
  readonly key?: string
}

/** Which part of the history to read. */
export interface HistoryQuery extends PageQuery {
  readonly namespace: string
  readonly kind?: string
  readonly key?: string
  readonly fromInclusive?: number
  readonly untilExclusive?: number
}
