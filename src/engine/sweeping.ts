import type { Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import type { EngineCounts } from './engine-counts.js'
import type { OnEvent } from './event.js'
import { Outdated, type Ownership, Unresolved, Untaken } from './ownership.js'
import type { EngineSettings } from './settings.js'

// What was rewritten or removed one by one is worth a sweep before its time when it weighs so much.
const MUCH_BYTES = 16 << 20
// What a row weighs without its payload, more or less.
const ROW_BYTES = 256

/**
 * Has the store remove what is no more: from time to time after something was settled, rewritten or removed, early
 * when that was much or memory is short, and then until nothing is left, for a tenth of the time at most. A store
 * where timers are replaced all day and hardly any fires stays as small as one where they fire.
 */
export class Sweeping {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #ownership: Ownership
  readonly #counts: EngineCounts
  readonly #onEvent: OnEvent
  #sweptAt: number
  #isSwept = true
  #hasMore = false
  #isUrgent = false
  // What is being swept was much, or memory is short: nothing is waited for until it is done.
  #isPressing = false
  #leftBehindBytes = 0
  /** Called when much is left behind. */
  onMuch: () => void = () => undefined

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    ownership: Ownership
    counts: EngineCounts
    onEvent: OnEvent
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#ownership = parts.ownership
    this.#counts = parts.counts
    this.#onEvent = parts.onEvent
    this.#sweptAt = parts.clock.monotonic()
  }

  /** The settled level was raised, or rows were settled one by one. */
  settled(): void {
    this.#isSwept = false
  }

  /** A row with about such a payload was replaced, moved or cancelled: where it stood it may still lie. */
  leftBehind(payloadBytes: number): void {
    this.#isSwept = false
    this.#leftBehindBytes += ROW_BYTES + payloadBytes
    if (this.#isMuch) this.onMuch()
  }

  get #isMuch(): boolean {
    return this.#leftBehindBytes >= MUCH_BYTES
  }

  /** Memory is short: the next comes before its time. */
  hurry(): void {
    this.#isUrgent = true
  }

  /** Whether it is time for one. Who is behind with due timers has better things to do than to go on at once. */
  isDue(isBehind: () => boolean): boolean {
    if (this.#isSwept) return false
    if (this.#isUrgent || this.#isMuch || this.#isPressing) return true
    if (this.#clock.monotonic() - this.#sweptAt >= this.#settings.sweepMs) return true
    return this.#hasMore && !isBehind()
  }

  /** Sweeps while there is more and it may go on, for a tenth of the time unless it presses. */
  async sweep(mayGoOn: () => boolean): Promise<void> {
    const isPressing = this.#isUrgent || this.#isMuch || this.#isPressing
    this.#isUrgent = false
    this.#leftBehindBytes = 0
    this.#sweptAt = this.#clock.monotonic()
    const until = this.#sweptAt + this.#settings.settleMs / (isPressing ? 1 : 10)
    do await this.#sweepOnce()
    while (this.#hasMore && mayGoOn() && this.#clock.monotonic() < until)
    this.#isPressing = isPressing && this.#hasMore
  }

  async #sweepOnce(): Promise<void> {
    this.#hasMore = false
    try {
      const { removed, more } = await this.#ownership.call('sweep', (fence) => this.#store.sweep(fence))
      this.#hasMore = more
      this.#isSwept = !more
      this.#counts.sweeps++
      this.#counts.sweptRows += removed
      this.#onEvent({ type: 'swept', shard: this.#ownership.shard, removed })
    } catch (error) {
      // It is only housekeeping: the next one does it.
      if (!(error instanceof Outdated || error instanceof Untaken || error instanceof Unresolved)) throw error
    }
  }
}
