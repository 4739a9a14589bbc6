/** What a worker of a pool is given when it starts. */
export interface PoolTask {
  readonly name: string
  readonly url: string
  readonly kinds: readonly string[]
}

/** What it reports, one line of JSON each. Times are those of the machine's wall clock, which nothing moves here. */
export type PoolLine =
  /** The process has opened its timers. */
  | { readonly say: 'open' }
  | { readonly say: 'up'; readonly at: number }
  /** Attempts that started. */
  | { readonly say: 'fired'; readonly firings: readonly PoolFiring[] }
  /** How many due timers of each kind wait on its shards because nobody handles them. */
  | { readonly say: 'unhandled'; readonly waiting: Readonly<Record<string, number>> }
  | { readonly say: 'event'; readonly type: string }

export type PoolFiring = readonly [kind: string, key: string, dueAt: number, at: number]
