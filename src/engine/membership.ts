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
  #memberIds: readonly string[] = []
  #offsetMs = 0
  #beatAt = -Infinity

  constructor(parts: { id: string; store: Store; clock: Clock; settings: EngineSettings; onEvent: OnEvent }) {
    this.id = parts.id
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#onEvent = parts.onEvent
  }

  get memberIds(): readonly string[] {
    return this.#memberIds
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
  async beat(): Promise<void> {
    const sentAt = this.#clock.monotonic()
    try {
      const { now, members } = await this.#store.heartbeat(
        { id: this.id, details: '' },
        this.#settings.leaseMs,
      )
      const answeredAt = this.#clock.monotonic()
      // The store looked at its clock somewhere between: the middle is off by half the way at most.
      const halfWayMs = (answeredAt - sentAt) / 2
      const offsetMs = now - (this.#clock.now() - halfWayMs)
      // What the way may explain is no offset.
      this.#offsetMs = Math.abs(offsetMs) <= halfWayMs ? 0 : offsetMs - Math.sign(offsetMs) * halfWayMs
      this.#memberIds = members.map(({ id }) => id)
      this.#beatAt = answeredAt
      if (!this.isClockRight) {
        this.#onEvent({ type: 'clock-off', offsetMs: this.#offsetMs })
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'heartbeat', error })
    }
  }

  async leave(): Promise<void> {
    try {
      await this.#store.leave(this.id)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }
}
