import type { Clock, Wake } from '../../time/index.js'
import type { Outcome } from '../../timer/index.js'
import { LatenessHistogram } from '../lateness-histogram.js'
import { Rate } from './rate.js'

/** A lane as the throttle of its kind sees it. */
export interface ThrottleUser {
  startMore(): void
}

/**
 * Limits how many attempts of one kind run at once in an instance, and how many start per second, over all shards. Lanes
 * that wait for it take turns in the order in which they began to wait.
 */
export class Throttle {
  readonly #clock: Clock
  readonly #users = new Set<ThrottleUser>()
  readonly #waiting = new Set<ThrottleUser>()
  /** Since it exists, for monitoring. */
  startedCount = 0
  readonly endedCounts = { done: 0, next: 0, retry: 0, dead: 0 }
  readonly lateness = new LatenessHistogram()
  #capacity: number
  #running = 0
  #rate: Rate | undefined
  #alarm: Wake | undefined
  #isWaking = false

  constructor(clock: Clock, capacity: number, perSecond: number | undefined) {
    this.#clock = clock
    this.#capacity = capacity
    this.#rate = this.#rateOf(perSecond)
  }

  /** Whether the kind has a handler and is not paused. */
  get isOpen(): boolean {
    return this.#capacity > 0
  }

  /** Attempts under way. */
  get running(): number {
    return this.#running
  }

  /** Whether lanes of several shards share it. */
  get isShared(): boolean {
    return this.#users.size > 1
  }

  /** Changes the limits. The caller must wake waiting lanes. */
  change(capacity: number, perSecond: number | undefined): void {
    this.#capacity = capacity
    if (perSecond !== this.#rate?.perSecond) this.#rate = this.#rateOf(perSecond)
  }

  join(user: ThrottleUser): void {
    this.#users.add(user)
  }

  unregister(user: ThrottleUser): void {
    this.#users.delete(user)
    this.#waiting.delete(user)
    if (this.#users.size > 0) return
    this.#alarm?.cancel()
    this.#alarm = undefined
  }

  /** How many may start now. */
  available(): number {
    const room = this.#capacity - this.#running
    if (this.#rate === undefined || room <= 0) return room
    return Math.min(room, this.#rate.available(this.#clock.monotonic()))
  }

  /** How long until the rate allows the next start; Infinity if the rate is not what prevents it. */
  msUntilRoom(): number {
    if (this.#rate === undefined || this.#running >= this.#capacity) return Infinity
    return this.available() > 0 ? 0 : this.#rate.msUntilNext()
  }

  started(count: number): void {
    this.#running += count
    this.startedCount += count
    this.#rate?.consume(count)
  }

  /** An attempt has ended; without an outcome if nothing follows from it here. */
  ended(outcome: Outcome | undefined): void {
    this.#running--
    if (outcome !== undefined) this.endedCounts[outcome.type]++
  }

  /** An attempt that counted as started was not. */
  notStarted(): void {
    this.#running--
    this.startedCount--
    this.#rate?.consume(-1)
  }

  /** Nothing more may start: the lane is called back when that changes. */
  wait(user: ThrottleUser): void {
    this.#waiting.add(user)
    this.#watchRate()
  }

  /** Lets waiting lanes start as many as may run. The lane that has waited longest goes first. */
  wake(): void {
    // A handler that reports at once calls back in here. The loop that is running serves it.
    if (this.#isWaking) return
    this.#isWaking = true
    try {
      for (const user of this.#waiting) {
        if (this.available() <= 0) break
        this.#waiting.delete(user)
        user.startMore()
      }
    } finally {
      this.#isWaking = false
    }
    if (this.#waiting.size > 0) this.#watchRate()
  }

  /** Sets an alarm for when the rate allows the next start. */
  #watchRate(): void {
    if (this.#rate === undefined || this.#alarm !== undefined || this.#running >= this.#capacity) return
    this.#alarm = this.#clock.wakeAfter(this.#rate.msUntilNext(), () => {
      this.#alarm = undefined
      this.wake()
    })
  }

  #rateOf(perSecond: number | undefined): Rate | undefined {
    return perSecond === undefined ? undefined : new Rate(perSecond, this.#clock.monotonic())
  }
}
