import type { Clock } from '../time/index.js'

interface Bucket {
  left: number
  at: number
}

const MOST_NAMES = 10_000

/** Lets each name through so often a second, and a second's worth at once. */
export class RateLimit {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #buckets = new Map<string, Bucket>()

  /** 0 for no limit. */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock
    this.#perSecond = perSecond
  }

  /** Takes one. Answers 0 when there was one to take, else after how many milliseconds there will be. */
  take(name: string): number {
    if (this.#perSecond === 0) return 0
    const now = this.#clock.monotonic()
    const bucket = this.#bucketOf(name, now)
    bucket.left = Math.min(this.#most, bucket.left + ((now - bucket.at) / 1000) * this.#perSecond)
    bucket.at = now
    if (bucket.left < 1) return ((1 - bucket.left) / this.#perSecond) * 1000
    bucket.left--
    return 0
  }

  get #most(): number {
    return Math.max(1, this.#perSecond)
  }

  #bucketOf(name: string, now: number): Bucket {
    let bucket = this.#buckets.get(name)
    if (bucket === undefined) {
      // The oldest name goes: it has had the longest time to fill up again.
      if (this.#buckets.size >= MOST_NAMES) this.#buckets.delete(this.#buckets.keys().next().value!)
      bucket = { left: this.#most, at: now }
      this.#buckets.set(name, bucket)
    }
    return bucket
  }
}
