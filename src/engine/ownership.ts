import { CarillonError, InvalidInputError, LimitError, StoreError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { Fence, ShardRow, Store } from '../store/index.js'
import { laterOf, type Place } from '../timer/index.js'
import type { OnEvent } from './event.js'
import { Waits } from './waits.js'
import type { EngineSettings } from './settings.js'

/** The shard is somebody else's, or no longer to be touched: whoever gets this stops without a trace. */
export class LostShard extends Error {}

/** A call that was refused because this owner itself had raised the epoch meanwhile: it did not happen. */
export class Outdated extends Error {}

/** A call that may have happened; the epoch has been raised since, so what happened is final. */
export class Unresolved extends Error {}

/** A call that the store did not take; it may be tried again. */
export class Untaken extends Error {}

/**
 * Ownership of one shard: the fence under which every call is made, and the lease. A call of unknown outcome
 * raises the epoch before anything else is sent, so that a late original is refused (rule 5); a fence that no
 * longer holds ends it all at once (rule 1). The lease runs from before its claim or renewal was sent, and is
 * over when either clock says so, less a margin (rule 6).
 */
export class Ownership {
  readonly shard: number
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #random: () => number
  readonly #onEvent: OnEvent
  readonly #onLost: (reason: string) => void
  readonly #onLeased: () => void
  readonly #isClockRight: () => boolean
  readonly #waits: Waits
  #fence: Fence
  #row: ShardRow
  #leaseUntilMonotonic = 0
  #leaseUntilWall = 0
  #refencing: Promise<void> | undefined
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    random: () => number
    onEvent: OnEvent
    onLost: (reason: string) => void
    /** The lease was prolonged. */
    onLeased: () => void
    /** Whether this machine's clock agrees with the store's. */
    isClockRight: () => boolean
    row: ShardRow
    /** The readings of both clocks before the claim was sent. */
    sentAt: Reading
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#random = parts.random
    this.#onEvent = parts.onEvent
    this.#onLost = parts.onLost
    this.#onLeased = parts.onLeased
    this.#isClockRight = parts.isClockRight
    this.#row = parts.row
    this.shard = parts.row.shard
    this.#fence = fenceOf(parts.row)
    this.#waits = new Waits(parts.clock)
    this.#leaseFrom(parts.sentAt)
  }

  /** The shard's row as it was at the last claim, renewal or raise of the epoch. */
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

  /** Whether the lease still runs, by both clocks. */
  get isLeased(): boolean {
    return (
      !this.#isOver &&
      this.#clock.monotonic() < this.#leaseUntilMonotonic &&
      this.#clock.now() < this.#leaseUntilWall
    )
  }

  /** Whether attempts may start: on a lease that runs, by a clock that is right. */
  get mayStart(): boolean {
    return this.isLeased && this.#isClockRight()
  }

  /** A settlement was acknowledged. */
  settledTo(level: Place): void {
    this.#fence = { ...this.#fence, settledLevel: laterOf(this.#fence.settledLevel, level) }
  }

  /**
   * Makes a call under the fence. Rejects with `LostShard`, `Outdated`, `Unresolved` (the epoch is raised by
   * then) or `Untaken`; a refusal of what was asked (bad input, a bad level, the inbox first) comes through as it is.
   */
  async call<Answer>(name: string, send: (fence: Fence) => Promise<Answer>): Promise<Answer> {
    await this.#refencingDone()
    if (this.#isOver) throw new LostShard()
    const fence = this.#fence
    try {
      return await send(fence)
    } catch (error) {
      if (this.#isOver) throw new LostShard()
      if (error instanceof InvalidInputError || error instanceof LimitError) throw error
      if (!(error instanceof StoreError)) {
        this.lose(`${name} failed: ${String(error)}`)
        throw new LostShard()
      }
      if (error.code === 'invalid-level' || error.code === 'inbox-first') throw error
      this.#onEvent({ type: 'store-trouble', shard: this.shard, call: name, error })
      if (error.code === 'fenced') {
        await this.#refencingDone()
        if (this.#isOver) throw new LostShard()
        if (fence.epoch !== this.#fence.epoch) throw new Outdated()
        this.lose(error.message)
        throw new LostShard()
      }
      if (error.code === 'unknown-outcome') {
        // Under an older epoch it is final already.
        if (fence.epoch === this.#fence.epoch) await this.#refence()
        if (this.#isOver) throw new LostShard()
        throw new Unresolved()
      }
      throw new Untaken(error.message)
    }
  }

  /** Prolongs the lease. Answers whether it is ours still. */
  async renew(): Promise<boolean> {
    const sentAt = this.#reading()
    try {
      await this.call('renew', (fence) => this.#store.renew(fence, this.#settings.leaseMs))
      this.#leaseFrom(sentAt)
      this.#onLeased()
      return true
    } catch (error) {
      if (error instanceof CarillonError) throw error
      return !this.#isOver
    }
  }

  /** Lets go of the shard: whoever claims it next need not wait. */
  async release(): Promise<void> {
    const fence = this.#fence
    this.#isOver = true
    this.#waits.end()
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

  /** Ends it here and now, without a word to the store. */
  lose(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waits.end()
    this.#onLost(reason)
  }

  async #refencingDone(): Promise<void> {
    while (this.#refencing !== undefined) await this.#refencing
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
    // Sent again it is the same raise, and the lease runs from when the first may have been committed.
    const sentAt = this.#reading()
    for (let tries = 0; !this.#isOver; tries++) {
      try {
        const row = await this.#store.refence(fence, nonce, this.#settings.leaseMs)
        if (this.#isOver) return
        this.#row = row
        this.#fence = { ...fenceOf(row), settledLevel: laterOf(row.settledLevel, fence.settledLevel) }
        this.#leaseFrom(sentAt)
        this.#onLeased()
        return
      } catch (error) {
        if (!(error instanceof StoreError) || error.code === 'fenced') {
          this.lose(String(error))
          return
        }
        this.#onEvent({ type: 'store-trouble', shard: this.shard, call: 'refence', error })
      }
      await this.#waits.wait(this.#settings.retryMs * Math.min(10, 2 ** tries))
    }
  }

  #reading(): Reading {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() }
  }

  #leaseFrom(sentAt: Reading): void {
    const lastsMs = this.#settings.leaseMs - this.#settings.leaseMarginMs
    this.#leaseUntilMonotonic = Math.max(this.#leaseUntilMonotonic, sentAt.monotonic + lastsMs)
    // The wall clock may have been set back since the last time: then an earlier end is the right one.
    this.#leaseUntilWall = sentAt.wall + lastsMs
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
