import { StateError } from '../../error/index.js'
import type { LongLease, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { nameKey } from '../../timer/index.js'
import type { OnEvent } from '../event.js'
import { MAX_LEASE_FACTOR } from '../defaults.js'
import type { EngineSettings } from '../settings.js'
import { Sleeper } from '../../async/index.js'

const MAX_BATCH = 10_000

/** A claim as it was seen, and since when it is unchanged, by the monotonic clock. */
interface Sight {
  readonly lease: LongLease
  readonly since: number
}

/**
 * Cuts row claims short that were granted while the store's clock was ahead. Now that the clock is right, such a claim
 * seems to run for as long as the clock was ahead, though its instance may be dead. If nobody renews it for two leases,
 * it is cut short, and the row is claimed as after any other claim that ran out. An instance that is alive renews its
 * claims every quarter of a lease, and the store then computes their end again. One that does not renew them has long
 * stopped starting anything by them.
 */
export class RowLeaseWatch {
  readonly #parts: RowLeaseWatchParts
  readonly #sleeper: Sleeper
  #seen: ReadonlyMap<string, Sight> = new Map()
  #isOver = false

  constructor(parts: RowLeaseWatchParts) {
    this.#parts = parts
    this.#sleeper = new Sleeper(parts.clock)
  }

  async run(): Promise<void> {
    const { settings, isWanted, onEvent } = this.#parts
    while (!this.#isOver) {
      await this.#sleeper.sleep(settings.leaseMs / 4)
      if (this.#isOver || !isWanted()) continue
      try {
        await this.#check()
      } catch (error) {
        // The store was stopped: it takes no more calls.
        if (error instanceof StateError) return
        const trouble = error instanceof Error ? error : new Error(String(error))
        onEvent({ type: 'store-trouble', shard: undefined, call: 'longLeases', error: trouble })
      }
    }
  }

  stop(): void {
    this.#isOver = true
    this.#sleeper.cancelAll()
  }

  async #check(): Promise<void> {
    const { store, clock, settings, onEvent, onCut } = this.#parts
    const lastsMs = MAX_LEASE_FACTOR * settings.leaseMs
    const leases = await store.longLeases({ beyondMs: lastsMs, limit: MAX_BATCH })
    const now = clock.monotonic()
    const seen = new Map<string, Sight>()
    const dead: LongLease[] = []
    for (const lease of leases) {
      const name = nameKey(lease)
      const before = this.#seen.get(name)
      const sight = before !== undefined && isSame(before.lease, lease) ? before : { lease, since: now }
      seen.set(name, sight)
      if (now - sight.since >= lastsMs) dead.push(lease)
    }
    this.#seen = seen
    if (dead.length === 0) return
    const answers = await store.cutShort(dead)
    const cut = dead.filter((_, index) => answers[index] === true)
    if (cut.length === 0) return
    const aheadMs = Math.max(...cut.map(({ until }) => until)) - clock.now()
    onEvent({ type: 'lease-ahead', count: cut.length, aheadMs })
    onCut()
  }
}

export interface RowLeaseWatchParts {
  readonly store: Store
  /** The store's clock as far as it is known. */
  readonly clock: Clock
  readonly settings: EngineSettings
  /** Whether this instance fires, and so would claim these rows. */
  readonly isWanted: () => boolean
  readonly onEvent: OnEvent
  /** Claims were cut short: their rows may be claimed. */
  readonly onCut: () => void
}

function isSame(one: LongLease, other: LongLease): boolean {
  return one.nonce === other.nonce && one.revision === other.revision && one.until === other.until
}
