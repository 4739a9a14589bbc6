import type { Clock } from '../../time/index.js'

/** Something that must end by a deadline. */
export interface Timed {
  dueAt: number
  /** Its neighbours in the list of those under way. */
  before: Timed | undefined
  after: Timed | undefined
  /** The deadline has passed: it must end now. */
  late(): void
}

/**
 * Ends what takes longer than a fixed time. All deadlines are equally long, so the oldest ends first, and one alarm is
 * enough.
 *
 * Proven by test/delivery/deadlines.test.ts.
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

  /** To be called once for each that has begun. */
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
    // The connection of a request under way keeps the process alive, not this alarm.
    this.#clock.wakeAfter(ms, () => this.#endLate(), { keepAlive: false })
  }

  #endLate(): void {
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
