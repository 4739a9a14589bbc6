import type { Member } from '../../../store/index.js'

/** The heartbeats of all members as the store shows them, to judge whether others can see a member. */
export class Heartbeats {
  readonly #byMember = new Map<string, Heartbeat>()
  readonly #storeNow: () => number
  readonly #isAheadSince: (at: number) => boolean

  /** `isAheadSince` answers whether the store's clock was set forward since then. */
  constructor(storeNow: () => number, isAheadSince: (at: number) => boolean) {
    this.#storeNow = storeNow
    this.#isAheadSince = isAheadSince
  }

  /** A member sent a heartbeat, and the store showed it these; `at` is in true milliseconds since the run began. */
  note({ id, details }: Member, ttlMs: number, shown: readonly Member[], at: number): void {
    const now = this.#storeNow()
    this.#noteMissing(shown, at)
    const last = this.#byMember.get(id)
    // A new process of the same member is another one than before.
    const life = /"life":"(\w+)"/.exec(details)?.[1]
    const isSeamless = last !== undefined && last.until > now && last.life === life
    const isInTime = isSeamless && at - last.at <= ttlMs
    this.#byMember.set(id, {
      since: isSeamless ? last.since : at,
      inTimeSince: isInTime ? last.inTimeSince : at,
      until: now + ttlMs,
      ttlMs,
      life,
      at,
    })
  }

  /** When the store's clock is set forward, heartbeats end before their senders can know. Then members are missing. */
  #noteMissing(shown: readonly Member[], at: number): void {
    const ids = new Set(shown.map(({ id }) => id))
    for (const [id, heartbeat] of this.#byMember) {
      if (!ids.has(id) && this.#isAheadSince(heartbeat.at))
        this.#byMember.set(id, { ...heartbeat, since: at })
    }
  }

  remove(id: string): void {
    this.#byMember.delete(id)
  }

  /**
   * Whether no member may count this process as gone. A heartbeat from a clock that was ahead is shown for longer, but a
   * member whose heartbeats do not come in time is gone. `now` is in true milliseconds since the run began.
   */
  isHeardSince(
    { member, life }: { readonly member: string; readonly life?: string },
    at: number,
    now: number,
  ): boolean {
    const heartbeat = this.#byMember.get(member)
    if (heartbeat === undefined || (life !== undefined && heartbeat.life !== life)) return false
    return (
      this.isShownSince(member, at) && heartbeat.inTimeSince <= at && now - heartbeat.at <= heartbeat.ttlMs
    )
  }

  /** Whether the store has shown a member to all others, without a gap, since then. */
  isShownSince(member: string, at: number): boolean {
    const heartbeat = this.#byMember.get(member)
    return heartbeat !== undefined && heartbeat.since <= at && heartbeat.until > this.#storeNow()
  }
}

/** Since when the store shows a member without a gap, and until when, by the store's clock. */
interface Heartbeat {
  readonly since: number
  readonly until: number
  /** Since when each heartbeat came before the one before it was over, by true time. */
  readonly inTimeSince: number
  readonly ttlMs: number
  /** When the last one was sent. */
  readonly at: number
  /** Tells two processes of one member apart. */
  readonly life: string | undefined
}
