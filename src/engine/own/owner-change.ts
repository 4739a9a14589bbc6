import type { TimerRow } from '../../timer/index.js'

/** How a shard came to its owner: the history of its timers records it. */
export interface OwnerChange {
  /** The owner before, if it had not released the shard. */
  readonly from: string | undefined
  readonly to: string
  /** By the new owner's clock. */
  readonly at: number
}

/** Says once for each timer that its shard changed its owner while the timer was due. */
export class OwnerChanges {
  readonly #ownerChange: OwnerChange | undefined
  // Identities of suspects: for these it was recorded before their next attempt.
  readonly #recorded = new Set<number>()

  /** `ownerChange` is undefined for a shard that nobody owned before. */
  constructor(ownerChange: OwnerChange | undefined) {
    this.#ownerChange = ownerChange
  }

  /** For a timer that the owner before may have attempted. */
  ofSuspect(row: TimerRow): OwnerChange | undefined {
    if (this.#ownerChange !== undefined) this.#recorded.add(row.identity)
    return this.#ownerChange
  }

  /** For a timer whose attempt has ended; undefined if it was not due then, or it was recorded already. */
  ofAttempt({ dueAt, createdAt, identity }: TimerRow): OwnerChange | undefined {
    const ownerChange = this.#ownerChange
    if (ownerChange === undefined || dueAt > ownerChange.at || createdAt >= ownerChange.at) return undefined
    return this.#recorded.size > 0 && this.#recorded.delete(identity) ? undefined : ownerChange
  }
}
