import type { Clock } from '../../time/index.js'
import { firstPlace, isBefore, type Place } from '../../timer/index.js'
import { MANY_FORGETTABLE_ROWS } from '../defaults.js'

/** The bounds of what a shard remembers of finished timers. */
export interface OutcomeLimits {
  readonly ms: number
  readonly count: number
  readonly bytes: number
}

/** The finished rows below a level that were not below the level before. */
interface Mark {
  level: Place
  /** When the last of them was settled, by the monotonic clock. */
  at: number
  count: number
  bytes: number
}

// A mark is extended for this long, unless it holds this part of all rows already.
const MARK_MS = 1000
const MARK_PART = 1 / 16

/**
 * Decides which finished rows of a shard can be forgotten: the earliest, once they are older than the limit, or more, or
 * larger. The level is the deletion, so a finished row costs no write to be remembered. It is only swept later.
 *
 * Proven by test/engine/finished-rows.test.ts and test/front/outcomes.test.ts.
 */
export class FinishedRows {
  readonly #clock: Clock
  readonly #limits: OutcomeLimits
  // In the order of their levels.
  readonly #marks: Mark[] = []
  #count = 0
  #bytes = 0
  #forgettable: Place
  // What can be forgotten and was not swept yet.
  #forgettableCount = 0
  #forgettableBytes = 0

  /** `before` are the rows that the last owner has left: those below `forgettable` need not be kept. */
  constructor(
    clock: Clock,
    limits: OutcomeLimits,
    before: { readonly settledLevel: Place; readonly forgettable: Place },
  ) {
    this.#clock = clock
    this.#limits = limits
    this.#forgettable = before.forgettable
    // Nobody knows how many they are. The last owner kept no more than the limit: half of that is assumed.
    if (isBefore(firstPlace, before.settledLevel))
      this.add(before.settledLevel, Math.floor(limits.count / 2), 0)
  }

  /** A settlement has brought rows below the level. */
  add(level: Place, count: number, bytes: number): void {
    const at = this.#clock.monotonic()
    const last = this.#marks.at(-1)
    this.#count += count
    this.#bytes += bytes
    const isOpen =
      last !== undefined &&
      at - last.at < MARK_MS &&
      last.count + count <= this.#limits.count * MARK_PART &&
      last.bytes + bytes <= this.#limits.bytes * MARK_PART
    if (!isOpen) {
      this.#marks.push({ level, at, count, bytes })
      return
    }
    last.level = level
    last.count += count
    last.bytes += bytes
  }

  /** Rows before this place can be forgotten now. */
  forgettable(): Place {
    const { ms, count, bytes } = this.#limits
    const now = this.#clock.monotonic()
    for (let first = this.#marks[0]; first !== undefined; first = this.#marks[0]) {
      const isOver = now >= first.at + ms || this.#count > count || this.#bytes > bytes
      if (!isOver) break
      this.#marks.shift()
      this.#count -= first.count
      this.#bytes -= first.bytes
      this.#forgettable = first.level
      this.#forgettableCount += first.count
      this.#forgettableBytes += first.bytes
    }
    return this.#forgettable
  }

  /** Whether the rows that can be forgotten are worth a sweep before its time. */
  get isMuchForgettable(): boolean {
    const { count, bytes } = this.#limits
    const isMany = this.#forgettableCount >= Math.min(MANY_FORGETTABLE_ROWS, count / 2)
    return isMany || this.#forgettableBytes >= bytes / 2
  }

  /** Everything that can be forgotten was swept. */
  swept(): void {
    this.#forgettableCount = this.#forgettableBytes = 0
  }

  /** How long until the earliest rows can be forgotten, in milliseconds; Infinity if there are none. */
  msLeft(): number {
    const first = this.#marks[0]
    if (first === undefined) return Infinity
    return Math.max(0, Math.ceil(first.at + this.#limits.ms - this.#clock.monotonic()))
  }
}
