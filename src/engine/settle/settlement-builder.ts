import type { Clock } from '../../time/index.js'
import type { FollowUp, NewDeadLetter, Settlement } from '../../store/index.js'
import {
  earlierOf,
  freeDetails,
  heldDetails,
  type Holder,
  isBefore,
  isEnding,
  keptDetails,
  lastOutcome,
  levelAt,
  type Outcome,
  type Place,
} from '../../timer/index.js'
import type { Attempt } from '../fire/attempt.js'
import type { Attempts } from '../fire/attempts.js'
import type { HeldAttempts } from '../fire/held-attempts.js'
import type { LaneThroughput } from '../fire/lane-throughput.js'
import type { LoadPolicy } from '../load/load-policy.js'
import type { Loader } from '../load/loader.js'
import type { PutBack } from '../load/put-back.js'
import { type NewOffer, offeredFollowUp, type ShardOffers } from '../offer/shard-offers.js'
import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'
import { newNonce, type Ownership } from '../own/ownership.js'
import type { EngineSettings } from '../settings.js'
import { placed, progressAfter, progressOfNext } from './follow-up.js'
import type { OutcomeQueue, Report, ReportedOutcome } from './outcome-queue.js'
import { CLOCK_SLACK_STEP_MS, MIN_SETTLEMENT_ROWS } from '../defaults.js'

const { READY, STARTED, LEAVING, DONE, HELD } = entryState

/** A settlement that is ready to be sent, and what it stands for in memory. */
export interface BuiltSettlement {
  readonly settlement: Settlement
  readonly reports: readonly Report[]
  /** Attempts that go on here after the shard was released. */
  readonly handed: readonly Attempt[]
  /** Unfinished rows that are rewritten above the level. */
  readonly carried: readonly Attempt[]
  /** Due timers that cannot start and leave memory. */
  readonly putBack: readonly Attempt[]
  /** Due timers that other members may start. */
  readonly offered: readonly NewOffer[]
}

/** What a settlement is for. */
export interface SettleOptions {
  /** The shard is about to be released: nothing is left for a later settlement. */
  readonly isLast: boolean
  /** The holder that attempts under way are handed over to; undefined if they are to end first. */
  readonly holder: Holder | undefined
}

export interface SettlementBuilderParts {
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
  readonly ownership: Ownership
  readonly window: Window
  readonly attempts: Attempts
  readonly heldAttempts: HeldAttempts
  readonly outcomes: OutcomeQueue
  readonly putBack: PutBack
  readonly offers: ShardOffers
  readonly throughput: LaneThroughput
  readonly loader: Loader
  readonly loadPolicy: LoadPolicy
}

/**
 * Decides what a settlement writes: how far the settled level rises, which rows are removed one by one, and which are
 * rewritten. The level never passes an unfinished row, the read level or the store's clock (rule 7).
 *
 * Proven by test/engine/level.test.ts, test/engine/long-attempts.test.ts and the mutants 'the settled level passes unfinished rows', 'a carried row is not suspected', 'the next occurrence after a dead one is written without the dead letter'.
 */
export class SettlementBuilder {
  readonly #parts: SettlementBuilderParts
  readonly #window: Window
  // How far behind ours the store's clock may be.
  #clockSlackMs = 0
  #isPutBackLeft = false
  #firstHandedOver: Place | undefined

  constructor(parts: SettlementBuilderParts) {
    this.#parts = parts
    this.#window = parts.window
  }

  /** Whether there was more to put back than the last settlement took. */
  get isPutBackLeft(): boolean {
    return this.#isPutBackLeft
  }

  /** The store refused a level as later than its clock: leaves the store's clock more time to catch up. */
  addClockSlack(): void {
    const most = this.#parts.settings.maxClockOffsetMs * 2
    this.#clockSlackMs = Math.min(this.#clockSlackMs + CLOCK_SLACK_STEP_MS, most)
  }

  /** Takes what there is to settle; undefined when there is nothing. */
  build({ isLast, holder }: SettleOptions): BuiltSettlement | undefined {
    const { settings, throughput, ownership, outcomes, random } = this.#parts
    const { raisesSettledLevel } = this.#parts.loadPolicy
    const limit = Math.max(settings.settleCount, MIN_SETTLEMENT_ROWS)
    const reports = this.#takeReports(limit)
    throughput.measure()
    const offered = isLast ? [] : this.#parts.offers.take(this.#parts.attempts.lanes, limit)
    const putBack = isLast ? [] : this.#parts.putBack.takeExcess(limit)
    this.#isPutBackLeft = putBack.length === limit
    const handed = holder === undefined ? [] : this.#takeHanded()
    const carried = raisesSettledLevel && !isLast ? this.#takeCarried(limit - putBack.length) : []
    for (const { attempt } of reports) this.#window.setState(attempt.token, LEAVING)
    for (const { token } of [...handed, ...carried, ...putBack]) this.#window.setState(token, LEAVING)
    for (const { attempt } of offered) this.#window.setState(attempt.token, LEAVING)
    const before = ownership.settledLevel
    const level = raisesSettledLevel ? this.#level(before) : this.#stepUp(before)
    // Finished rows that the level cannot pass, or not soon enough, are removed one by one.
    const removeFrom = raisesSettledLevel && !isLast ? this.#notPassedSoon(level) : level
    const done = this.#window.doneRows(limit, removeFrom)
    const settledCount = this.#window.countDone(level)
    const history = outcomes.takeNotes()
    // If nothing has ended below the level, it need not be raised.
    const rewritten = reports.length + handed.length + carried.length + putBack.length + offered.length
    if (rewritten + done.length + settledCount + history.length === 0) return undefined
    outcomes.onTaken()
    const { followUps, dead } = this.#followUpsOf(reports, level)
    for (const attempt of handed) {
      attempt.isBeingHanded = true
      followUps.push(handedFollowUp(attempt, level, holder!))
    }
    for (const attempt of carried) followUps.push(this.#carriedFollowUp(attempt, level))
    for (const attempt of putBack) followUps.push(this.#putBackFollowUp(attempt))
    const id = newNonce(random)
    for (const offer of offered) followUps.push(offeredFollowUp(offer, id, level))
    const settlement = { id, level, settledCount, done, followUps, dead, history }
    return { settlement, reports, handed, carried, putBack, offered }
  }

  /** Takes reports. A timer that was cancelled since its attempt was reported has no follow-up: it is done, or dead. */
  #takeReports(limit: number): Report[] {
    const reports: Report[] = []
    for (const report of this.#parts.outcomes.takeReports(limit)) {
      const { attempt, outcome } = report
      if (!isHere(attempt)) continue
      if (!isEnding(attempt.row) || !isOutcome(outcome)) {
        reports.push(report)
        continue
      }
      const last = lastOutcome(attempt.row, outcome)
      if (last.type === 'done') this.#markDone(attempt)
      else reports.push({ attempt, outcome: last })
    }
    return reports
  }

  #markDone({ token }: Attempt): void {
    this.#window.stay(token, DONE)
    this.#window.page(token).attempts[this.#window.index(token)] = undefined
    this.#parts.outcomes.addDone()
  }

  #followUpsOf(
    reports: readonly Report[],
    level: Place,
  ): { readonly followUps: FollowUp[]; readonly dead: NewDeadLetter[] } {
    const { clock, loader } = this.#parts
    const followUps: FollowUp[] = []
    const dead: NewDeadLetter[] = []
    for (const report of reports) {
      if (report.outcome.type === 'dead') {
        const { reason, next } = report.outcome
        const { row } = report.attempt
        dead.push({
          row,
          diedAt: clock.now(),
          reason,
          ...(next && { next: placed(progressOfNext(row, next), level.position, loader.soonest) }),
        })
      } else {
        followUps.push(followUpOf(report, level.position, loader.soonest))
      }
    }
    return { followUps, dead }
  }

  #carriedFollowUp({ row }: Attempt, level: Place): FollowUp {
    const { clock, settings, loader } = this.#parts
    // Well above the level, so that the row does not hold it back again at once.
    const aside = clock.now() + 2 * settings.carryAfterMs
    // Below the read level: an owner that takes over counts one attempt for each row that lies there. So it counts the
    // attempt that is under way exactly once.
    const belowRead = loader.readLevel.position - 1
    const { dueAt, attempt, occurrence } = row
    const position = Math.max(Math.min(aside, belowRead), level.position)
    return { row, dueAt, attempt, occurrence, position, details: keptDetails(row) }
  }

  #putBackFollowUp(attempt: Attempt): FollowUp {
    const { row } = attempt
    const { dueAt, occurrence } = row
    const position = this.#parts.putBack.positionOf(attempt, this.#parts.loader.readLevel.position)
    return { row, dueAt, attempt: row.attempt, occurrence, position, details: keptDetails(row) }
  }

  /** Finished rows from this place on would wait too long for the level. */
  #notPassedSoon(level: Place): Place {
    const { clock, settings, loader } = this.#parts
    const now = clock.now()
    const { settleMs, carryAfterMs } = settings
    // Memory is crowded and the level is held back: remove every finished row.
    if (loader.isCrowded && level.position < now - 2 * settleMs) return level
    // The store's clock was ahead once: the level cannot rise before the clock has caught up with it.
    if (level.position > now) return level
    return earlierOf(loader.readLevel, levelAt(now + 3 * carryAfterMs))
  }

  /** No later level passes this row. It was handed over: it has left memory and is not finished. */
  holdLevelAt({ position, revision }: Place): void {
    const place = { position, revision }
    this.#firstHandedOver = earlierOf(this.#firstHandedOver ?? place, place)
  }

  /** The highest level that passes no unfinished row. */
  #level(before: Place): Place {
    const { clock, loader } = this.#parts
    const latest = levelAt(clock.now() - this.#clockSlackMs)
    let level = earlierOf(loader.readLevel, latest)
    const holding = this.#window.firstHolding()
    if (holding !== undefined) level = earlierOf(level, holding)
    if (this.#firstHandedOver !== undefined) level = earlierOf(level, this.#firstHandedOver)
    return isBefore(level, before) ? before : level
  }

  /**
   * A level one above the last, if rows are done. Rows that are removed by their names are kept just below the level, so
   * each settlement needs a place of its own to forget them in order.
   */
  #stepUp(before: Place): Place {
    if (this.#window.doneRows(1, before).length === 0) return before
    const level = earlierOf(this.#level(before), levelAt(before.position + 1))
    return isBefore(level, before) ? before : level
  }

  #takeHanded(): Attempt[] {
    const handed: Attempt[] = []
    for (const attempt of this.#parts.attempts.started) {
      if (isHere(attempt) && this.#window.state(attempt.token) === STARTED) handed.push(attempt)
    }
    return handed
  }

  #takeCarried(limit: number): Attempt[] {
    const { ownership, loader, clock, settings, attempts, heldAttempts } = this.#parts
    const carried: Attempt[] = []
    // There must be a place for the rows between the level and the read level.
    const { settledLevel } = ownership
    if (loader.readLevel.position <= Math.max(clock.now(), settledLevel.position)) return carried
    const before = clock.monotonic() - settings.carryAfterMs
    for (const attempt of attempts.started) {
      if (attempt.startedAt > before || carried.length === limit) break
      if (this.#isCarriable(attempt, STARTED)) carried.push(attempt)
    }
    for (const attempt of heldAttempts) {
      if (attempt.startedAt > before || carried.length === limit) break
      if (this.#isCarriable(attempt, HELD)) carried.push(attempt)
    }
    this.#carryWaiting(carried, limit)
    return carried
  }

  /** Adds rows that will wait long for their start, and hold the level below rows that are done. */
  #carryWaiting(carried: Attempt[], limit: number): void {
    const { clock, settings, attempts, throughput } = this.#parts
    const { carryAfterMs } = settings
    const dueBefore = clock.now() - carryAfterMs
    let lastDone: Place | undefined
    for (const lane of attempts.lanes) {
      let soon = throughput.startedWithin(carryAfterMs, lane)
      if (lane.waiting <= soon) continue
      lastDone ??= this.#window.lastDone()
      for (const attempt of lane) {
        if (carried.length === limit) return
        if (soon-- > 0 || attempt.readyAt > dueBefore) continue
        if (!isBefore(attempt.row, lastDone)) {
          // A lane that moves is about in the order of its places, and reaches the others in time.
          if (lane.throttle.isOpen) break
          continue
        }
        if (this.#isCarriable(attempt, READY)) carried.push(attempt)
      }
    }
  }

  /** Only a row that holds the level back is worth rewriting. */
  #isCarriable(attempt: Attempt, state: number): boolean {
    return (
      isHere(attempt) &&
      attempt.row.position <= this.#parts.clock.now() &&
      this.#window.state(attempt.token) === state
    )
  }
}

/** Whether it says how an attempt ended. */
function isOutcome(outcome: ReportedOutcome): outcome is Exclude<Outcome, { readonly type: 'done' }> {
  return outcome.type === 'next' || outcome.type === 'retry' || outcome.type === 'dead'
}

/** Whether its row is still in memory. */
function isHere(attempt: Attempt): boolean {
  return !attempt.isSuperseded && attempt.handed === undefined
}

function handedFollowUp({ row }: Attempt, level: Place, holder: Holder): FollowUp {
  const { dueAt, attempt, occurrence } = row
  // At the lowest position, so that the next owner loads this row first.
  const details = heldDetails({ ...row, details: keptDetails(row) }, holder)
  return { row, dueAt, attempt, occurrence, position: level.position, details }
}

function followUpOf(report: Report, floor: number, soonest: number): FollowUp {
  const { attempt, outcome } = report
  const { row } = attempt
  switch (outcome.type) {
    case 'next':
    case 'retry':
      return { row, ...placed(progressAfter(attempt, outcome), floor, soonest) }
    case 'record':
      return {
        row,
        dueAt: row.dueAt,
        attempt: row.attempt + 1,
        occurrence: row.occurrence,
        position: Math.max(row.position, floor),
      }
    case 'unheld':
    case 'unstarted':
      return {
        row,
        dueAt: row.dueAt,
        attempt: outcome.type === 'unheld' ? row.attempt + 1 : row.attempt,
        occurrence: row.occurrence,
        position: Math.max(row.position, floor),
        details: freeDetails(row.details),
      }
    case 'dead':
      throw new Error('a dead letter has no follow-up')
  }
}
