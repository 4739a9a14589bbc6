import { StateError } from '../../error/index.js'
import type { KindName, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { EngineCounts } from '../counts.js'
import type { OnEvent } from '../event.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import type { Membership } from '../cluster/membership.js'
import type { Throttles } from '../fire/throttles.js'
import type { EngineSettings } from '../settings.js'
import { Sleeper } from '../../async/index.js'
import { ClaimPace } from './claim-pace.js'
import type { ClaimedAttempts } from './claimed-attempts.js'
import type { ClaimedRows } from './claimed-rows.js'

/** Kinds that are claimed together: at least `limit` of each may start. */
interface Group {
  readonly kinds: KindName[] | undefined
  limit: number
}

/**
 * Claims due rows, but never more of a kind than may start: so every claimed row fires. It asks the store when the next
 * row that it knows of is due, when another instance has written something, when an attempt has ended, and at least
 * every `pollMs`.
 *
 * Proven by test/engine/claim.test.ts.
 */
export class Claimer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #machineClock: Clock
  readonly #settings: EngineSettings
  readonly #policy: DeliveryPolicy
  readonly #throttles: Throttles
  readonly #membership: Membership
  readonly #attempts: ClaimedAttempts
  readonly #rows: ClaimedRows
  readonly #counts: EngineCounts
  readonly #onEvent: OnEvent
  readonly #sleeper: Sleeper
  readonly #pace: ClaimPace
  #running: Promise<void> | undefined
  #isWanted = false
  // When to claim next, by the store's clock.
  #nextAt = -Infinity
  // The last claim found nothing, and nothing became due since.
  #isDry = false
  // Rows were left in the store because no more of their kind may run.
  #isShort = false

  constructor(parts: {
    store: Store
    clock: Clock
    machineClock: Clock
    settings: EngineSettings
    policy: DeliveryPolicy
    throttles: Throttles
    membership: Membership
    attempts: ClaimedAttempts
    rows: ClaimedRows
    counts: EngineCounts
    onEvent: OnEvent
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#machineClock = parts.machineClock
    this.#settings = parts.settings
    this.#policy = parts.policy
    this.#throttles = parts.throttles
    this.#membership = parts.membership
    this.#attempts = parts.attempts
    this.#rows = parts.rows
    this.#counts = parts.counts
    this.#onEvent = parts.onEvent
    this.#sleeper = new Sleeper(parts.clock)
    this.#pace = new ClaimPace(parts.settings)
  }

  /** Whether the last claim found nothing. */
  get isDry(): boolean {
    return this.#isDry
  }

  start(): void {
    this.#isWanted = true
    this.#isDry = false
    this.#nextAt = -Infinity
    this.#running ??= this.#run()
  }

  /** Claims nothing more. Resolves when the rows of a claim under way have been added. */
  async stop(): Promise<void> {
    this.#isWanted = false
    this.#sleeper.wakeAll()
    await this.#running
  }

  /** A row is due at `dueAt`. */
  expect(dueAt: number): void {
    if (dueAt <= this.#clock.now()) this.#isDry = false
    if (dueAt >= this.#nextAt) return
    this.#nextAt = dueAt
    this.#sleeper.wakeAll()
  }

  /** There may be rows to claim. */
  poke(): void {
    this.expect(-Infinity)
  }

  /** An attempt has ended: rows that were left may be claimed now. */
  noticeRoom(): void {
    if (this.#isShort) this.poke()
  }

  async #run(): Promise<void> {
    let failures = 0
    let lookedAt = -Infinity
    while (this.#isWanted) {
      const { spacingMs, retryMs, pollMs } = this.#settings
      // The store's clock may have been set back, so the monotonic clock limits the wait, too.
      const untilNext = Math.min(
        this.#nextAt - this.#clock.now(),
        lookedAt + pollMs - this.#clock.monotonic(),
      )
      const untilSpaced = lookedAt + spacingMs - this.#clock.monotonic()
      const waitMs = Math.max(untilNext, untilSpaced)
      if (waitMs > 0) {
        await this.#sleeper.sleep(waitMs)
        continue
      }
      lookedAt = this.#clock.monotonic()
      try {
        await this.#claimRound()
        failures = 0
      } catch (error) {
        if (error instanceof StateError) break
        const trouble = error instanceof Error ? error : new Error(String(error))
        this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'claimDue', error: trouble })
        this.#nextAt = this.#clock.now() + retryMs * Math.min(2 ** failures++, 10)
      }
    }
    this.#running = undefined
  }

  async #claimRound(): Promise<void> {
    const { pollMs } = this.#settings
    this.#nextAt = this.#clock.now() + pollMs
    this.#isShort = false
    // With a wrong clock, handlers would see a wrong time.
    if (!this.#membership.isFit) return
    const groups = this.#groups()
    let found = 0
    for (const group of groups) found += await this.#claim(group)
    if (found > 0) {
      // There may be more.
      this.poke()
      return
    }
    // The end of an attempt starts the next claim for rows that were left. For the other kinds their next due time does.
    if (!this.#isShort) this.#isDry = true
    if (groups.length === 0) return
    const kinds = groups.some((group) => group.kinds === undefined)
      ? undefined
      : groups.flatMap((group) => group.kinds!)
    const next = await this.#store.nextDue({ withinMs: pollMs, ...(kinds && { kinds }) })
    if (next !== undefined) this.expect(next)
  }

  async #claim({ kinds, limit }: Group): Promise<number> {
    const most = Math.min(limit, this.#policy.allowance.left)
    // The allowance of a bounded pass is used up, but there may be rows.
    if (most <= 0) this.#isShort = true
    if (most <= 0 || !this.#isWanted) return 0
    const sentAt = { monotonic: this.#clock.monotonic(), wall: this.#machineClock.now() }
    const claimed = await this.#store.claimDue({
      owner: this.#membership.id,
      limit: Math.min(most, this.#pace.most),
      leaseMs: this.#settings.leaseMs,
      ...(kinds && { kinds }),
    })
    if (claimed.length > 0) this.#pace.answered(claimed.length, this.#clock.monotonic() - sentAt.monotonic)
    this.#counts.loads++
    this.#counts.loadedRows += claimed.length
    this.#isDry = false
    if (claimed.length > 0) this.#attempts.addClaimed(claimed, sentAt)
    return claimed.length
  }

  /**
   * Groups kinds by how many of them may start, within a power of two. So a kind of which few may start does not make the
   * claims of others small, and many kinds do not take many calls.
   */
  #groups(): readonly Group[] {
    const { claimRows, concurrency } = this.#settings
    const names = this.#policy.kinds()
    if (names === undefined) {
      const limit = Math.min(claimRows, concurrency - this.#rows.size)
      this.#isShort = limit <= 0
      return limit > 0 ? [{ kinds: undefined, limit }] : []
    }
    const groups = new Map<number, Group>()
    for (const name of names) {
      const throttle = this.#throttles.of(name.namespace, name.kind)
      const room = Math.min(throttle.available(), claimRows)
      if (room <= 0) {
        if (!throttle.isOpen) continue
        this.#isShort = true
        this.expect(this.#clock.now() + throttle.msUntilRoom())
        continue
      }
      const size = 31 - Math.clz32(room)
      const group = groups.get(size)
      if (group === undefined) groups.set(size, { kinds: [name], limit: room })
      else {
        group.kinds!.push(name)
        group.limit = Math.min(group.limit, room)
      }
    }
    return [...groups.values()]
  }
}
