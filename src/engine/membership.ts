import { StateError, StoreError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { Store } from '../store/index.js'
import type { OnEvent } from './event.js'
import { type MemberDetails, parseMemberDetails } from './member-details.js'
import type { PeerMember } from './peers.js'
import { areCompatible, ourProtocol } from './protocol.js'
import type { EngineSettings } from './settings.js'

/** This instance among the others: its heartbeat, who else is there, and how far its clock is off the store's. */
export class Membership {
  readonly id: string
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #onEvent: OnEvent
  readonly #address: () => string | undefined
  #members: ReadonlyMap<string, MemberDetails> = new Map()
  #isFiring = false
  #beating: Promise<void> = Promise.resolve()
  #hearing: Promise<void> | undefined
  #hasLeft = false
  #offsetMs = 0
  #beatAt = -Infinity

  constructor(parts: {
    id: string
    store: Store
    clock: Clock
    settings: EngineSettings
    onEvent: OnEvent
    /** Where this instance can be asked directly; undefined while it cannot. */
    address: () => string | undefined
  }) {
    this.id = parts.id
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#onEvent = parts.onEvent
    this.#address = parts.address
  }

  /** Those among whom the shards are shared out: who was not started, or rests, takes none. */
  get firingIds(): readonly string[] {
    const others = [...this.#members]
      .filter(([id, { isFiring }]) => isFiring && id !== this.id)
      .map(([id]) => id)
    return this.#isFiring ? [...others, this.id] : others
  }

  /** The oldest protocol that one of those speaks. */
  get oldestFiring(): number {
    const versions = this.firingIds.map(
      (id) => this.#members.get(id)?.protocol.version ?? ourProtocol.version,
    )
    return Math.min(ourProtocol.version, ...versions)
  }

  /** How a member can be asked directly, as far as was heard. */
  peerOf(id: string): PeerMember | undefined {
    const member = id === this.id ? undefined : this.#members.get(id)
    // What instances say to each other is understood by those of the same version; others have the inbox.
    if (member?.address === undefined || member.protocol.version !== ourProtocol.version) return undefined
    return { id, address: member.address }
  }

  /** Takes a share of the shards from now on, or none any more. Others hear of it at once, if they can. */
  async fire(isFiring: boolean): Promise<void> {
    if (this.#isFiring === isFiring) return
    this.#isFiring = isFiring
    await this.beat()
  }

  /** About what the store's clock shows. */
  storeNow(): number {
    return Math.floor(this.#clock.now() + this.#offsetMs)
  }

  /** Whether this machine's clock agrees with the store's, as far as is allowed. */
  get isClockRight(): boolean {
    return Math.abs(this.#offsetMs) <= this.#settings.maxClockOffsetMs
  }

  /** Whether this instance may claim shards: it has been heard lately, and its clock is right. */
  get isFit(): boolean {
    return this.isClockRight && this.#clock.monotonic() - this.#beatAt < this.#settings.leaseMs
  }

  /** The first heartbeat. Rejects, and leaves, where a member is there that this version cannot share a store with. */
  async join(): Promise<void> {
    await this.beat()
    for (const [id, { protocol }] of this.#members) {
      if (areCompatible(ourProtocol, protocol)) continue
      await this.leave()
      throw new StateError(
        'protocol-mismatch',
        `the member ${id} speaks protocol ${protocol.version} and takes no older than ${protocol.oldest}, ` +
          `this instance speaks ${ourProtocol.version} and takes no older than ${ourProtocol.oldest}`,
      )
    }
  }

  /** One heartbeat. */
  beat(): Promise<void> {
    const beating = this.#beat()
    // All of them: one that is slow may end after the next.
    this.#beating = Promise.allSettled([this.#beating, beating]).then(() => undefined)
    return beating
  }

  /** Hears of everybody who has joined by now. Those who ask while a heartbeat is under way share the next one. */
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
    try {
      const { now, members } = await this.#store.heartbeat(
        { id: this.id, details: JSON.stringify(this.#details) },
        this.#settings.leaseMs,
      )
      const answeredAt = this.#clock.monotonic()
      // The store looked at its clock somewhere between: the middle is off by half the way at most.
      const halfWayMs = (answeredAt - sentAt) / 2
      const offsetMs = now - (this.#clock.now() - halfWayMs)
      // What the way may explain is no offset.
      this.#offsetMs = Math.abs(offsetMs) <= halfWayMs ? 0 : offsetMs - Math.sign(offsetMs) * halfWayMs
      this.#members = new Map(members.map(({ id, details }) => [id, parseMemberDetails(details)]))
      this.#beatAt = answeredAt
      if (!this.isClockRight) {
        this.#onEvent({ type: 'clock-off', offsetMs: this.#offsetMs })
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'heartbeat', error })
    }
  }

  get #details(): MemberDetails {
    const address = this.#address()
    return { isFiring: this.#isFiring, ...(address !== undefined && { address }), protocol: ourProtocol }
  }

  /** After it no heartbeat is sent. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    await this.#beating
    try {
      await this.#store.leave(this.id)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }
}
