import type { Counts, Store, Tally } from '../store/index.js'

// A store that is written to while its rows are counted may seem to lack some: it is counted again.
const MOST_LOOKS = 5

/** What a count of rows found in a shard, or in the whole store where it does not count by shard. */
export interface VerifiedShard {
  readonly shard?: number
  /** Rows that the counters know of and that are not there; below zero, rows that no counter knows of. */
  readonly missing: number
  readonly rows: number
  readonly counts: Counts
}

/**
 * Counts every row and holds it against the counters, shard by shard, so that what one shard lacks is not made up for
 * by what another has too many of. Where they differ, all is counted again: a shard is whole when it was so once,
 * because rows that are gone do not come back.
 */
export async function verified(store: Store): Promise<readonly VerifiedShard[]> {
  const found = new Map<number | undefined, VerifiedShard>()
  for (let look = 0; look < MOST_LOOKS; look++) {
    for (const tally of await store.tallies()) {
      const before = found.get(tally.shard)
      const now = verifiedShard(tally)
      if (before === undefined || Math.abs(now.missing) < Math.abs(before.missing))
        found.set(tally.shard, now)
    }
    if ([...found.values()].every(({ missing }) => missing === 0)) break
  }
  return [...found.values()]
}

function verifiedShard({ shard, counts, rows }: Tally): VerifiedShard {
  const { created, settled, cancelled, replaced, dead } = counts
  const pending = created - settled - cancelled - replaced - dead
  return { ...(shard !== undefined && { shard }), missing: pending - rows, rows, counts }
}

/** All of them together. */
export function sumOf(shards: readonly VerifiedShard[]): { readonly rows: number; readonly counts: Counts } {
  const counts = { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
  let rows = 0
  for (const shard of shards) {
    rows += shard.rows
    for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] += shard.counts[name]
  }
  return { rows, counts }
}
