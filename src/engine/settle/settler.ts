import { StoreError } from '../../error/index.js'
import type { SettleAnswer, Store } from '../../store/index.js'
import { firstPlace, type Holder, type TimerRow } from '../../timer/index.js'
import type { Mutex } from '../../async/index.js'
import type { EngineCounts } from '../counts.js'
import type { OnEvent } from '../event.js'
import type { Attempt } from '../fire/attempt.js'
import { stateOf } from '../fire/attempts.js'
import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'
import { RetryableCallError, UnknownOutcomeError } from '../own/call-errors.js'
import type { FollowUpPace } from './follow-up-pace.js'
import type { NewOffer } from '../offer/shard-offers.js'
import type { SettleSignal } from './settle-signal.js'
import {
  type BuiltSettlement,
  SettlementBuilder,
  type SettlementBuilderParts,
  type SettleOptions,
} from './settlement-builder.js'
import type { SweepPlanner } from './sweep-planner.js'
import { BEHIND_MS, LEFT_DONE_MS } from '../defaults.js'

const { READY, REPORTED, DONE } = entryState

interface SettlerParts extends SettlementBuilderParts {
  readonly store: Store
  readonly counts: EngineCounts
  readonly onEvent: OnEvent
  readonly mutex: Mutex
  readonly sweepPlanner: SweepPlanner
  readonly signal: SettleSignal
  readonly pace: FollowUpPace
}

/**
 * Makes outcomes durable. One atomic write raises the settled level over finished rows, rewrites rows that go on, and
 * stores dead letters (rule 7). One settlement is on its way at a time, and no write is on its way meanwhile. So every
 * insert knows the level that it must not go below, and every count is exact. A settlement of unknown outcome is looked
 * up before the next (rule 5).
 *
 * Proven by test/engine/level.test.ts, test/engine/settle-backlog.test.ts and the mutants 'a settlement of unknown outcome counts as not stored', 'the next occurrence after a dead one is not kept in memory', 'the next occurrence after a dead one is not looked up'.
 */
export class Settler {
  readonly #parts: SettlerParts
  readonly #window: Window
  readonly #builder: SettlementBuilder
  #options: SettleOptions = { isLast: false, holder: undefined }
  #isOver = false

  constructor(parts: SettlerParts) {
    this.#parts = parts
    this.#window = parts.window
    this.#builder = new SettlementBuilder(parts)
  }

  /** Settles every `settleMs`, in time for follow-ups, or when the signal is raised, until it is stopped. */
  async run(): Promise<void> {
    const { settings, signal, outcomes, clock, sweepPlanner, pace } = this.#parts
    const { settleMs, settleCount } = settings
    let settledAt = clock.monotonic()
    while (!this.#isOver) {
      // A sweep does not delay the next settlement, because the time counts from the last one.
      await this.#rest(settledAt + this.#pauseMs(settleMs))
      if (this.#isOver) return
      signal.clear()
      const isSettled = await this.settle()
      // The size of a settlement is limited. What it left need not wait another `settleMs`.
      if (isSettled && (this.#builder.isPutBackLeft || outcomes.reportCount >= settleCount)) signal.raise()
      settledAt = clock.monotonic()
      this.#parts.offers.notifyAgain()
      if (!this.#isOver && sweepPlanner.isDue(() => this.#isBehind)) {
        await sweepPlanner.sweep(
          () => !this.#isOver && !signal.isRaised && pace.msLeft() > 0 && !this.#isBehind,
        )
      }
    }
  }

  /**
   * How long the next settlement may wait. A settlement that comes in the very millisecond of a firing cannot raise the
   * level over it. Where settlements are rare, the next one comes soon then.
   */
  #pauseMs(settleMs: number): number {
    if (settleMs <= LEFT_DONE_MS) return settleMs
    return this.#window.doneRows(1, firstPlace).length > 0 ? LEFT_DONE_MS : settleMs
  }

  /** Waits until the next settlement: at most until `until`, less if a follow-up is due soon or the signal is raised. */
  async #rest(until: number): Promise<void> {
    const { signal, clock, pace, sweepPlanner } = this.#parts
    while (!this.#isOver && !signal.isRaised) {
      const restMs = Math.min(until - clock.monotonic(), pace.msLeft(), sweepPlanner.msLeft())
      if (restMs <= 0) return
      await signal.rest(restMs)
    }
  }

  /** Whether due timers have not started yet, or have not even been loaded. */
  get #isBehind(): boolean {
    const { attempts, loader, clock } = this.#parts
    const dueAt = attempts.oldestReady()?.row.dueAt ?? Infinity
    return Math.min(dueAt, loader.readLevel.position) < clock.now() - BEHIND_MS
  }

  /**
   * Settles everything there is until the time is over, as far as the store allows. With a holder, attempts under way
   * are handed over: their rows record who will report on them.
   */
  async settleAll(untilMonotonic: number, holder?: Holder): Promise<void> {
    const { clock, signal, settings } = this.#parts
    this.#options = { isLast: true, holder }
    while (!this.#isOver && this.#window.hasUnsettled() && clock.monotonic() < untilMonotonic) {
      if (!(await this.settle())) await signal.sleep(settings.retryMs)
    }
  }

  stop(): void {
    this.#isOver = true
    this.#parts.outcomes.stop()
    this.#parts.signal.stop()
  }

  /** Settles once. Answers whether there was anything to settle and it was settled. */
  async settle(): Promise<boolean> {
    const { mutex, clock, pace } = this.#parts
    const askedAt = clock.monotonic()
    const finish = await mutex.lock()
    try {
      const built = this.#builder.build(this.#options)
      if (built === undefined) return false
      try {
        const isSettled = await this.#send(built)
        if (isSettled) pace.took(clock.monotonic() - askedAt)
        return isSettled
      } catch (error) {
        this.#parts.attempts.lookUpHanded(built.handed)
        throw error
      }
    } finally {
      finish()
    }
  }

  async #send(built: BuiltSettlement): Promise<boolean> {
    const { ownership, store, signal, settings } = this.#parts
    const { settlement } = built
    try {
      const answer = await ownership.call('settle', (fence) => store.settle(fence, settlement))
      this.#apply(built, answer)
      return true
    } catch (error) {
      if (error instanceof UnknownOutcomeError) {
        if (ownership.row.lastSettlement === settlement.id) {
          this.#apply(built, await this.#lookUp(built))
          return true
        }
      } else if (error instanceof StoreError && error.code === 'invalid-level') {
        this.#builder.addClockSlack()
      } else if (!(error instanceof RetryableCallError)) {
        throw error
      }
      this.#revert(built)
      await signal.sleep(settings.retryMs)
      signal.raise()
      return false
    }
  }

  /** Brings memory in line with a settlement that the store has written. */
  #apply(built: BuiltSettlement, answer: SettleAnswer): void {
    const { settlement, reports, handed, carried, putBack, offered } = built
    const { counts, ownership, loader, sweepPlanner, onEvent, attempts } = this.#parts
    const { level } = settlement
    counts.settlements++
    counts.settled += settlement.settledCount + settlement.done.length
    counts.rowDeletes += settlement.done.length
    ownership.settledTo(level)
    let { bytes } = this.#window
    for (const row of settlement.done) {
      const token = this.#window.find(row)
      if (token >= 0 && this.#window.state(token) === DONE) this.#window.remove(token)
    }
    let finishedBytes = bytes - this.#window.bytes
    let index = 0
    let deadIndex = 0
    for (const { attempt, outcome } of reports) {
      if (!attempt.isSuperseded) this.#window.remove(attempt.token)
      if (outcome.type === 'dead') counts.dead++
      if (outcome.type === 'retry') counts.retried++
      const row = outcome.type === 'dead' ? answer.dead[deadIndex++]?.next : answer.followUps[index++]
      if (row !== undefined) loader.keep(row, answer.readLevel)
    }
    for (const attempt of handed) this.#handOver(attempt, answer.followUps[index++])
    for (const attempt of carried) this.#carryTo(attempt, answer.followUps[index++])
    for (const attempt of putBack) {
      this.#window.remove(attempt.token)
      attempt.isSuperseded = true
      const row = answer.followUps[index++]
      if (row === undefined) continue
      counts.putBack++
      loader.keep(row, answer.readLevel)
    }
    for (const offer of offered) this.#offerTo(offer, settlement.id, answer.followUps[index++])
    this.#parts.offers.notify()
    bytes = this.#window.bytes
    this.#window.settle(level)
    finishedBytes += bytes - this.#window.bytes
    sweepPlanner.settled(level, settlement.settledCount + settlement.done.length, finishedBytes)
    onEvent({
      type: 'settled',
      shard: ownership.shard,
      position: level.position,
      count: settlement.settledCount + settlement.done.length,
    })
    attempts.startDue()
    loader.loadIfDue()
  }

  /** The store has recorded that an attempt goes on here. The next owner waits for the report on it. */
  #handOver(attempt: Attempt, row: TimerRow | undefined): void {
    if (!attempt.isSuperseded) this.#window.remove(attempt.token)
    attempt.isBeingHanded = false
    if (row === undefined) {
      attempt.isSuperseded = true
      return
    }
    this.#builder.holdLevelAt(row)
    this.#parts.attempts.handOver(attempt)
  }

  /** The store has recorded that a member may start an attempt. The member reports on it. */
  #offerTo(offer: NewOffer, settlementId: number, row: TimerRow | undefined): void {
    const { heldAttempts, offers, counts } = this.#parts
    const { attempt } = offer
    if (!attempt.isSuperseded) this.#window.remove(attempt.token)
    if (row === undefined) {
      attempt.isSuperseded = true
      offers.dropped(offer)
      return
    }
    counts.offered++
    heldAttempts.addOffered(attempt)
    this.#place(attempt, row)
    offers.stored(offer, settlementId)
  }

  /** An unfinished row has another place now. It stays in memory, whatever the read level. */
  #carryTo(attempt: Attempt, row: TimerRow | undefined): void {
    if (row !== undefined) {
      this.#parts.counts.carried++
      this.#parts.attempts.rewrite(attempt, row)
      return
    }
    if (!attempt.isSuperseded) this.#window.remove(attempt.token)
    attempt.isSuperseded = true
  }

  #place(attempt: Attempt, row: TimerRow): void {
    attempt.row = row
    attempt.token = this.#window.addRow(row, stateOf(attempt))
    this.#window.page(attempt.token).attempts[this.#window.index(attempt.token)] = attempt
  }

  /** Takes back what was prepared for a settlement that the store has not written. */
  #revert({ settlement, reports, handed, carried, putBack, offered }: BuiltSettlement): void {
    const { outcomes, attempts, offers } = this.#parts
    for (const { attempt } of reports) {
      if (!attempt.isSuperseded) this.#window.stay(attempt.token, REPORTED)
    }
    outcomes.giveBack(reports, settlement.history)
    for (const attempt of [...handed, ...carried]) {
      attempt.isBeingHanded = false
      if (attempt.isSuperseded) continue
      this.#window.stay(attempt.token, stateOf(attempt))
      if (attempt.startedAt < 0) attempts.enqueue(attempt)
    }
    for (const attempt of putBack) {
      this.#window.stay(attempt.token, READY)
      attempts.enqueue(attempt)
    }
    for (const offer of offered) {
      offers.dropped(offer)
      this.#window.stay(offer.attempt.token, READY)
      attempts.enqueue(offer.attempt)
    }
  }

  /** The answer to a settlement that was written, but whose answer was lost. */
  async #lookUp({ settlement }: BuiltSettlement): Promise<SettleAnswer> {
    const { ownership, store, signal } = this.#parts
    const before = [...settlement.followUps, ...settlement.dead].map(({ row }) => row)
    const first = settlement.followUps.length
    const found = await ownership.retrying('find', () => store.find(before), signal)
    const rows = found.map((row, index) => {
      const { identity, revision } = before[index]!
      return row?.identity === identity && row.revision > revision ? row : undefined
    })
    const dead = settlement.dead.map((_, index) => ({ kept: true, next: rows[first + index] }))
    return { followUps: rows.slice(0, first), dead, readLevel: ownership.row.readLevel }
  }
}
