import { errorOf, StateError, StoreError } from '../../error/index.js'
import type { AcquireRequest, ShardRow, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { ExcludedMembers } from '../cluster/excluded-members.js'
import type { Membership } from '../cluster/membership.js'
import { EVEN_ASSIGNMENT, HANDS_OVER } from '../cluster/protocol-version.js'
import { assignByHash, assignEvenly } from '../cluster/shard-assignment.js'
import type { OnEvent } from '../event.js'
import type { EngineSettings } from '../settings.js'
import type { ShardEngine } from '../shard-engine.js'
import type { OwnerRouter } from '../write/owner-router.js'
import { newNonce, type Reading } from './ownership.js'
import { StaleLeaseWatch } from './stale-lease-watch.js'

/** A request for a shard, and what both clocks showed before it was first sent. */
interface SentAcquisition {
  readonly request: AcquireRequest
  readonly sentAt: Reading
  /** How often it was sent without an answer so far. The store may still grant it. */
  unanswered: number
}

/** A shard that this instance has acquired. */
export interface AcquiredShard {
  /** The shard row as it was before and after. */
  readonly seen: ShardRow
  readonly row: ShardRow
  /** What both clocks showed before the shard was asked for. */
  readonly sentAt: Reading
  readonly leaseMs: number
}

interface ShardAcquirerParts {
  readonly store: Store
  /** The store's clock as far as it is known, and this machine's own. */
  readonly clock: Clock
  readonly machineClock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
  readonly membership: Membership
  readonly ownerRouter: OwnerRouter
  readonly onEvent: OnEvent
  /** Whether this instance acquires every shard, even if there are other members. */
  readonly holdsAll: boolean
  /** The shards that this instance owns now. */
  readonly shards: ReadonlyMap<number, ShardEngine>
  readonly onAcquired: (acquired: AcquiredShard) => void
}

/**
 * Acquires the shards that are assigned to this instance, and releases those that are assigned to another. A member that
 * does not take a shard assigned to it is passed over: after a while any other member may take the shard (rule 6).
 *
 * Proven by test/engine/rebalance.test.ts, test/engine/ownership.test.ts and the mutants 'an acquisition of unknown outcome is retried as a new one', 'a lease from a clock that was ahead is never cut short', 'an instance whose clock is off gets shards assigned'.
 */
export class ShardAcquirer {
  readonly #parts: ShardAcquirerParts
  readonly #shards: ReadonlyMap<number, ShardEngine>
  readonly #excluded: ExcludedMembers
  readonly #leaseWatch: StaleLeaseWatch
  readonly #sent = new Map<number, SentAcquisition>()
  // Since when each shard is seen without an owner whose lease runs, by the monotonic clock.
  readonly #unownedSince = new Map<number, number>()
  // The member that each shard was assigned to when the shards were last read.
  #assigned: ReadonlyMap<number, string> = new Map()
  // Shards that are assigned to this instance and still owned by another.
  readonly #wanted = new Set<number>()
  #acquiredAt = -Infinity
  // When the shards were last read.
  #readAt = -Infinity
  #isOver = false

  constructor(parts: ShardAcquirerParts) {
    this.#parts = parts
    this.#shards = parts.shards
    this.#excluded = new ExcludedMembers(parts.machineClock, parts.settings)
    this.#leaseWatch = new StaleLeaseWatch(parts)
  }

  /** The shards that nobody owns, as far as this instance has seen, and for how long. */
  get unowned(): readonly { readonly shard: number; readonly forMs: number }[] {
    const now = this.#parts.machineClock.monotonic()
    return Array.from(this.#unownedSince, ([shard, since]) => ({ shard, forMs: Math.round(now - since) }))
  }

  /** How long to wait until the shards may be read again: wake-ups come for other reasons, too. */
  get restMs(): number {
    const { settings, machineClock } = this.#parts
    return this.#acquiredAt + settings.retryMs - machineClock.monotonic()
  }

  /** A shard may have been released. Answers whether this instance waits for it. */
  takeWanted(shard: number): boolean {
    return this.#wanted.delete(shard)
  }

  /** The instance rests: it no longer watches which shards have an owner. */
  forgetUnowned(): void {
    this.#unownedSince.clear()
  }

  /** Acquires nothing more. */
  stop(): void {
    this.#isOver = true
  }

  /** Acquires the shards that should be ours and are free, and releases those that should be another's. */
  async acquire(): Promise<void> {
    const { membership, machineClock, store, ownerRouter, settings } = this.#parts
    if (!membership.isFit) return
    this.#acquiredAt = machineClock.monotonic()
    try {
      const rows = await store.shards()
      const now = machineClock.monotonic()
      // While this instance could not read the shards, the other members may have assigned them differently.
      if (now - this.#readAt > settings.leaseMs / 2) this.#unownedSince.clear()
      this.#readAt = now
      for (const row of rows) ownerRouter.saw(row)
      this.#excluded.saw(rows, (id) => membership.lifeOf(id))
      for (const row of rows) this.#passOver(row)
      const assigned = this.#assign(rows)
      this.#assigned = assigned
      this.#wanted.clear()
      await Promise.all(
        rows.map((row) => {
          const isOurs = assigned.get(row.shard) === membership.id
          return this.#reconcileShard(row, isOurs, this.#unownedMs(row))
        }),
      )
    } catch (error) {
      this.#onStoreError('shards', error)
    }
  }

  /** Acquires one shard, even if it is assigned to another instance. Rejects with a `StoreError` if the store cannot be reached. */
  async acquireOne(row: ShardRow, leaseMs: number): Promise<void> {
    if (!this.#isOver && !this.#shards.has(row.shard)) await this.#acquire(row, leaseMs)
  }

  /** Learns who owns the shards. An instance that rests, or whose clock is off, does not look for shards. */
  async seeOwners(): Promise<void> {
    const { store, ownerRouter } = this.#parts
    try {
      for (const row of await store.shards()) ownerRouter.saw(row)
    } catch (error) {
      this.#onStoreError('shards', error)
    }
  }

  releaseAll(): void {
    for (const engine of this.#shards.values()) void this.#release(engine)
  }

  #onStoreError(call: string, error: unknown): void {
    if (error instanceof StateError) return
    this.#parts.onEvent({ type: 'store-trouble', shard: undefined, call, error: errorOf(error) })
  }

  async #reconcileShard(row: ShardRow, isOurs: boolean, unownedMs: number): Promise<void> {
    const engine = this.#shards.get(row.shard)
    if (engine !== undefined) {
      // A release waits for attempts under way. The other shards do not wait for that.
      if (isOurs) engine.keep()
      else void this.#release(engine)
      return
    }
    if (this.#isOver) return
    const { leaseMs, acquireMs, stallMs } = this.#parts.settings
    if (unownedMs >= stallMs) this.#parts.onEvent({ type: 'unowned', shard: row.shard, forMs: unownedMs })
    // The member that should own it does not take it, so any other member may.
    if (isOurs || unownedMs >= leaseMs + acquireMs) await this.#acquire(row)
    if (!this.#shards.has(row.shard)) await this.#leaseWatch.check(row)
    if (isOurs && !this.#shards.has(row.shard)) this.#wanted.add(row.shard)
  }

  /**
   * Excludes the member that a shard was assigned to, if it left the shard without an owner for so long that another
   * took it, or may take it now. All members see the same.
   */
  #passOver(row: ShardRow): void {
    const { membership, settings, machineClock } = this.#parts
    const { shard, owner } = row
    const [since, assigned] = [this.#unownedSince.get(shard), this.#assigned.get(shard)]
    if (since === undefined || assigned === undefined || assigned === membership.id) return
    const isTaken = this.#isOwned(row)
    if (isTaken && owner === assigned) return
    // If it was taken, others may have seen it without an owner one reading earlier.
    const { leaseMs, acquireMs } = settings
    const longestMs = leaseMs + (isTaken ? 0 : acquireMs)
    if (machineClock.monotonic() - since < longestMs) return
    const life = membership.lifeOf(assigned)
    // A member that is gone is assigned nothing anyway.
    if (life !== undefined) this.#excluded.passOver(assigned, life)
  }

  /** How long a shard has been seen without an owner whose lease runs. */
  #unownedMs(row: ShardRow): number {
    const { shard } = row
    const now = this.#parts.machineClock.monotonic()
    if (this.#isOwned(row)) {
      this.#unownedSince.delete(shard)
      return 0
    }
    const since = this.#unownedSince.get(shard)
    if (since === undefined) this.#unownedSince.set(shard, now)
    return now - (since ?? now)
  }

  #isOwned({ shard, owner, leaseUntil }: ShardRow): boolean {
    return this.#shards.has(shard) || (owner !== '' && leaseUntil > this.#parts.clock.now())
  }

  /** The member that should own each shard. */
  #assign(rows: readonly ShardRow[]): ReadonlyMap<number, string> {
    const { membership, holdsAll } = this.#parts
    const { id } = membership
    if (holdsAll) return new Map(rows.map(({ shard }) => [shard, id]))
    const candidates = this.#candidates(rows)
    if (membership.oldestFiring < EVEN_ASSIGNMENT) return assignByHash(rows, candidates)
    // Shards that were acquired since the rows were read are ours, too.
    const isHere = (shard: number): boolean => this.#shards.has(shard)
    return assignEvenly(
      rows.map(({ shard, owner }) => ({ shard, owner: isHere(shard) ? id : owner })),
      candidates,
    )
  }

  /** The members that get shards. An owner whose lease has run out gets none, though its heartbeat may still count. */
  #candidates(rows: readonly ShardRow[]): readonly string[] {
    const { membership, clock } = this.#parts
    const { firingIds, id } = membership
    for (const { owner, leaseUntil } of rows) {
      if (owner !== '' && owner !== id && leaseUntil <= clock.now()) this.#excluded.lapsed(owner)
    }
    return firingIds.filter((other) => other === id || !this.#excluded.has(other))
  }

  async #release(engine: ShardEngine): Promise<void> {
    const { membership, onEvent } = this.#parts
    try {
      // Members of an older version do not know hand-overs: then attempts have to end first.
      if (membership.oldestFiring >= HANDS_OVER) await engine.handOver()
      else await engine.stop()
    } catch (error) {
      onEvent({ type: 'store-trouble', shard: engine.shard, call: 'release', error: errorOf(error) })
    }
  }

  async #acquire(seen: ShardRow, leaseMs = this.#parts.settings.leaseMs): Promise<void> {
    const { shard } = seen
    const earlier = this.#sent.get(shard)
    // A request whose answer was lost is sent again unchanged: it may have been granted, with a lease from then on.
    const isOpen =
      earlier !== undefined &&
      (seen.epoch === earlier.request.expectedEpoch || seen.nonce === earlier.request.nonce)
    const sent = isOpen ? earlier : this.#newAcquisition(seen, leaseMs)
    const { sentAt } = sent
    this.#sent.set(shard, sent)
    const row = await this.#send(sent)
    // An earlier sending of a refused request may still be on its way, and be granted later.
    if (row !== undefined || sent.unanswered === 0) this.#forget(sent)
    if (row === undefined || this.#isOver || this.#shards.has(shard)) return
    this.#parts.onAcquired({ seen, row, sentAt, leaseMs: sent.request.leaseMs })
  }

  async #send(sent: SentAcquisition): Promise<ShardRow | undefined> {
    sent.unanswered++
    try {
      const row = await this.#parts.store.acquire(sent.request)
      sent.unanswered--
      return row
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'unknown-outcome')) sent.unanswered--
      throw error
    }
  }

  #forget(sent: SentAcquisition): void {
    const { shard } = sent.request
    if (this.#sent.get(shard) === sent) this.#sent.delete(shard)
  }

  #newAcquisition({ shard, epoch }: ShardRow, leaseMs: number): SentAcquisition {
    const { membership, random, machineClock } = this.#parts
    const nonce = newNonce(random)
    return {
      request: { shard, owner: membership.id, nonce, leaseMs, expectedEpoch: epoch },
      sentAt: { monotonic: machineClock.monotonic(), wall: machineClock.now() },
      unanswered: 0,
    }
  }
}
