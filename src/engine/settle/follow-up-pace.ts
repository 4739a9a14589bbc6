import type { Clock } from '../../time/index.js'

// A settlement goes out at least this long before the earliest follow-up is due.
const LEAD_MS = 25
// A slow store gets more: this many times what the slowest of the last settlements took.
const LEAD_FACTOR = 2
// How much of a slow settlement is still remembered after the next one.
const REMEMBERED = 0.9
// Follow-ups that are due at once leave at least this long between two settlements.
const SPACING_MS = 5

/**
 * Decides when a settlement goes out so that the follow-ups in it are stored before they are due. Many short follow-ups
 * share a settlement: it goes out as late as the earliest of them allows. Follow-ups alone never keep the store busy for
 * more than half of the time.
 *
 * Proven by test/engine/follow-ups.test.ts.
 */
export class FollowUpPace {
  readonly #clock: Clock
  readonly #maxLeadMs: number
  #earliest = Infinity
  #slowestMs = 0
  #spacedUntil = -Infinity

  constructor(clock: Clock, settleMs: number) {
    this.#clock = clock
    this.#maxLeadMs = settleMs
  }

  /** A follow-up that is due at `dueAt` waits to be settled. Answers whether it is the earliest. */
  add(dueAt: number): boolean {
    if (dueAt >= this.#earliest) return false
    this.#earliest = dueAt
    return true
  }

  /** No follow-up waits. */
  clear(): void {
    this.#earliest = Infinity
  }

  /** How long the next settlement can wait, in milliseconds; Infinity if no follow-up waits. */
  msLeft(): number {
    if (this.#earliest === Infinity) return Infinity
    const leadMs = Math.min(Math.max(LEAD_MS, this.#slowestMs * LEAD_FACTOR), this.#maxLeadMs)
    const untilDue = this.#earliest - leadMs - this.#clock.now()
    return Math.max(0, untilDue, this.#spacedUntil - this.#clock.monotonic())
  }

  /** A settlement took this long, including the wait for its turn. */
  took(ms: number): void {
    this.#slowestMs = Math.max(ms, this.#slowestMs * REMEMBERED)
    this.#spacedUntil = this.#clock.monotonic() + Math.max(ms, SPACING_MS)
  }
}
