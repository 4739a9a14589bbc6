import { StateError } from '../../error/index.js'
import type { KindName, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { EngineCounts } from '../engine-counts.js'
import type { OnEvent } from '../event.js'
import type { Flow } from '../flow.js'
import type { Membership } from '../membership.js'
import type { Throttles } from '../throttles.js'
import type { EngineSettings } from '../settings.js'
import { Waits } from '../waits.js'
import { ClaimPace } from './claim-pace.js'
import type { LeasedAttempts } from './leased-attempts.js'

/** Kinds of which at least `limit` may start each. */
interface Group {
  readonly kinds: KindName[] | undefined
  limit: number
}

/**
 * Looks for due rows and claims them, never more of a kind than may start: so a claimed row is a firing one. It
 * looks when the next is due as far as is known, when somebody says that there is something new, when there is room
 * again, and at least once in `pollMs`.
 */
export class Claimer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #flow: Flow
  readonly #throttles: Throttles
  readonly #membership: Membership
  readonly #attempts: LeasedAttempts
  readonly #counts: EngineCounts
  readonly #onEvent: OnEvent
  readonly #waits: Waits
  readonly #pace: ClaimPace
  #running: Promise<void> | undefined
  #isWanted = false
  // When to look next, by the store's clock.
  #nextAt = -Infinity
  // The last look found nothing that could have been claimed, and nothing became due since.
  #isDry = false
  // Something was left because there was no room for it.
  #isShort = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    flow: Flow
    throttles: Throttles
    membership: Membership
    attempts: LeasedAttempts
    counts: EngineCounts
    onEvent: OnEvent
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#flow = parts.flow
    this.#throttles = parts.throttles
    this.#membership = parts.membership
    this.#attempts = parts.attempts
    this.#counts = parts.counts
    this.#onEvent = parts.onEvent
    this.#waits = new Waits(parts.clock)
    this.#pace = new ClaimPace(parts.settings)
  }

  /** Whether there was nothing to claim when it last looked. */
  get isDry(): boolean {
    return this.#isDry
  }

  start(): void {
    this.#isWanted = true
    this.#isDry = false
    this.#nextAt = -Infinity
    this.#running ??= this.#run()
  }

  /** Claims nothing more. What was under way has been taken when it resolves. */
  async stop(): Promise<void> {
    this.#isWanted = false
    this.#waits.interrupt()
    await this.#running
  }

  /** A row is due then. */
  expect(dueAt: number): void {
    if (dueAt <= this.#membership.storeNow()) this.#isDry = false
    if (dueAt >= this.#nextAt) return
    this.#nextAt = dueAt
    this.#waits.interrupt()
  }

  /** There may be something new. */
  poke(): void {
    this.expect(-Infinity)
  }

  /** Something ended: there may be room for what had to be left. */
  noticeRoom(): void {
    if (this.#isShort) this.poke()
  }

  async #run(): Promise<void> {
    let failures = 0
    let lookedAt = -Infinity
    while (this.#isWanted) {
      const { spacingMs, retryMs } = this.#settings
      const untilNext = this.#nextAt - this.#membership.storeNow()
      const untilSpaced = lookedAt + spacingMs - this.#clock.monotonic()
      const waitMs = Math.max(untilNext, untilSpaced)
      if (waitMs > 0) {
        await this.#waits.wait(waitMs)
        continue
      }
      lookedAt = this.#clock.monotonic()
      try {
        await this.#look()
        failures = 0
      } catch (error) {
        if (error instanceof StateError) break
        const trouble = error instanceof Error ? error : new Error(String(error))
        this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'claimDue', error: trouble })
        this.#nextAt = this.#membership.storeNow() + retryMs * Math.min(2 ** failures++, 10)
      }
    }
    this.#running = undefined
  }

  async #look(): Promise<void> {
    const { pollMs } = this.#settings
    this.#nextAt = this.#membership.storeNow() + pollMs
    this.#isShort = false
    // A clock that is off would fire early or late: it is better not to fire.
    if (!this.#membership.isFit) return
    const groups = this.#groups()
    let found = 0
    for (const group of groups) found += await this.#claim(group)
    if (found > 0) {
      // Where there was something there may be more.
      this.poke()
      return
    }
    // What had to be left has its own signal; the kinds with room are looked for when their next is due.
    if (!this.#isShort) this.#isDry = true
    if (groups.length === 0) return
    const kinds = groups.some((group) => group.kinds === undefined)
      ? undefined
      : groups.flatMap((group) => group.kinds!)
    const next = await this.#store.nextDue({ withinMs: pollMs, ...(kinds && { kinds }) })
    if (next !== undefined) this.expect(next)
  }

  async #claim({ kinds, limit }: Group): Promise<number> {
    const most = Math.min(limit, this.#flow.allowance.left)
    // What a bounded pass may not have any more is left, not absent.
    if (most <= 0) this.#isShort = true
    if (most <= 0 || !this.#isWanted) return 0
    const sentAt = { monotonic: this.#clock.monotonic(), wall: this.#clock.now() }
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
    if (claimed.length > 0) this.#attempts.take(claimed, sentAt)
    return claimed.length
  }

  /**
   * What to ask for: kinds with about as much room as each other together, so that a kind with little room does not
   * make all claim little, and many kinds do not make many calls.
   */
  #groups(): readonly Group[] {
    const { claimRows, concurrency } = this.#settings
    const names = this.#flow.kinds()
    if (names === undefined) {
      const limit = Math.min(claimRows, concurrency - this.#attempts.size)
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
        this.expect(this.#membership.storeNow() + throttle.msUntilRoom())
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
