import { StoreError } from '../../error/index.js'
import type { HistoryNote, ReportOperation, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { type Holder, type Outcome, shardOf, type TimerRow } from '../../timer/index.js'
import type { Attempt } from '../fire/attempt.js'
import type { OnEvent } from '../event.js'
import type { Membership } from '../cluster/membership.js'
import type { ReportSender } from './report-sender.js'
import type { EngineSettings } from '../settings.js'
import { Sleeper } from '../../async/index.js'

export interface HandedAttemptsParts {
  readonly store: Store
  /** The store's clock as far as it is known. */
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly membership: Membership
  readonly reportSender: ReportSender
  readonly onEvent: OnEvent
}

/**
 * The holder's side of a hand-over; `HeldAttempts` and `HandedOverReports` are the new owner's.
 * The attempts that go on in this process although their shards have another owner. When one ends, its outcome goes into
 * the inbox of its shard, and the owner of the shard settles it (rules 3 and 7). They count as long as this instance
 * sends heartbeats: the owner gives an attempt up when the heartbeats of its holder end.
 *
 * Proven by test/engine/handed-over-reports.test.ts, test/engine/rebalance.test.ts and the mutants 'a hand-over of unknown outcome is not looked up', 'an unstarted attempt that was handed over is not reported'.
 */
export class HandedOverAttempts {
  readonly #parts: HandedAttemptsParts
  readonly #running = new Set<Attempt>()
  readonly #sleeper: Sleeper
  #lookingUp = 0
  #isOver = false

  constructor(parts: HandedAttemptsParts) {
    this.#parts = parts
    this.#sleeper = new Sleeper(parts.clock)
  }

  get holder(): Holder {
    const { id, life } = this.#parts.membership
    return { member: id, life }
  }

  /** Whether owners still wait for their outcomes. */
  get isLive(): boolean {
    return !this.#isOver && this.#parts.membership.isHeard
  }

  /** Whether any is under way. */
  get isAny(): boolean {
    return this.#running.size > 0
  }

  /** The shard of an attempt has another owner from now on. The attempt may have ended already. */
  add(attempt: Attempt, notesOf: (outcome: Outcome) => readonly HistoryNote[]): void {
    attempt.handed = this
    if (attempt.outcome !== undefined) {
      this.ended(attempt, attempt.outcome, notesOf(attempt.outcome))
      return
    }
    this.#running.add(attempt)
    // It was taken back while the hand-over was on its way.
    if (attempt.startedAt < 0) this.unstarted(attempt)
  }

  /**
   * The shard was lost, and it is not known whether the store has recorded that these attempts go on here. If it has,
   * the new owner waits for the reports on them. Otherwise the new owner suspects them, and they no longer count.
   */
  async lookUp(
    attempts: readonly Attempt[],
    notesOf: (attempt: Attempt, outcome: Outcome) => readonly HistoryNote[],
  ): Promise<void> {
    this.#lookingUp++
    const rows = await this.#find(attempts)
    this.#lookingUp--
    for (const [index, attempt] of attempts.entries()) {
      attempt.isBeingHanded = false
      const { identity, occurrence } = attempt.row
      const named = { identity, occurrence, attempt: attempt.attempt }
      if (this.#parts.reportSender.isHeldHere(named, rows?.[index]))
        this.add(attempt, (outcome) => notesOf(attempt, outcome))
      else attempt.abandon()
    }
  }

  /** The rows of attempts, no matter which instance owns their shard; undefined when they cannot be read. */
  async #find(attempts: readonly Attempt[]): Promise<readonly (TimerRow | undefined)[] | undefined> {
    const { store, settings } = this.#parts
    const names = attempts.map(({ row: { namespace, kind, key } }) => ({ namespace, kind, key }))
    const shard = shardOf(names[0]!, store.shardCount)
    for (let tries = 0; !this.#isOver; tries++) {
      try {
        return await store.find(names)
      } catch (error) {
        if (!this.#isPassing('find', shard, error)) return undefined
      }
      await this.#sleeper.sleep(settings.retryMs * Math.min(10, 2 ** tries))
    }
    return undefined
  }

  ended(attempt: Attempt, outcome: Outcome, notes: readonly HistoryNote[]): void {
    this.#end(attempt, outcome, notes)
  }

  /** An attempt that was delivered and not started will not start here: the new owner starts it. */
  unstarted(attempt: Attempt): void {
    this.#end(attempt, { type: 'unstarted' }, [])
  }

  #end(attempt: Attempt, result: ReportOperation['result'], notes: readonly HistoryNote[]): void {
    if (!this.#running.delete(attempt) && attempt.outcome === undefined) return
    const { namespace, kind, key, identity, occurrence } = attempt.row
    this.#parts.reportSender.send({
      type: 'report',
      namespace,
      kind,
      key,
      identity,
      occurrence,
      attempt: attempt.attempt,
      result,
      notes,
    })
  }

  /**
   * Tells handlers that their attempts no longer count: all of them if this instance is no longer heard, and those of
   * shards whose owner does not know holders and starts them as well. To be called after every heartbeat.
   */
  abandonIfUnheard(isStartedElsewhere: (shard: number) => boolean): void {
    const { isLive } = this
    const { shardCount } = this.#parts.store
    for (const attempt of this.#running) {
      if (!isLive || isStartedElsewhere(shardOf(attempt.row, shardCount))) attempt.abandon()
    }
  }

  /** Waits until all have ended and been reported, or the time is over. */
  async stop(untilMonotonic: number): Promise<void> {
    const { clock } = this.#parts
    const { reportSender } = this.#parts
    const isBusy = (): boolean => this.#running.size + this.#lookingUp > 0 || !reportSender.isIdle
    while (isBusy() && clock.monotonic() < untilMonotonic) await this.#sleeper.sleep(20)
    this.#isOver = true
    this.#sleeper.cancelAll()
    for (const attempt of this.#running) attempt.abandon()
    this.#running.clear()
  }

  #isPassing(call: string, shard: number, error: unknown): boolean {
    const trouble = error instanceof Error ? error : new Error(String(error))
    this.#parts.onEvent({ type: 'store-trouble', shard, call, error: trouble })
    return error instanceof StoreError && error.code !== 'store-failed'
  }
}
