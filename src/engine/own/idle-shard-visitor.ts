import { Sleeper } from '../../async/index.js'
import { StoreError } from '../../error/index.js'
import type { ShardRow, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { Membership } from '../cluster/membership.js'
import type { EngineSettings } from '../settings.js'
import type { ShardEngine } from '../shard-engine.js'
import type { ShardVisitor } from '../write/inbox-client.js'

interface IdleShardVisitorParts {
  readonly store: Store
  /** The store's clock as far as it is known, and this machine's own. */
  readonly clock: Clock
  readonly machineClock: Clock
  readonly settings: EngineSettings
  readonly membership: Membership
  /** Whether this instance may take a shard for a moment. One that is started owns shards instead. */
  readonly mayVisit: () => boolean
  /** Acquires a shard without starting it; undefined if another instance was faster. */
  readonly acquire: (seen: ShardRow) => Promise<ShardEngine | undefined>
}

/**
 * Takes a shard without a living owner for a moment: it applies the inbox under a fence of its own and releases the
 * shard (promise 18). It starts no timers and loads none. Started instances take precedence: while one is known, the
 * shard must have been without an owner for two of their looks. A visit that has lasted for one of their looks ends then,
 * and leaves the rest of the inbox to them.
 *
 * Proven by test/engine/from-anywhere.test.ts and the mutants 'nobody applies the inbox of a shard without an owner', 'a visit ends only when the inbox is empty', 'a visit that ends still applies the inbox'.
 */
export class IdleShardVisitor implements ShardVisitor {
  readonly #parts: IdleShardVisitorParts
  readonly #visits = new Map<number, Promise<boolean>>()
  // Since when each shard is seen without an owner, by the monotonic clock.
  readonly #unownedSince = new Map<number, number>()
  #reading: Promise<readonly ShardRow[]> | undefined

  constructor(parts: IdleShardVisitorParts) {
    this.#parts = parts
  }

  /** Calls for one shard share a visit. It may have read the inbox before the request of a caller came. */
  visit(shard: number): Promise<boolean> {
    let visit = this.#visits.get(shard)
    if (visit === undefined) {
      visit = this.#visit(shard).finally(() => this.#visits.delete(shard))
      this.#visits.set(shard, visit)
    }
    return visit
  }

  /** Resolves when no visit is under way. */
  async stop(): Promise<void> {
    await Promise.allSettled(this.#visits.values())
  }

  async #visit(shard: number): Promise<boolean> {
    if (!this.#parts.mayVisit()) return false
    try {
      const row = (await this.#readRows())[shard]!
      if (!this.#isIdle(row) || !this.#parts.mayVisit()) return false
      const engine = await this.#parts.acquire(row)
      if (engine === undefined) return false
      const isApplied = await this.#applyInbox(engine)
      // Those who waited for this one take the shard first.
      if (!isApplied) this.#unownedSince.delete(shard)
      await engine.endVisit()
      return isApplied
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return false
    }
  }

  /** Applies the inbox until the visit has to end. Answers whether all of it was applied. */
  async #applyInbox(engine: ShardEngine): Promise<boolean> {
    const { machineClock, settings } = this.#parts
    const sleeper = new Sleeper(machineClock)
    const begunAt = machineClock.monotonic()
    const visit: { isApplied?: boolean } = {}
    const applying = engine.applyInbox().then((isApplied) => (visit.isApplied = isApplied))
    while (visit.isApplied === undefined && !this.#mustEnd(begunAt)) {
      await Promise.race([applying, sleeper.sleep(settings.retryMs)])
    }
    sleeper.cancelAll()
    return visit.isApplied ?? false
  }

  /** Whether a visit keeps the shard from a started instance, which may be this one. */
  #mustEnd(begunAt: number): boolean {
    const { machineClock, membership, mayVisit, settings } = this.#parts
    if (!mayVisit()) return true
    return membership.firingIds.length > 0 && machineClock.monotonic() - begunAt >= settings.acquireMs
  }

  #readRows(): Promise<readonly ShardRow[]> {
    this.#reading ??= this.#parts.store.shards().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Whether nobody owns the shard, and no started instance is about to acquire it. */
  #isIdle({ shard, owner, leaseUntil }: ShardRow): boolean {
    const { clock, machineClock, membership, settings } = this.#parts
    if (owner !== '' && leaseUntil > clock.now()) {
      this.#unownedSince.delete(shard)
      return false
    }
    const now = machineClock.monotonic()
    const since = this.#unownedSince.get(shard) ?? now
    this.#unownedSince.set(shard, since)
    return membership.firingIds.length === 0 || now - since >= 2 * settings.acquireMs
  }
}
