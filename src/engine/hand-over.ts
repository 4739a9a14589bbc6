import type { TimerRow } from '../timer/index.js'

/** How a shard came to its owner. */
export interface HandOver {
  /** The owner before, if it had not let go. */
  readonly from: string | undefined
  readonly to: string
  /** By the new owner's clock. */
  readonly at: number
}

/** Tells, once for each timer, that its shard changed hands while it was due. */
export class HandOvers {
  readonly #handOver: HandOver | undefined
  // Those that were told of before their next attempt, because the one before may have begun it.
  readonly #told = new Set<number>()

  /** Undefined for a shard that nobody had before. */
  constructor(handOver: HandOver | undefined) {
    this.#handOver = handOver
  }

  /** Of a timer that the owner before may have attempted. */
  ofSuspect(row: TimerRow): HandOver | undefined {
    if (this.#handOver !== undefined) this.#told.add(row.identity)
    return this.#handOver
  }

  /** Of a timer whose attempt has ended; undefined for one that was not due then, or was told of. */
  ofAttempt({ dueAt, createdAt, identity }: TimerRow): HandOver | undefined {
    const handOver = this.#handOver
    if (handOver === undefined || dueAt > handOver.at || createdAt >= handOver.at) return undefined
    return this.#told.size > 0 && this.#told.delete(identity) ? undefined : handOver
  }
}
