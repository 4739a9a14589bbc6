import { StoreError } from '../../error/index.js'
import type { Fence, ShardRow, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { newNonce } from './ownership.js'
import type { EngineSettings } from '../settings.js'
import { MAX_LEASE_FACTOR } from '../defaults.js'

/** A lease as it was seen, and since when, by the monotonic clock. */
interface Sight {
  readonly epoch: number
  readonly leaseUntil: number
  readonly since: number
}

/**
 * Cuts shard leases short that were granted while the store's clock was ahead. Now that the clock is right, such a lease
 * seems to run for as long as the clock was ahead, though its owner may be dead. If nobody renews it for two leases, the
 * epoch is raised, with a lease from now on. If the owner is alive after all, it is fenced, and can start nothing by the
 * time that the new lease ends. Then the shard is taken over as from any dead owner.
 *
 * Proven by test/engine/level-ahead.test.ts and the mutant 'a lease from a clock that was ahead is never cut short'.
 */
export class StaleLeaseWatch {
  readonly #parts: LeaseWatchParts
  readonly #seen = new Map<number, Sight>()

  constructor(parts: LeaseWatchParts) {
    this.#parts = parts
  }

  /** To be called with every shard of another owner, each time the shards are read. */
  async check(row: ShardRow): Promise<void> {
    const { store, clock, settings, random } = this.#parts
    const { shard, epoch, leaseUntil } = row
    const lastsMs = MAX_LEASE_FACTOR * settings.leaseMs
    if (row.owner === '' || leaseUntil - clock.now() <= lastsMs) {
      this.#seen.delete(shard)
      return
    }
    const now = clock.monotonic()
    const seen = this.#seen.get(shard)
    if (seen?.epoch !== epoch || seen.leaseUntil !== leaseUntil) {
      this.#seen.set(shard, { epoch, leaseUntil, since: now })
    } else if (now - seen.since >= lastsMs) {
      this.#seen.delete(shard)
      try {
        await store.refence(fenceOf(row), newNonce(random), settings.leaseMs)
      } catch (error) {
        // Another member was first, or the owner is alive.
        if (!(error instanceof StoreError) || error.code !== 'fenced') throw error
      }
    }
  }
}

export interface LeaseWatchParts {
  readonly store: Store
  /** The store's clock as far as it is known. */
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
}

function fenceOf({ shard, epoch, nonce, settledLevel }: ShardRow): Fence {
  return { shard, epoch, nonce, settledLevel }
}
