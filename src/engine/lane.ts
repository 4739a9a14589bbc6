import type { Attempt } from './attempt.js'
import type { Throttle, ThrottleUser } from './throttle.js'

/** The due timers of one kind in one shard that wait for their turn, in order. */
export class Lane implements ThrottleUser {
  /** What the kind may have under way; shared with the lanes of other shards. */
  readonly throttle: Throttle
  /** Attempts of it that were started, ever. */
  started = 0
  /** Rows of it were put back into the store, up to this position; -Infinity when none were. */
  awayUntil = -Infinity
  readonly #look: (lane: Lane) => void
  #queue: Attempt[] = []
  #head = 0

  /** `look` starts what may start. */
  constructor(throttle: Throttle, look: (lane: Lane) => void) {
    this.throttle = throttle
    this.#look = look
  }

  look(): void {
    this.#look(this)
  }

  get waiting(): number {
    return this.#queue.length - this.#head
  }

  /** Puts an attempt last, unless it stands here already. */
  push(attempt: Attempt): void {
    if (attempt.isQueued) return
    attempt.isQueued = true
    this.#queue.push(attempt)
  }

  /** The one that has waited longest; undefined when none waits. */
  peek(): Attempt | undefined {
    return this.#queue[this.#head]
  }

  shift(): Attempt | undefined {
    const attempt = this.#queue[this.#head]
    if (attempt === undefined) return undefined
    attempt.isQueued = false
    this.#head++
    if (this.#head === this.#queue.length) {
      this.#queue = []
      this.#head = 0
    } else if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    return attempt
  }

  /** Takes the one that came last; undefined when none waits. */
  pop(): Attempt | undefined {
    if (this.waiting === 0) return undefined
    const attempt = this.#queue.pop()!
    attempt.isQueued = false
    if (this.#head === this.#queue.length) {
      this.#queue = []
      this.#head = 0
    }
    return attempt
  }

  *[Symbol.iterator](): Generator<Attempt, void, undefined> {
    for (let index = this.#head; index < this.#queue.length; index++) yield this.#queue[index]!
  }
}
