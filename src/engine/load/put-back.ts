import type { Clock } from '../../time/index.js'
import type { Attempt } from '../fire/attempt.js'
import type { Governor } from './governor.js'
import type { Lane } from '../fire/lane.js'
import type { LaneThroughput } from '../fire/lane-throughput.js'
import type { EngineSettings } from '../settings.js'
import type { LoadPolicy } from './load-policy.js'
import type { ShardOffers } from '../offer/shard-offers.js'
import type { Window } from './window.js'
import { entryState } from './window-page.js'
import { EARLY_PUT_BACK_FACTOR, MAX_AWAY_MS, MIN_AWAY_MS } from '../defaults.js'

interface PutBackParts {
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly window: Window
  readonly governor: Governor
  readonly loadPolicy: LoadPolicy
  readonly lanes: Iterable<Lane>
  readonly throughput: LaneThroughput
  readonly offers: ShardOffers
}

/**
 * Chooses the due timers that must leave memory because they block it. A lane is slow if it would not start all its
 * timers within `carryAfterMs`. When memory is crowded, all slow lanes together may keep a limited number of timers;
 * the rest is put back. The next settlement rewrites these rows above the read level and drops them from memory. So a
 * kind that has no handler, or whose target hangs, delays only itself, however many of its timers are due.
 *
 * Proven by test/engine/crowding.test.ts and the mutants 'a row is put back below the read level and forgotten', 'a row that was put back can still start'.
 */
export class PutBack {
  readonly #parts: PutBackParts

  constructor(parts: PutBackParts) {
    this.#parts = parts
  }

  /** Whether there are too many blocked timers to leave them until the next settlement is due. */
  get isUrgent(): boolean {
    const { governor, window, lanes } = this.#parts
    if (!governor.isCrowded(window)) return false
    let waiting = 0
    for (const lane of lanes) if (this.#isSlow(lane)) waiting += lane.waiting
    return waiting > EARLY_PUT_BACK_FACTOR * governor.blockedLimit(window)
  }

  /** Takes at most `limit` of them out of their lanes: from each lane those that came last. */
  takeExcess(limit: number): Attempt[] {
    const { governor, window, lanes } = this.#parts
    if (!governor.isCrowded(window)) return []
    const slow = [...lanes].filter((lane) => this.#isSlow(lane))
    const most = longestWithin(slow, governor.blockedLimit(window))
    const taken: Attempt[] = []
    for (const lane of slow) {
      while (lane.waiting > most && taken.length < limit) {
        const attempt = lane.pop()!
        if (this.#isReady(attempt)) taken.push(attempt)
      }
    }
    return taken
  }

  /** The new position of a row that is put back, above the read level. */
  positionOf({ row, lane }: Attempt, readPosition: number): number {
    const { clock, loadPolicy } = this.#parts
    const now = clock.now()
    const awayMs = Math.min(Math.max(now - row.dueAt, MIN_AWAY_MS), MAX_AWAY_MS)
    const position = Math.max(readPosition, now + awayMs + loadPolicy.fullWindowMs)
    lane!.awayUntil = Math.max(lane!.awayUntil, position)
    return position
  }

  /** How far to read to get back the rows that were put back and whose lanes could start them now. */
  wantedUntil(): number {
    const { lanes, settings, offers } = this.#parts
    let until = -Infinity
    for (const lane of lanes) {
      if (lane.awayUntil <= until || lane.waiting >= settings.pageRows) continue
      const room = lane.throttle.isOpen ? lane.throttle.available() : offers.roomFor(lane)
      if (room > lane.waiting) until = lane.awayUntil
    }
    return until
  }

  /** Whether rows of a kind that has a handler and is not paused were put back, and are not loaded again yet. */
  isAnyAway(readPosition: number): boolean {
    for (const lane of this.#parts.lanes)
      if (lane.throttle.isOpen && lane.awayUntil >= readPosition) return true
    return false
  }

  #isReady(attempt: Attempt): boolean {
    const { window } = this.#parts
    const { token } = attempt
    if (attempt.isSuperseded) return false
    return (
      window.page(token)?.attempts[window.index(token)] === attempt &&
      window.state(token) === entryState.READY
    )
  }

  #isSlow(lane: Lane): boolean {
    const { throughput, settings } = this.#parts
    return lane.waiting > 0 && lane.waiting > throughput.startedWithin(settings.carryAfterMs, lane)
  }
}

/** The most that each lane may keep waiting so that all of them together keep at most `total`. */
function longestWithin(lanes: readonly Lane[], total: number): number {
  const lengths = lanes.map(({ waiting }) => waiting).sort((one, other) => one - other)
  let left = total
  for (const [index, length] of lengths.entries()) {
    const each = Math.floor(left / (lengths.length - index))
    if (length > each) return each
    left -= length
  }
  return Infinity
}
