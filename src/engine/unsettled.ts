import type { Clock, Wake } from '../time/index.js'

/** When so small a part of what is much is there, it is settled as soon as nothing more is done. */
const PART = 0.1
const QUIET_MS = 20

/** What one shard has done and not settled. */
export interface UnsettledShare {
  count: number
  isLeft: boolean
  /** Settles the shard as soon as may be. */
  readonly hurry: () => void
}

/**
 * What all shards of an instance have done and not settled. When that has become much, all that have any settle at
 * once: a burst spread over many shards would be much in none of them, and wait for the next second in each. So do
 * they when a burst is over and has left a part of that.
 */
export class Unsettled {
  readonly #clock: Clock
  readonly #most: number
  readonly #shares = new Set<UnsettledShare>()
  #total = 0
  // Counts what was told, so that it shows when nothing more is.
  #told = 0
  #alarm: Wake | undefined

  constructor(clock: Clock, most: number) {
    this.#clock = clock
    this.#most = most
  }

  join(hurry: () => void): UnsettledShare {
    const share = { count: 0, isLeft: false, hurry }
    this.#shares.add(share)
    return share
  }

  leave(share: UnsettledShare): void {
    this.tell(share, 0)
    share.isLeft = true
    this.#shares.delete(share)
    if (this.#shares.size > 0) return
    this.#alarm?.cancel()
    this.#alarm = undefined
  }

  /** How much a shard has not settled now. What one that has left still hears of is no longer its to settle. */
  tell(share: UnsettledShare, count: number): void {
    if (share.isLeft) return
    this.#total += count - share.count
    share.count = count
    this.#told++
    if (this.#total >= this.#most) this.#hurry()
    else if (this.#alarm === undefined && this.#total >= this.#most * PART) this.#watch()
  }

  #hurry(): void {
    for (const share of this.#shares) if (share.count > 0) share.hurry()
  }

  #watch(): void {
    const told = this.#told
    this.#alarm = this.#clock.wakeAfter(QUIET_MS, () => {
      this.#alarm = undefined
      if (this.#total < this.#most * PART) return
      if (this.#told === told) this.#hurry()
      else this.#watch()
    })
  }
}
