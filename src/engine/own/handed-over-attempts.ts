import { StoreError } from '../../error/index.js'
import type { HistoryNote, ReportOperation, InboxRequest, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { type Holder, holderOf, type Outcome, shardOf, type TimerRow } from '../../timer/index.js'
import type { Attempt } from '../fire/attempt.js'
import type { OnEvent } from '../event.js'
import { isMeant, type NamedAttempt } from '../settle/handed-over-reports.js'
import type { Membership } from '../cluster/membership.js'
import { newNonce } from './ownership.js'
import type { EngineSettings } from '../settings.js'
import { Sleeper } from '../../async/index.js'
import { MAX_REMEMBERED_MS, REMEMBERED_MS } from '../defaults.js'

export interface HandedAttemptsParts {
  readonly store: Store
  /** The store's clock as far as it is known. */
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
  readonly membership: Membership
  readonly onEvent: OnEvent
}

/**
 * The attempts that go on in this process although their shards have another owner. When one ends, its outcome goes into
 * the inbox of its shard, and the owner of the shard settles it (rules 3 and 7). They count as long as this instance
 * sends heartbeats: the owner gives an attempt up when the heartbeats of its holder end.
 *
 * Proven by test/engine/handed-over-reports.test.ts, test/engine/rebalance.test.ts and the mutants 'the outcome of a handed-over attempt is not sent', 'a hand-over of unknown outcome is not looked up', 'a report that an owner of protocol 2 removed is not sent again'.
 */
export class HandedOverAttempts {
  readonly #parts: HandedAttemptsParts
  readonly #running = new Set<Attempt>()
  readonly #sleeper: Sleeper
  #reporting = 0
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
    this.#reporting++
    const rows = await this.#find(attempts)
    this.#reporting--
    for (const [index, attempt] of attempts.entries()) {
      attempt.isBeingHanded = false
      const { identity, occurrence } = attempt.row
      const named = { identity, occurrence, attempt: attempt.attempt }
      if (this.#isHeldHere(named, rows?.[index])) this.add(attempt, (outcome) => notesOf(attempt, outcome))
      else attempt.abandon()
    }
  }

  /** The rows of attempts, whoever owns their shard; undefined when they cannot be read. */
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

  /** Whether the row waits for a report on this attempt from this process. */
  #isHeldHere(named: NamedAttempt, row: TimerRow | undefined): boolean {
    const { member, life } = this.holder
    const holder = row && holderOf(row)
    return isMeant(named, row) && holder?.member === member && holder.life === life
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
    const name = { namespace, kind, key }
    this.#reporting++
    void this.#report({
      type: 'report',
      ...name,
      identity,
      occurrence,
      attempt: attempt.attempt,
      result,
      notes,
    }).finally(() => {
      this.#reporting--
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
    while (this.#running.size + this.#reporting > 0 && clock.monotonic() < untilMonotonic)
      await this.#sleeper.sleep(20)
    this.#isOver = true
    this.#sleeper.cancelAll()
    for (const attempt of this.#running) attempt.abandon()
    this.#running.clear()
  }

  /** Puts an outcome into the inbox of its shard, and makes sure that it is not lost there. */
  async #report(operation: ReportOperation): Promise<void> {
    const request = await this.#send(operation)
    if (request !== undefined) void this.#repeat(request)
  }

  /** Appends an outcome until it is known to be there. Answers the request; undefined when it cannot be appended. */
  async #send(operation: ReportOperation): Promise<InboxRequest<ReportOperation> | undefined> {
    const { store, clock, settings, random } = this.#parts
    const shard = shardOf(operation, store.shardCount)
    const id = `report-${newNonce(random).toString(36)}`
    let rememberedMs = REMEMBERED_MS
    for (let tries = 0; !this.#isOver; tries++) {
      try {
        const deadline = Math.ceil(clock.now() + rememberedMs)
        const request = { id, shard, deadline, operation }
        const [answer] = await store.append([request])
        if (answer !== 'expired') {
          store.wake(shard)
          return request
        }
        // The inbox refuses a deadline that is earlier than those it has forgotten.
        rememberedMs = Math.min(rememberedMs * 2, MAX_REMEMBERED_MS)
      } catch (error) {
        if (!this.#isPassing('append', shard, error)) return undefined
      }
      await this.#sleeper.sleep(settings.retryMs * Math.min(10, 2 ** tries))
    }
    return undefined
  }

  /**
   * An owner of protocol 2 does not know reports and removes them. So a report is sent again as long as its row waits for
   * it. A report that is still in the inbox is not added twice. If the attempt was unstarted, the new owner may have
   * started it under the same number and handed it over as well: then the row waits for another process.
   */
  async #repeat(sent: InboxRequest<ReportOperation>): Promise<void> {
    const { store, settings } = this.#parts
    const { shard, operation } = sent
    for (let request: InboxRequest<ReportOperation> | undefined = sent; request !== undefined;) {
      await this.#sleeper.sleep(settings.leaseMs)
      if (this.#isOver) return
      try {
        const [row] = await store.find([operation])
        if (!this.#isHeldHere(operation, row)) return
        const [answer] = await store.append([request])
        if (answer !== 'appended') request = await this.#send(operation)
      } catch (error) {
        if (!this.#isPassing('append', shard, error)) return
      }
    }
  }

  #isPassing(call: string, shard: number, error: unknown): boolean {
    const trouble = error instanceof Error ? error : new Error(String(error))
    this.#parts.onEvent({ type: 'store-trouble', shard, call, error: trouble })
    return error instanceof StoreError && error.code !== 'store-failed'
  }
}
