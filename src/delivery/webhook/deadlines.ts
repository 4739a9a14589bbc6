import type { Clock } from '../../time/index.js'

/** Something that must have ended by a time. */
export interface Timed {
  dueAt: number
  /** Its neighbours in the list of those under way. */
  before: Timed | undefined
  after: Timed | undefined
  /** Its time is over: it ends now. */
  late(): void
}

/**
 * Gives each the same time, with one alarm for all of them: they end in the order in which they began, but for those
 * that have ended before, so only the first must be watched.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  #first: Timed | undefined
  #last: Timed | undefined
  #isWatched = false

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  begin(timed: Timed): void {
    timed.dueAt = this.#clock.monotonic() + this.#ms
    timed.before = this.#last
    if (this.#last === undefined) this.#first = timed
    else this.#last.after = timed
    this.#last = timed
    if (!this.#isWatched) this.#watch(this.#ms)
  }

  /** Only for one that has begun, and once. */
  end(timed: Timed): void {
    const { before, after } = timed
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    timed.before = undefined
    timed.after = undefined
  }

  #watch(ms: number): void {
    this.#isWatched = true
    // What is under way keeps the process alive by its connection.
    this.#clock.wakeAfter(ms, () => this.#look(), { keepAlive: false })
  }

  #look(): void {
    this.#isWatched = false
    const now = this.#clock.monotonic()
    while (this.#first !== undefined && this.#first.dueAt <= now) {
      const late = this.#first
      late.late()
      if (this.#first === late) this.end(late)
    }
    if (this.#first !== undefined && !this.#isWatched) this.#watch(this.#first.dueAt - now)
  }
}
