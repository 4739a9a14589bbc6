import type { Counts, Store, Tally } from '../../store/index.js'
import { MAX_VERIFY_PASSES } from '../defaults.js'

/** The result for one shard, or for the whole store if it does not count by shard. */
export interface ShardVerification {
  readonly shard?: number
  /** Rows that the counters expect but that do not exist. Negative: rows that no counter expects. */
  readonly missing: number
  readonly rows: number
  readonly counts: Counts
}

/**
 * Counts every row and compares the sum with the counters, shard by shard: a surplus in one shard cannot hide a loss in
 * another. If a shard differs, all are counted again, because writes may have come in between. A shard is whole if one
 * count matched, because lost rows do not come back.
 *
 * Proven by test/server/verify.test.ts.
 */
export async function verifyStore(store: Store): Promise<readonly ShardVerification[]> {
  const found = new Map<number | undefined, ShardVerification>()
  for (let pass = 0; pass < MAX_VERIFY_PASSES; pass++) {
    for (const tally of await store.tallies()) {
      const before = found.get(tally.shard)
      const now = verifyTally(tally)
      if (before === undefined || Math.abs(now.missing) < Math.abs(before.missing))
        found.set(tally.shard, now)
    }
    if ([...found.values()].every(({ missing }) => missing === 0)) break
  }
  return [...found.values()]
}

function verifyTally({ shard, counts, rows }: Tally): ShardVerification {
  const { created, settled, cancelled, replaced, dead } = counts
  const pending = created - settled - cancelled - replaced - dead
  return { ...(shard !== undefined && { shard }), missing: pending - rows, rows, counts }
}

/** The rows and counters of all shards together. */
export function sumOf(shards: readonly ShardVerification[]): {
  readonly rows: number
  readonly counts: Counts
} {
  const counts = { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
  let rows = 0
  for (const shard of shards) {
    rows += shard.rows
    for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] += shard.counts[name]
  }
  return { rows, counts }
}
