import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { earlierOf, firstPlace, isBefore, levelAt, type Place } from '../../timer/index.js'
import type { EngineCounts } from '../counts.js'
import type { OnEvent } from '../event.js'
import { isPassing } from '../own/call-errors.js'
import type { Ownership } from '../own/ownership.js'
import type { SettleSignal } from './settle-signal.js'
import type { EngineSettings } from '../settings.js'
import { EARLY_SWEEP_PART, STORED_ROW_BYTES, URGENT_SWEEP_BYTES } from '../defaults.js'
import { FinishedRows, type OutcomeLimits } from './finished-rows.js'

/**
 * Decides when the store removes the bytes of rows that are forgotten, rewritten or removed: every `sweepMs` if there are
 * any, in a sixth of that if there are many, and at once if there are very many or memory is short. A sweep goes on while the store has more, for at most a tenth of
 * the time unless it is urgent. So a store stays small even if its timers are replaced all day and hardly any fires.
 *
 * Proven by test/engine/sweep-planner.test.ts.
 */
export class SweepPlanner {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #ownership: Ownership
  readonly #counts: EngineCounts
  readonly #onEvent: OnEvent
  readonly #signal: SettleSignal
  readonly #finishedRows: FinishedRows
  #sweptAt: number
  #sweptBelow = firstPlace
  #isSwept = true
  #hasMore = false
  #isUrgent = false
  // The sweep under way is urgent, and has not removed everything yet.
  #isPressing = false
  #leftBehindBytes = 0

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    ownership: Ownership
    counts: EngineCounts
    onEvent: OnEvent
    signal: SettleSignal
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#ownership = parts.ownership
    this.#counts = parts.counts
    this.#onEvent = parts.onEvent
    this.#signal = parts.signal
    this.#sweptAt = parts.clock.monotonic()
    this.#finishedRows = new FinishedRows(parts.clock, limitsOf(parts.settings, parts.store.shardCount), {
      settledLevel: parts.ownership.settledLevel,
      forgettable: forgettableOf(parts.settings, parts.ownership.settledLevel, parts.clock.now()),
    })
  }

  /** Rows were finished: they are below the level now, and are remembered for a while. */
  settled(level: Place, count: number, bytes: number): void {
    if (count > 0) this.#finishedRows.add(level, count, bytes)
  }

  /** How long until the next sweep is due, in milliseconds; Infinity if there is nothing to sweep. */
  msLeft(): number {
    const waitMs = this.#isSwept ? this.#finishedRows.msLeft() : 0
    // Rounded up, so that a rest is never too short by a fraction.
    return Math.max(waitMs, Math.ceil(this.#sweptAt + this.#intervalMs - this.#clock.monotonic()), 0)
  }

  /** How long after a sweep the next one is due, if there is anything to sweep. */
  get #intervalMs(): number {
    return this.#settings.sweepMs * (this.#finishedRows.isMuchForgettable ? EARLY_SWEEP_PART : 1)
  }

  /** A row was replaced, moved or cancelled: the bytes of its old version may still be in the store. */
  leftBehind(payloadBytes: number): void {
    this.#isSwept = false
    this.#leftBehindBytes += STORED_ROW_BYTES + payloadBytes
    if (this.#isLarge) this.#signal.raise()
  }

  get #isLarge(): boolean {
    return this.#leftBehindBytes >= URGENT_SWEEP_BYTES
  }

  /** Memory is short: settle and sweep before the time. */
  sweepSoon(): void {
    this.#isUrgent = true
    this.#signal.raise()
  }

  /** Whether it is time to sweep. A shard that is behind with due timers does not go on sweeping at once. */
  isDue(isBehind: () => boolean): boolean {
    if (isBefore(this.#sweptBelow, this.#finishedRows.forgettable())) this.#isSwept = false
    if (this.#isSwept) return false
    if (this.#isUrgent || this.#isLarge || this.#isPressing) return true
    if (this.#clock.monotonic() >= this.#sweptAt + this.#intervalMs) return true
    return this.#hasMore && !isBehind()
  }

  /** Sweeps while there is more and it may go on: for a tenth of the time, unless it is urgent. */
  async sweep(mayGoOn: () => boolean): Promise<void> {
    const isPressing = this.#isUrgent || this.#isLarge || this.#isPressing
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
      const below = this.#finishedRows.forgettable()
      const { removed, more } = await this.#ownership.call('sweep', (fence) =>
        this.#store.sweep(fence, below),
      )
      this.#hasMore = more
      if (!more) {
        this.#sweptBelow = below
        this.#finishedRows.swept()
      }
      this.#isSwept = !more
      this.#counts.sweeps++
      this.#counts.sweptRows += removed
      this.#onEvent({ type: 'swept', shard: this.#ownership.shard, removed })
    } catch (error) {
      // The next sweep will do it.
      if (!isPassing(error)) throw error
    }
  }
}

/** The bounds of one shard. */
function limitsOf(settings: EngineSettings, shardCount: number): OutcomeLimits {
  const { outcomesMs, maxOutcomes, maxOutcomeBytes } = settings
  return { ms: outcomesMs, count: maxOutcomes / shardCount, bytes: maxOutcomeBytes / shardCount }
}

/**
 * What the last owner has left that need not be kept. A finished row was settled no earlier than its position says. With
 * `lookahead`, finished rows have no such position: each settlement raises the level by one.
 */
function forgettableOf(settings: EngineSettings, settledLevel: Place, now: number): Place {
  const { strategy, outcomesMs, settleMs } = settings
  const position =
    strategy === 'lookahead' ? settledLevel.position - Math.ceil(outcomesMs / settleMs) : now - outcomesMs
  return position <= 0 ? firstPlace : earlierOf(settledLevel, levelAt(position))
}
