/** A keyed timer structure as the workload sees it, in ticks of 1 ms. */
export interface KeyedSubject {
  set(key: string, token: number, delayTicks: number): void
  move(key: string, delayTicks: number): void
  /** Whether the timer was still pending. */
  remove(key: string): boolean
  /** Advances by one tick. */
  tick(): void
  stop(): void
}

export interface KeyedKind {
  /** Creates an empty structure at tick 0. */
  readonly open: (fire: (token: number) => void) => KeyedSubject
  readonly notes: () => readonly string[]
}
