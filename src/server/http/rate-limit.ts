import type { Clock } from '../../time/index.js'
import { MAX_RATE_BUCKETS } from '../defaults.js'

interface Bucket {
  left: number
  at: number
}

/** A token bucket per name: `perSecond` requests a second, and bursts of one second's worth. */
export class RateLimit {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #buckets = new Map<string, Bucket>()

  /** 0 for no limit. */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock
    this.#perSecond = perSecond
  }

  /** Takes a token and returns 0. Returns the milliseconds until the next token if there is none. */
  take(name: string): number {
    if (this.#perSecond === 0) return 0
    const now = this.#clock.monotonic()
    const bucket = this.#bucketOf(name, now)
    bucket.left = Math.min(this.#capacity, bucket.left + ((now - bucket.at) / 1000) * this.#perSecond)
    bucket.at = now
    if (bucket.left < 1) return ((1 - bucket.left) / this.#perSecond) * 1000
    bucket.left--
    return 0
  }

  get #capacity(): number {
    return Math.max(1, this.#perSecond)
  }

  #bucketOf(name: string, now: number): Bucket {
    let bucket = this.#buckets.get(name)
    if (bucket === undefined) {
      // Forget the oldest name: its bucket has had the longest time to refill.
      if (this.#buckets.size >= MAX_RATE_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!)
      bucket = { left: this.#capacity, at: now }
      this.#buckets.set(name, bucket)
    }
    return bucket
  }
}
