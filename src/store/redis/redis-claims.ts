import { shardOf } from '../../timer/index.js'
import type {
  ClaimedRow,
  ClaimSettlement,
  ClaimToken,
  DueClaim,
  HistoryEntry,
  LongLease,
  LongLeaseQuery,
  NextDueQuery,
  StoreClaims,
} from '../store.js'
import { callByShard, HistoryByShard } from './batch/by-shard.js'
import { POSITION_DIGITS } from './codec/place-codec.js'
import type { RedisShard } from './redis-shard.js'
import type { ShardScripts } from './scripts/shard-scripts.js'
import { ShardClaims } from './shard-claims.js'

/**
 * Row claims of a whole store: each call becomes one script per shard that it concerns. So a call is atomic within a
 * shard, not across shards.
 *
 * Proven by test/store/redis/claim.test.ts and the store contract.
 */
export class RedisClaims implements StoreClaims {
  readonly #shards: readonly ShardClaims[]

  constructor(shards: readonly RedisShard[], scripts: ShardScripts) {
    this.#shards = shards.map((shard) => new ShardClaims(shard, scripts))
  }

  async claimDue(claim: DueClaim): Promise<ClaimedRow[]> {
    if (claim.limit <= 0) return []
    if (this.#shards.length === 1) return await this.#shards[0]!.claimDue(claim, claim.limit)
    for (;;) {
      const claimed = await this.#claimEarliest(claim)
      // Undefined: nothing was due. An empty array: others claimed everything that was seen, and there may be more.
      if (claimed === undefined || claimed.length > 0) return claimed ?? []
    }
  }

  /**
   * Asks each shard what is due, then claims from each as many rows as it has among the earliest of all. Answers
   * undefined when nothing is due.
   */
  async #claimEarliest(claim: DueClaim): Promise<ClaimedRow[] | undefined> {
    const due = await Promise.all(this.#shards.map((shard) => shard.peekDue(claim)))
    if (due.every((places) => places.length === 0)) return undefined
    const earliest = due
      .flatMap((places, shard) =>
        places.map((place) => ({ position: place.slice(0, POSITION_DIGITS), shard })),
      )
      .toSorted((a, b) => (a.position < b.position ? -1 : a.position > b.position ? 1 : a.shard - b.shard))
      .slice(0, claim.limit)
    const counts = new Map<number, number>()
    for (const { shard } of earliest) counts.set(shard, (counts.get(shard) ?? 0) + 1)
    const claimed = await Promise.all(
      [...counts].map(([shard, count]) => this.#shards[shard]!.claimDue(claim, count)),
    )
    return claimed.flat().toSorted((a, b) => a.row.position - b.row.position)
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    const found = await Promise.all(this.#shards.map((shard) => shard.nextDue(query)))
    const next = Math.min(...found.map((position) => position ?? Infinity))
    return next === Infinity ? undefined : next
  }

  extend(tokens: readonly ClaimToken[], leaseMs: number): Promise<boolean[]> {
    return callByShard(
      tokens,
      (token) => shardOf(token, this.#shards.length),
      (shard, some) => this.#shards[shard]!.extend(some, leaseMs),
    )
  }

  async longLeases(query: LongLeaseQuery): Promise<LongLease[]> {
    const found = await Promise.all(this.#shards.map((shard) => shard.longLeases(query)))
    return found
      .flat()
      .toSorted((a, b) => a.position - b.position)
      .slice(0, query.limit)
      .map(({ lease }) => lease)
  }

  cutShort(leases: readonly LongLease[]): Promise<boolean[]> {
    return callByShard(
      leases,
      (lease) => shardOf(lease, this.#shards.length),
      (shard, some) => this.#shards[shard]!.cutShort(some),
    )
  }

  async settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<boolean[]> {
    const entries = new HistoryByShard(history, this.#shards.length)
    const answers = await callByShard(
      settlements,
      ({ token }) => shardOf(token, this.#shards.length),
      (shard, some) => this.#shards[shard]!.settle(some, entries.take(shard)),
    )
    await Promise.all(entries.remaining().map(([shard, some]) => this.#shards[shard]!.settle([], some)))
    return answers
  }
}
