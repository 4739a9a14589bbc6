import type { Clock, Wake } from '../time/index.js'
import { Rate } from './rate.js'

/** A lane, to the throttle of its kind: told when it may start more. */
export interface ThrottleUser {
  look(): void
}

/**
 * What one kind may have under way in an instance, and how many it may start in a second, whatever the shard.
 * Lanes of several shards that wait for it have their turns in the order in which they began to wait.
 */
export class Throttle {
  readonly #clock: Clock
  readonly #users = new Set<ThrottleUser>()
  readonly #waiting = new Set<ThrottleUser>()
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

  /** Whether lanes of several shards share it. */
  get isShared(): boolean {
    return this.#users.size > 1
  }

  /** Changes what is allowed; whoever waits must be told by the caller. */
  change(capacity: number, perSecond: number | undefined): void {
    this.#capacity = capacity
    if (perSecond !== this.#rate?.perSecond) this.#rate = this.#rateOf(perSecond)
  }

  join(user: ThrottleUser): void {
    this.#users.add(user)
  }

  leave(user: ThrottleUser): void {
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

  /** How long until the rate lets the next through; Infinity when the rate is not what it waits for. */
  msUntilRoom(): number {
    if (this.#rate === undefined || this.#running >= this.#capacity) return Infinity
    return this.available() > 0 ? 0 : this.#rate.msUntilNext()
  }

  started(count: number): void {
    this.#running += count
    this.#rate?.take(count)
  }

  ended(): void {
    this.#running--
  }

  /** Nothing more may start: it is told when that changes. */
  wait(user: ThrottleUser): void {
    this.#waiting.add(user)
    this.#watchRate()
  }

  /** Lets those that wait start, as far as there is room, whoever has waited longest first. */
  wake(): void {
    // A handler that reports at once calls back in here: one loop does it all.
    if (this.#isWaking) return
    this.#isWaking = true
    try {
      for (const user of this.#waiting) {
        if (this.available() <= 0) break
        this.#waiting.delete(user)
        user.look()
      }
    } finally {
      this.#isWaking = false
    }
    if (this.#waiting.size > 0) this.#watchRate()
  }

  /** What is under way tells of its end; that the rate lets more through must be watched for. */
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
