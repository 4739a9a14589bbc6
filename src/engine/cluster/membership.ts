import { errorOf, StateError, StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type { Member, Store } from '../../store/index.js'
import type { Holder } from '../../timer/index.js'
import type { OnEvent } from '../event.js'
import { KindFilter } from './kind-filter.js'
import { formatMemberDetails, type MemberDetails, parseMemberDetails } from './member-details.js'
import type { PeerMember } from '../write/peers.js'
import { areCompatible, ourProtocol, TAKES_OFFERS } from './protocol-version.js'
import type { EngineSettings } from '../settings.js'
import type { StoreClock } from './store-clock.js'

/**
 * This instance as a member: its heartbeat, the other members, and whether its clock agrees with the store's. If it does
 * not, the heartbeat says so, and the instance gets no shards.
 *
 * Proven by test/engine/ownership.test.ts, test/engine/protocol.test.ts and the mutants 'a holder that is gone counts as
 * alive', 'a new process of the same member counts as the holder', 'an instance whose clock is off gets shards assigned'.
 */
export class Membership {
  readonly id: string
  /** A random string that tells this process from others with the same id. */
  readonly life: string
  readonly #store: Store
  readonly #clock: Clock
  readonly #time: StoreClock
  readonly #settings: EngineSettings
  readonly #onEvent: OnEvent
  readonly #address: () => string | undefined
  readonly #kinds: () => KindFilter
  #members: ReadonlyMap<string, MemberDetails> = new Map()
  // The last details of each member, and since when they are unchanged, by the monotonic clock.
  #sights: ReadonlyMap<string, Sight> = new Map()
  #beats = 0
  // The last heartbeat whose answer is known.
  #heardBeat = 0
  #isFiring = false
  #beating: Promise<void> = Promise.resolve()
  #hearing: Promise<void> | undefined
  #hasLeft = false
  #beatAt = -Infinity
  #beatSentAt = -Infinity
  // The store's clock as of the last heartbeat.
  #storedAt = -Infinity
  #term = 0

  constructor(parts: {
    id: string
    life: string
    store: Store
    clock: Clock
    /** Measured with every heartbeat. */
    time: StoreClock
    settings: EngineSettings
    onEvent: OnEvent
    /** The address at which this instance can be asked directly; undefined while it cannot. */
    address: () => string | undefined
    /** The kinds of due timers that other owners may offer to this instance. */
    kinds: () => KindFilter
  }) {
    this.id = parts.id
    this.life = parts.life
    this.#store = parts.store
    this.#clock = parts.clock
    this.#time = parts.time
    this.#settings = parts.settings
    this.#onEvent = parts.onEvent
    this.#address = parts.address
    this.#kinds = parts.kinds
  }

  /** The members that get shards. A member that was not started, or rests, gets none. */
  get firingIds(): readonly string[] {
    const others = [...this.#members]
      .filter(([id, { isFiring }]) => isFiring && id !== this.id)
      .map(([id]) => id)
    return this.#isFiring && this.isClockRight ? [...others, this.id] : others
  }

  /** The oldest protocol version among them. */
  get oldestFiring(): number {
    return Math.min(ourProtocol.version, ...this.firingIds.map((id) => this.versionOf(id)))
  }

  /** The protocol version of a member; ours if the member is not known. */
  versionOf(id: string): number {
    return this.#members.get(id)?.protocol.version ?? ourProtocol.version
  }

  /** How a member can be asked directly, as far as it is known. */
  peerOf(id: string): PeerMember | undefined {
    const member = id === this.id ? undefined : this.#members.get(id)
    // Only instances of the same version understand each other's messages. The others use the inbox.
    if (member?.address === undefined || member.protocol.version !== ourProtocol.version) return undefined
    return { id, address: member.address }
  }

  /** The other members that take offers of due timers, with the kinds that they handle. */
  get takers(): readonly Taker[] {
    const takers: Taker[] = []
    for (const [member, { isFiring, life, term, kinds, protocol }] of this.#members) {
      if (member === this.id || !isFiring || protocol.version < TAKES_OFFERS) continue
      takers.push({ member, life, term, kinds, isOverdue: this.#isOverdue(member) })
    }
    return takers
  }

  /** Whether no heartbeat of a member was seen for half the time after which it counts as gone. */
  #isOverdue(id: string): boolean {
    const { leaseMs, heartbeatMs } = this.#settings
    const since = this.#sights.get(id)?.since ?? -Infinity
    // A heartbeat in time may be seen two intervals after the one before: both sides beat once in an interval.
    return this.#clock.monotonic() - since > Math.max(leaseMs / 2, heartbeatMs * 2.5)
  }

  /** Whether another member gets shards and handles other kinds than this instance: then owners offer timers. */
  get isMixed(): boolean {
    const { text } = this.#kinds()
    return this.takers.some(({ kinds }) => kinds.text !== text)
  }

  /** Whether this instance gets shards from now on. The other members learn of it with their next heartbeat. */
  async fire(isFiring: boolean): Promise<void> {
    if (this.#isFiring === isFiring) return
    this.#isFiring = isFiring
    await this.beat()
  }

  /** How far this machine's wall clock is ahead of the store's. */
  get clockOffsetMs(): number {
    return -Math.round(this.#time.offsetMs)
  }

  /** Whether this machine's wall clock agrees with the store's, as far as is allowed. */
  get isClockRight(): boolean {
    return Math.abs(this.#time.offsetMs) <= this.#settings.maxClockOffsetMs
  }

  /** When the members that are known now were asked for, by the monotonic clock. */
  get heardAt(): number {
    return this.#beatSentAt
  }

  /** Whether other members still count this instance as alive, less a margin. */
  get isHeard(): boolean {
    return this.#clock.monotonic() - this.#beatSentAt < this.#heardForMs
  }

  /** How long a heartbeat counts, less a margin. */
  get #heardForMs(): number {
    return this.#settings.leaseMs - this.#settings.leaseMarginMs
  }

  /**
   * Rises after each gap in which other members may have counted this instance as gone. The gap may also be one of the
   * store's clock, by which heartbeats end. An owner that counted it as gone may act on it later, so what was offered in
   * an earlier term must not start.
   */
  get term(): number {
    return this.#term
  }

  /** Whether the process of a holder is alive, by its heartbeats. */
  isAlive({ member, life }: Holder): boolean {
    return member === this.id ? life === this.life : this.#members.get(member)?.life === life
  }

  /** The string that tells the process of a member from others with its id; undefined if there is no such member. */
  lifeOf(id: string): string | undefined {
    return this.#members.get(id)?.life
  }

  /** Whether this instance may acquire shards: its last heartbeat is recent, and its clock is right. */
  get isFit(): boolean {
    return this.isClockRight && this.#clock.monotonic() - this.#beatAt < this.#settings.leaseMs
  }

  /** The first heartbeat. If this version cannot share a store with a member, it leaves and rejects. */
  async join(): Promise<void> {
    await this.beat()
    for (const [id, { protocol }] of this.#members) {
      if (areCompatible(ourProtocol, protocol)) continue
      await this.leave()
      throw new StateError(
        'protocol-mismatch',
        `the member ${id} speaks protocol ${protocol.version} and accepts protocol ${protocol.oldest} or later, ` +
          `this instance speaks ${ourProtocol.version} and accepts ${ourProtocol.oldest} or later`,
      )
    }
  }

  /** Sends one heartbeat. */
  beat(): Promise<void> {
    const beating = this.#beat()
    // Waits for all of them: a slow heartbeat may end after the next one.
    this.#beating = Promise.allSettled([this.#beating, beating]).then(() => undefined)
    return beating
  }

  /** Reads all members that have joined by now. Calls during a heartbeat share the next one. */
  hear(): Promise<void> {
    this.#hearing ??= this.#beating.then(() => {
      this.#hearing = undefined
      return this.beat()
    })
    return this.#hearing
  }

  async #beat(): Promise<void> {
    if (this.#hasLeft) return
    const sentAt = this.#clock.monotonic()
    const isAfterGap = !this.isHeard
    if (isAfterGap) this.#term++
    const details = this.#details
    try {
      const { now, members } = await this.#store.heartbeat(
        { id: this.id, details: formatMemberDetails(details) },
        this.#settings.leaseMs,
      )
      const answeredAt = this.#clock.monotonic()
      const wasRight = this.isClockRight
      this.#time.measure({ storeNow: now, sentAt, answeredAt })
      let isAfterJump = false
      // The answer to a later heartbeat is newer.
      if (details.beat > this.#heardBeat) {
        this.#members = this.#aliveOf(members, answeredAt)
        this.#heardBeat = details.beat
        isAfterJump = now - this.#storedAt >= this.#heardForMs
        this.#storedAt = now
      }
      // The heartbeats before it ended while this one was on its way, or the store's clock was set forward. So another
      // one publishes the new term.
      if (!isAfterGap && (isAfterJump || !this.isHeard)) {
        this.#term++
        void this.beat()
      }
      this.#beatAt = answeredAt
      this.#beatSentAt = Math.max(this.#beatSentAt, sentAt)
      if (!this.isClockRight) {
        this.#onEvent({ type: 'clock-off', offsetMs: this.clockOffsetMs })
      }
      // The other members must know at once whether this instance gets shards.
      if (this.#isFiring && wasRight !== this.isClockRight) void this.beat()
    } catch (error) {
      // The store was stopped: it takes no more calls.
      if (error instanceof StateError) return
      this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'heartbeat', error: errorOf(error) })
    }
  }

  /**
   * The members of the store that are alive. If the store's clock was ahead when a heartbeat came, the store keeps that
   * heartbeat too long. So each heartbeat carries a number, and a member whose number does not rise is gone.
   */
  #aliveOf(members: readonly Member[], now: number): ReadonlyMap<string, MemberDetails> {
    const { leaseMs, heartbeatMs } = this.#settings
    const sights = new Map<string, Sight>()
    const alive = new Map<string, MemberDetails>()
    for (const { id, details } of members) {
      const before = this.#sights.get(id)
      const sight = before?.details === details ? before : { details, since: now }
      sights.set(id, sight)
      const parsed = parseMemberDetails(details)
      const isSilent = parsed.beat > 0 && now - sight.since > leaseMs + heartbeatMs
      if (!isSilent || id === this.id) alive.set(id, parsed)
    }
    this.#sights = sights
    return alive
  }

  get #details(): MemberDetails {
    const address = this.#address()
    const isFiring = this.#isFiring && this.isClockRight
    return {
      isFiring,
      life: this.life,
      beat: ++this.#beats,
      ...(address !== undefined && { address }),
      protocol: ourProtocol,
      kinds: isFiring ? this.#kinds() : KindFilter.none,
      term: this.#term,
    }
  }

  /** Leaves the members. No heartbeat is sent after that. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    await this.#beating
    try {
      await this.#store.removeMember(this.id)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }
}

/** A member that takes offers of due timers. */
export interface Taker extends Holder {
  readonly term: number
  readonly kinds: KindFilter
  /** Whether its heartbeats are late. Perhaps it is blocked or gone, so it gets no more offers for now. */
  readonly isOverdue: boolean
}

interface Sight {
  readonly details: string
  readonly since: number
}
