import type { Attempt } from './attempt.js'
import type { Throttle, ThrottleUser } from './throttle.js'

/** The due timers of one kind in one shard that wait to be started, in order. */
export class Lane implements ThrottleUser {
  readonly namespace: string
  readonly kind: string
  /** The limits of the kind; shared with the lanes of other shards. */
  readonly throttle: Throttle
  /** How many attempts were started since the lane exists. */
  started = 0
  /** How many are delivered at once: fewer if their handlers block the event loop for long. */
  mostAtOnce = Infinity
  /** Rows of the lane were put back into the store, up to this position; -Infinity if none were. */
  awayUntil = -Infinity
  readonly #startMore: (lane: Lane) => void
  #queue: Attempt[] = []
  #head = 0

  /** `startMore` starts what may start. */
  constructor(
    { namespace, kind }: { readonly namespace: string; readonly kind: string },
    throttle: Throttle,
    startMore: (lane: Lane) => void,
  ) {
    this.namespace = namespace
    this.kind = kind
    this.throttle = throttle
    this.#startMore = startMore
  }

  startMore(): void {
    this.#startMore(this)
  }

  get waiting(): number {
    return this.#queue.length - this.#head
  }

  /** Puts an attempt last, unless it waits here already. */
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

  /** Puts attempts back that were taken and not started, before all others. */
  putFirst(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) attempt.isQueued = true
    this.#queue = [...attempts, ...this.#queue.slice(this.#head)]
    this.#head = 0
  }

  /** As `putFirst`, for one attempt. */
  unshift(attempt: Attempt): void {
    attempt.isQueued = true
    if (this.#head > 0) this.#queue[--this.#head] = attempt
    else this.#queue.unshift(attempt)
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
