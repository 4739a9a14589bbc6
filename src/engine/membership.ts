import { StoreError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { Store } from '../store/index.js'
import type { OnEvent } from './event.js'
import type { EngineSettings } from './settings.js'

/** This instance among the others: its heartbeat, who else is there, and how far its clock is off the store's. */
export class Membership {
  readonly id: string
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #onEvent: OnEvent
  #firingIds: readonly string[] = []
  #isFiring = false
  #beating: Promise<void> = Promise.resolve()
  #hasLeft = false
  #offsetMs = 0
  #beatAt = -Infinity

  constructor(parts: { id: string; store: Store; clock: Clock; settings: EngineSettings; onEvent: OnEvent }) {
    this.id = parts.id
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#onEvent = parts.onEvent
  }

  /** Those among whom the shards are shared out: who was not started, or rests, takes none. */
  get firingIds(): readonly string[] {
    const others = this.#firingIds.filter((other) => other !== this.id)
    return this.#isFiring ? [...others, this.id] : others
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

  /** One heartbeat. */
  beat(): Promise<void> {
    this.#beating = this.#beat()
    return this.#beating
  }

  async #beat(): Promise<void> {
    if (this.#hasLeft) return
    const sentAt = this.#clock.monotonic()
    try {
      const { now, members } = await this.#store.heartbeat(
        { id: this.id, details: JSON.stringify({ isFiring: this.#isFiring }) },
        this.#settings.leaseMs,
      )
      const answeredAt = this.#clock.monotonic()
      // The store looked at its clock somewhere between: the middle is off by half the way at most.
      const halfWayMs = (answeredAt - sentAt) / 2
      const offsetMs = now - (this.#clock.now() - halfWayMs)
      // What the way may explain is no offset.
      this.#offsetMs = Math.abs(offsetMs) <= halfWayMs ? 0 : offsetMs - Math.sign(offsetMs) * halfWayMs
      this.#firingIds = members.filter(({ details }) => isFiringMember(details)).map(({ id }) => id)
      this.#beatAt = answeredAt
      if (!this.isClockRight) {
        this.#onEvent({ type: 'clock-off', offsetMs: this.#offsetMs })
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'heartbeat', error })
    }
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

function isFiringMember(details: string): boolean {
  try {
    return (JSON.parse(details) as { readonly isFiring?: boolean }).isFiring === true
  } catch {
    // Not one of ours.
    return false
  }
}
