import type { Wake } from '../time/index.js'
import type { Attempt } from './attempt.js'
import type { Rate } from './rate.js'

/** The due timers of one kind: those that wait for their turn, in order, and how many are under way. */
export class Lane {
  readonly namespace: string
  readonly kind: string
  capacity: number
  running = 0
  /** How many may start per second; undefined for as many as come. */
  readonly rate: Rate | undefined
  /** Set while the rate lets nothing through. */
  alarm: Wake | undefined = undefined
  #queue: Attempt[] = []
  #head = 0

  constructor(namespace: string, kind: string, capacity: number, rate: Rate | undefined) {
    this.namespace = namespace
    this.kind = kind
    this.capacity = capacity
    this.rate = rate
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

  *[Symbol.iterator](): Generator<Attempt, void, undefined> {
    for (let index = this.#head; index < this.#queue.length; index++) yield this.#queue[index]!
  }
}
