/**
 * A timer structure as the workload sees it. Each is measured in a process of its own, so the calls through
 * this interface always meet the same class and V8 inlines them.
 */
export interface Subject<H> {
  set(dueTick: number, token: number): H
  /** The handle that is valid from now on. Structures that cannot move set anew, for which they get the token. */
  move(handle: H, dueTick: number, token: number): H
  /** Whether the timer was still pending; a structure that cannot say answers true. */
  cancel(handle: H): boolean
  /** Fires what is due up to and including `tick`. */
  advance(tick: number): void
  /** What it says it holds; for one that keeps its timers where V8 does not count. */
  heldBytes?(): number
}

export interface SubjectKind<H> {
  /** A fresh and empty structure at tick 0. */
  readonly open: (fire: (token: number) => void) => Subject<H>
  /** Room for the caller's handles, touched: it must not count as the structure's memory. */
  readonly handles: (n: number) => Handles<H>
  /** How many 1 ms ticks it advances at a time: 1 unless it knows no finer time. */
  readonly stepTicks: number
  /** False for a structure whose `cancel` cannot say whether the timer was pending. */
  readonly knowsStale: boolean
  /** False for a structure whose ticks take so long that firing all would take minutes. */
  readonly firesAll: boolean
  readonly notes: readonly string[]
}

export interface Handles<H> {
  [i: number]: H
}
