import type { Clock } from '../time/index.js'
import type { Attempt } from './attempt.js'
import type { Governor } from './governor.js'
import type { Lane } from './lane.js'
import type { Paces } from './paces.js'
import type { EngineSettings } from './settings.js'
import type { Window } from './window.js'
import { entryState } from './window-page.js'

// How long a row that was put back stays away: as long as it has been overdue, within these.
const SHORTEST_AWAY_MS = 10_000
const LONGEST_AWAY_MS = 300_000

/**
 * The due timers that take the memory of others: when it is crowded, those of lanes that would not start what they
 * have within `carryAfterMs`, beyond a share of memory that all such lanes have together. They are put back: the
 * next settlement rewrites them at a later place in the store, above the read level, and they leave memory. So a
 * kind that nobody takes, or whose target hangs, delays only itself, however much of it is due.
 */
export class Surplus {
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #window: Window
  readonly #governor: Governor
  readonly #lanes: Iterable<Lane>
  readonly #paces: Paces

  constructor(parts: {
    clock: Clock
    settings: EngineSettings
    window: Window
    governor: Governor
    lanes: Iterable<Lane>
    paces: Paces
  }) {
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#window = parts.window
    this.#governor = parts.governor
    this.#lanes = parts.lanes
    this.#paces = parts.paces
  }

  /** Whether there is so much of it that it is not left until the next settlement. */
  get isMuch(): boolean {
    if (!this.#governor.isCrowded(this.#window)) return false
    let waiting = 0
    for (const lane of this.#lanes) if (this.#isSlow(lane)) waiting += lane.waiting
    return waiting > 1.5 * this.#governor.share(this.#window)
  }

  /** Takes at most `limit` of them out of their lanes: of each lane those that came last. */
  take(limit: number): Attempt[] {
    if (!this.#governor.isCrowded(this.#window)) return []
    const slow = [...this.#lanes].filter((lane) => this.#isSlow(lane))
    const most = longestWithin(slow, this.#governor.share(this.#window))
    const taken: Attempt[] = []
    for (const lane of slow) {
      while (lane.waiting > most && taken.length < limit) {
        const attempt = lane.pop()!
        if (this.#isHere(attempt)) taken.push(attempt)
      }
    }
    return taken
  }

  /** Where a row that is put back stands from then on, given how far has been read. */
  positionOf({ row, lane }: Attempt, readPosition: number): number {
    const now = this.#clock.now()
    const awayMs = Math.min(Math.max(now - row.dueAt, SHORTEST_AWAY_MS), LONGEST_AWAY_MS)
    const { strategy, windowMs, lookaheadMs } = this.#settings
    const position = Math.max(readPosition, now + awayMs + (strategy === 'preload' ? windowMs : lookaheadMs))
    lane!.awayUntil = Math.max(lane!.awayUntil, position)
    return position
  }

  /** How far to read so that rows that were put back are here again, for lanes that could start them now. */
  wantedUntil(): number {
    let until = -Infinity
    for (const lane of this.#lanes) {
      if (lane.awayUntil <= until || lane.waiting >= this.#settings.pageRows) continue
      if (lane.throttle.available() > lane.waiting) until = lane.awayUntil
    }
    return until
  }

  /** Whether rows were put back, beyond how far has been read, of kinds that have a handler and are not paused. */
  isAnyAway(readPosition: number): boolean {
    for (const lane of this.#lanes) if (lane.throttle.isOpen && lane.awayUntil >= readPosition) return true
    return false
  }

  #isHere(attempt: Attempt): boolean {
    const { token } = attempt
    if (attempt.isSuperseded) return false
    const page = this.#window.page(token)
    return (
      page?.attempts[this.#window.index(token)] === attempt && this.#window.state(token) === entryState.READY
    )
  }

  /** Whether what waits in a lane would not all be started within a while. */
  #isSlow(lane: Lane): boolean {
    return lane.waiting > 0 && lane.waiting > this.#paces.startedWithin(this.#settings.carryAfterMs, lane)
  }
}

/** The most that each lane may have waiting so that all of them together have no more than `total`. */
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
