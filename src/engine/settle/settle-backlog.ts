import type { Clock, Wake } from '../../time/index.js'
import { EARLY_SETTLE_PART, QUIET_MS } from '../defaults.js'

/** The unsettled outcomes of one shard. */
export interface ShardBacklog {
  count: number
  isLeft: boolean
  /** Settles the shard soon. */
  readonly hurry: () => void
}

/**
 * The unsettled outcomes of all shards of an instance. When they reach `settleCount` together, every shard that has any
 * settles at once. Otherwise a burst that is spread over many shards would be small in each, and wait for `settleMs`. The
 * shards also settle when a burst is over and has left a part of that.
 *
 * Proven by test/engine/settle-backlog.test.ts.
 */
export class SettleBacklog {
  readonly #clock: Clock
  readonly #most: number
  readonly #shards = new Set<ShardBacklog>()
  #total = 0
  // Counts updates: if it stays the same, no outcome has arrived.
  #updates = 0
  #alarm: Wake | undefined

  constructor(clock: Clock, most: number) {
    this.#clock = clock
    this.#most = most
  }

  join(hurry: () => void): ShardBacklog {
    const shard = { count: 0, isLeft: false, hurry }
    this.#shards.add(shard)
    return shard
  }

  remove(shard: ShardBacklog): void {
    this.update(shard, 0)
    shard.isLeft = true
    this.#shards.delete(shard)
    if (this.#shards.size > 0) return
    this.#alarm?.cancel()
    this.#alarm = undefined
  }

  /** Sets how many outcomes a shard has not settled. A shard that has left no longer counts. */
  update(shard: ShardBacklog, count: number): void {
    if (shard.isLeft) return
    this.#total += count - shard.count
    shard.count = count
    this.#updates++
    if (this.#total >= this.#most) this.#hurry()
    else if (this.#alarm === undefined && this.#total >= this.#most * EARLY_SETTLE_PART) this.#watch()
  }

  #hurry(): void {
    for (const shard of this.#shards) if (shard.count > 0) shard.hurry()
  }

  #watch(): void {
    const updates = this.#updates
    this.#alarm = this.#clock.wakeAfter(QUIET_MS, () => {
      this.#alarm = undefined
      if (this.#total < this.#most * EARLY_SETTLE_PART) return
      if (this.#updates === updates) this.#hurry()
      else this.#watch()
    })
  }
}
