/**
 * A timer structure as the workload uses it. Each is measured in its own process, so calls through this interface always
 * reach the same class, and V8 inlines them.
 */
export interface Subject<H> {
  set(dueTick: number, token: number): H
  /** Returns the handle that is valid from now on. A structure that cannot move sets a new timer with the token. */
  move(handle: H, dueTick: number, token: number): H
  /** Whether the timer was still pending. A structure that does not know returns true. */
  cancel(handle: H): boolean
  /** Fires all timers due up to and including `tick`. */
  advance(tick: number): void
  /** The bytes it reports itself, for a structure whose memory V8 does not count. */
  heldBytes?(): number
}

export interface SubjectKind<H> {
  /** Creates an empty structure at tick 0. */
  readonly open: (fire: (token: number) => void) => Subject<H>
  /** Memory for the caller's handles, already touched so that it does not count as the structure's memory. */
  readonly handles: (n: number) => Handles<H>
  /** How many 1 ms ticks it advances at a time: 1 unless its resolution is coarser. */
  readonly stepTicks: number
  /** False for a structure whose `cancel` does not know whether the timer was pending. */
  readonly knowsStale: boolean
  /** False for a structure whose ticks take so long that firing all would take minutes. */
  readonly firesAll: boolean
  readonly notes: readonly string[]
}

export interface Handles<H> {
  [i: number]: H
}
