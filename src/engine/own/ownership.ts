import { CarillonError, InvalidInputError, LimitError, StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type { Fence, ShardRow, Store } from '../../store/index.js'
import { laterOf, type Place } from '../../timer/index.js'
import type { OnEvent } from '../event.js'
import { Sleeper } from '../../async/index.js'
import { isPassing, LostShardError, RetryableCallError, UnknownOutcomeError } from './call-errors.js'
import type { EngineSettings } from '../settings.js'

/**
 * The ownership of one shard: its fence and its lease. Every call of the owner is made under the fence. A call that the
 * store refuses as fenced ends the ownership at once (rule 1). A call of unknown outcome raises the epoch before anything
 * else is sent, so that the store refuses the late original (rule 5). The lease counts from before it was asked for, and
 * is over when either clock of this machine says so, less a margin (rule 6).
 *
 * Proven by test/engine/ownership.test.ts and the mutants 'a call of unknown outcome is sent again without a new epoch', 'the lease is counted from the answer to the renewal', 'the lease of a raised epoch is counted from the last retry', 'timers start although the lease is over'.
 */
export class Ownership {
  readonly shard: number
  readonly #store: Store
  readonly #clock: Clock
  readonly #storeClock: Clock
  readonly #settings: EngineSettings
  readonly #random: () => number
  readonly #onEvent: OnEvent
  readonly #onLost: (reason: string) => void
  readonly #onLeased: () => void
  readonly #isClockRight: () => boolean
  readonly #sleeper: Sleeper
  #fence: Fence
  #row: ShardRow
  #leaseUntilMonotonic = 0
  #leaseUntilWall = 0
  #leaseUntilStore = 0
  #refencing: Promise<void> | undefined
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    /** The store's clock as far as it is known. */
    storeClock: Clock
    settings: EngineSettings
    random: () => number
    onEvent: OnEvent
    onLost: (reason: string) => void
    /** The lease was renewed. */
    onLeased: () => void
    /** Whether this machine's clock agrees with the store's. */
    isClockRight: () => boolean
    row: ShardRow
    /** What both clocks showed before the shard was asked for. */
    sentAt: Reading
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#storeClock = parts.storeClock
    this.#settings = parts.settings
    this.#random = parts.random
    this.#onEvent = parts.onEvent
    this.#onLost = parts.onLost
    this.#onLeased = parts.onLeased
    this.#isClockRight = parts.isClockRight
    this.#row = parts.row
    this.shard = parts.row.shard
    this.#fence = fenceOf(parts.row)
    this.#sleeper = new Sleeper(parts.clock)
    this.#leaseFrom(parts.sentAt, parts.row)
  }

  /** The shard row as of the acquisition, or of the last time that the epoch was raised. */
  get row(): ShardRow {
    return this.#row
  }

  get epoch(): number {
    return this.#fence.epoch
  }

  get settledLevel(): Place {
    return this.#fence.settledLevel
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether the lease still runs: by both clocks of this machine, and by the store's. */
  get isLeased(): boolean {
    return (
      !this.#isOver &&
      this.#clock.monotonic() < this.#leaseUntilMonotonic &&
      this.#clock.now() < this.#leaseUntilWall &&
      this.#storeClock.now() < this.#leaseUntilStore
    )
  }

  /** Whether attempts may start: the lease runs, and this machine's clock is right. */
  get mayStart(): boolean {
    return this.isLeased && this.#isClockRight()
  }

  /** The store has acknowledged a settlement. */
  settledTo(level: Place): void {
    this.#fence = { ...this.#fence, settledLevel: laterOf(this.#fence.settledLevel, level) }
  }

  /**
   * Makes a call under the fence. Rejects with `LostShardError`, `RetryableCallError` or `UnknownOutcomeError`. A refusal
   * of the request itself (bad input, a bad level, the inbox first) is thrown on as it is.
   */
  async call<Answer>(name: string, send: (fence: Fence) => Promise<Answer>): Promise<Answer> {
    await this.whenFenced()
    if (this.#isOver) throw new LostShardError()
    const fence = this.#fence
    try {
      return await send(fence)
    } catch (error) {
      if (this.#isOver) throw new LostShardError()
      if (error instanceof InvalidInputError || error instanceof LimitError) throw error
      if (!(error instanceof StoreError)) {
        this.lose(`${name} failed: ${String(error)}`)
        throw new LostShardError()
      }
      if (error.code === 'invalid-level' || error.code === 'inbox-first') throw error
      this.#onEvent({ type: 'store-trouble', shard: this.shard, call: name, error })
      if (error.code === 'store-failed') {
        // The store takes no more calls from this process.
        this.lose(error.message)
        throw new LostShardError()
      }
      if (error.code === 'fenced') {
        await this.whenFenced()
        if (this.#isOver) throw new LostShardError()
        if (fence.epoch !== this.#fence.epoch) throw new RetryableCallError(error.message)
        this.lose(error.message)
        throw new LostShardError()
      }
      if (error.code === 'unknown-outcome') {
        // If the epoch was raised since the call, the outcome is final already.
        if (fence.epoch === this.#fence.epoch) await this.#refence()
        if (this.#isOver) throw new LostShardError()
        throw new UnknownOutcomeError()
      }
      throw new RetryableCallError(error.message, { cause: error })
    }
  }

  /** Resolves when the epoch is not being raised: a call would be sent at once. */
  async whenFenced(): Promise<void> {
    while (this.#refencing !== undefined) await this.#refencing
  }

  /**
   * Repeats a call until it is answered. Only for a call that may happen twice, such as a lookup. `sleeper` belongs to
   * the part that calls, so that the part can end the wait between two tries.
   */
  async retrying<Answer>(
    name: string,
    send: (fence: Fence) => Promise<Answer>,
    sleeper: Pick<Sleeper, 'sleep'>,
  ): Promise<Answer> {
    for (;;) {
      try {
        return await this.call(name, send)
      } catch (error) {
        if (!isPassing(error)) throw error
        await sleeper.sleep(this.#settings.retryMs)
      }
    }
  }

  /** Waits before a call that did not happen is sent again. Rethrows any other error. */
  waitToRetry(error: unknown, sleeper: Sleeper): Promise<void> {
    if (!(error instanceof RetryableCallError)) throw error
    return sleeper.sleep(this.#settings.retryMs)
  }

  /** Renews the lease. Answers whether the shard is still ours. */
  async renew(): Promise<boolean> {
    const sentAt = this.#reading()
    try {
      const row = await this.call('renew', (fence) => this.#store.renew(fence, this.#settings.leaseMs))
      this.#leaseFrom(sentAt, row)
      this.#onLeased()
      return true
    } catch (error) {
      if (error instanceof CarillonError) throw error
      return !this.#isOver
    }
  }

  /** Releases the shard: the next owner need not wait for the end of the lease. */
  async release(): Promise<void> {
    const fence = this.#fence
    this.#isOver = true
    this.#sleeper.cancelAll()
    try {
      await this.#store.release(fence)
    } catch (error) {
      if (error instanceof StoreError) {
        this.#onEvent({ type: 'store-trouble', shard: this.shard, call: 'release', error })
      } else {
        throw error
      }
    }
  }

  /** Ends the ownership at once, without a call to the store. */
  lose(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sleeper.cancelAll()
    this.#onLost(reason)
  }

  #refence(): Promise<void> {
    this.#refencing ??= this.#raiseEpoch().finally(() => {
      this.#refencing = undefined
    })
    return this.#refencing
  }

  async #raiseEpoch(): Promise<void> {
    const fence = this.#fence
    const nonce = newNonce(this.#random)
    // A retry is the same raise. The first try may have been committed, so the lease counts from before it.
    const sentAt = this.#reading()
    for (let tries = 0; !this.#isOver; tries++) {
      try {
        const row = await this.#store.refence(fence, nonce, this.#settings.leaseMs)
        if (this.#isOver) return
        this.#row = row
        this.#fence = { ...fenceOf(row), settledLevel: laterOf(row.settledLevel, fence.settledLevel) }
        this.#leaseFrom(sentAt, row)
        this.#onLeased()
        return
      } catch (error) {
        if (!(error instanceof StoreError) || error.code === 'fenced' || error.code === 'store-failed') {
          this.lose(String(error))
          return
        }
        this.#onEvent({ type: 'store-trouble', shard: this.shard, call: 'refence', error })
      }
      await this.#sleeper.sleep(this.#settings.retryMs * Math.min(10, 2 ** tries))
    }
  }

  #reading(): Reading {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() }
  }

  #leaseFrom(sentAt: Reading, { leaseUntil }: ShardRow): void {
    const lastsMs = this.#settings.leaseMs - this.#settings.leaseMarginMs
    this.#leaseUntilMonotonic = Math.max(this.#leaseUntilMonotonic, sentAt.monotonic + lastsMs)
    // Not the later of both: if the wall clock was set back meanwhile, the earlier end is right.
    this.#leaseUntilWall = sentAt.wall + lastsMs
    // So nothing starts that is due later than the lease ends: the next owner does not suspect such rows.
    this.#leaseUntilStore = leaseUntil - this.#settings.leaseMarginMs
  }
}

/** What both clocks showed at one moment. */
export interface Reading {
  readonly monotonic: number
  readonly wall: number
}

export function newNonce(random: () => number): number {
  return Math.floor(random() * 2 ** 52) + 1
}

function fenceOf(row: ShardRow): Fence {
  return { shard: row.shard, epoch: row.epoch, nonce: row.nonce, settledLevel: row.settledLevel }
}
