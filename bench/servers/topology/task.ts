import type { Row } from '../subject.js'

/** What a process does: only set, only fire, or both as the owner of every shard. */
export type Role = 'setter' | 'worker' | 'both'

/** A candidate in one process of the topology. */
export interface TopologySubject {
  /** The rows per call and the calls in flight that suit it best. */
  readonly batch: number
  readonly inFlight: number
  add(rows: readonly Row[]): Promise<void>
  /** Resolves when everything that was added is where it will be fired from. Others than ours add it there. */
  applied?(): Promise<void>
  /** From now on due rows are passed to `handle`. */
  work(handle: (key: string, order: number) => void): Promise<void>
  /** Resolves when this many rows were handled since the start, and the server has recorded it. */
  settled(count: number): Promise<void>
  setOne(row: Row): Promise<void>
  moveOne(key: string, dueAt: number): Promise<void>
  cancelOne(key: string): Promise<void>
  stop(): Promise<void>
}

export interface TopologyModule {
  /** Ours. */
  openAs?(role: Role, url: string): Promise<TopologySubject>
  /** A peer's, which is the same in every role. */
  open?(url: string): Promise<TopologySubject>
}

/** The arguments of a process. */
export interface ProcessTask {
  readonly module: string
  readonly url: string
  readonly role: Role
}

/** What the parent asks of a process, one thing at a time. */
export type Command =
  | { readonly ask: 'add'; readonly n: number; readonly prefix: string; readonly dueAt: number }
  | { readonly ask: 'applied' }
  | { readonly ask: 'work' }
  /** Until this many rows were handled since the start. */
  | { readonly ask: 'settled'; readonly count: number }
  | { readonly ask: 'single'; readonly what: Single; readonly n: number; readonly callers: number }
  | { readonly ask: 'cpu' }
  | { readonly ask: 'stop' }

export type Single = 'set' | 'move' | 'cancel'

/** Named figures: `ms` how long it took, `at` when it ended by the clock, `cpuUs` processor time until now. */
export type Reply = { readonly figures: Readonly<Record<string, number>> } | { readonly error: string }
