import { StoreError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { FollowUp, NewDeadLetter, SettleAnswer, Settlement, Store } from '../store/index.js'
import { earlierOf, isBefore, levelAt, type Place, type TimerRow } from '../timer/index.js'
import type { Attempt } from './attempt.js'
import type { Attempts, Report } from './attempts.js'
import type { OnEvent } from './event.js'
import { placed, progressAfter, progressOfNext } from './follow-up.js'
import type { Loader } from './loader.js'
import { newNonce, Outdated, type Ownership, Unresolved, Untaken } from './ownership.js'
import { Waits } from './waits.js'
import type { EngineSettings } from './settings.js'
import type { Paces } from './paces.js'
import type { Surplus } from './surplus.js'
import type { Sweeping } from './sweeping.js'
import type { EngineCounts } from './engine-counts.js'
import type { Turns } from './turns.js'
import type { Unsettled, UnsettledShare } from './unsettled.js'
import type { Window } from './window.js'
import { entryState } from './window-page.js'

// Settling at every outcome is no reason to settle them one by one.
const LEAST_BATCH = 1000
// Later than this is late: on a store that has time to spare timers start within milliseconds.
const BEHIND_MS = 100

const { READY, STARTED, REPORTED, DONE, LEAVING } = entryState

/** A row that is rewritten above the level because it is not finished. */
interface Carried {
  readonly attempt: Attempt
  readonly wasStarted: boolean
}

/** A settlement on its way, and what it stands for in memory. */
interface Sent {
  readonly settlement: Settlement
  readonly reports: readonly Report[]
  readonly carried: readonly Carried[]
  /** Due timers that cannot start and leave memory. */
  readonly putBack: readonly Attempt[]
}

/**
 * Makes outcomes durable: one atomic write raises the settled level over what is over, rewrites what goes on,
 * and keeps what died (rule 7). One settlement is on its way at a time; one of unknown outcome is looked up
 * before the next, and no write is on its way meanwhile: so every insert knows the level it must not go below,
 * and every count is exact. The level never passes a row that is not finished, the read level, or the store's
 * clock.
 */
export class Settler {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #random: () => number
  readonly #ownership: Ownership
  readonly #window: Window
  readonly #attempts: Attempts
  readonly #counts: EngineCounts
  readonly #onEvent: OnEvent
  readonly #storeNow: () => number
  readonly #turns: Turns
  readonly #surplus: Surplus
  readonly #paces: Paces
  readonly #sweeping: Sweeping
  readonly #unsettled: Unsettled
  readonly #share: UnsettledShare
  readonly #waits: Waits
  #loader!: Loader
  #isAsked = false
  // The shard is about to be let go: nothing is left for the next settlement.
  #isLast = false
  #isOver = false
  #doneAtLast = 0
  // There was more to put back than one settlement takes.
  #isSurplusLeft = false
  // How far behind ours the store's clock may be.
  #clockSlackMs = 0

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    random: () => number
    ownership: Ownership
    window: Window
    attempts: Attempts
    counts: EngineCounts
    onEvent: OnEvent
    /** About what the store's clock shows. */
    storeNow: () => number
    turns: Turns
    surplus: Surplus
    paces: Paces
    sweeping: Sweeping
    unsettled: Unsettled
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#random = parts.random
    this.#ownership = parts.ownership
    this.#window = parts.window
    this.#attempts = parts.attempts
    this.#counts = parts.counts
    this.#onEvent = parts.onEvent
    this.#storeNow = parts.storeNow
    this.#turns = parts.turns
    this.#surplus = parts.surplus
    this.#paces = parts.paces
    this.#unsettled = parts.unsettled
    this.#share = parts.unsettled.join(() => this.hurry())
    this.#waits = new Waits(parts.clock)
    this.#sweeping = parts.sweeping
    this.#sweeping.onMuch = () => this.hurry()
  }

  connect(loader: Loader): void {
    this.#loader = loader
  }

  /** Settles now and then until it is ended. */
  async run(): Promise<void> {
    const { settleMs, settleCount } = this.#settings
    let restMs = settleMs
    while (!this.#isOver) {
      if (!this.#isAsked) await this.#waits.wait(restMs)
      if (this.#isOver) return
      this.#isAsked = false
      const isSettled = await this.settle()
      // One settlement takes so many: the rest need not wait for the next second.
      if (isSettled && (this.#isSurplusLeft || this.#attempts.reportCount >= settleCount)) this.hurry()
      const settledAt = this.#clock.monotonic()
      if (!this.#isOver && this.#sweeping.isDue(() => this.#isBehind)) {
        await this.#sweeping.sweep(() => !this.#isOver && !this.#isAsked && !this.#isBehind)
      }
      // Sweeping is not to keep the next settlement waiting.
      restMs = Math.max(0, settleMs - (this.#clock.monotonic() - settledAt))
    }
  }

  /** Whether due timers have not started yet, or not even been read. */
  get #isBehind(): boolean {
    const dueAt = this.#attempts.oldestReady()?.row.dueAt ?? Infinity
    return Math.min(dueAt, this.#loader.readLevel.position) < this.#clock.now() - BEHIND_MS
  }

  /** Something ended: settle early if it has become much, here and in the other shards together. */
  noticed(): void {
    this.#unsettled.tell(this.#share, this.#unsettledCount)
  }

  get #unsettledCount(): number {
    return (
      this.#counts.done - this.#doneAtLast + Math.max(this.#attempts.reportCount, this.#attempts.noteCount)
    )
  }

  /** Timers became due: what cannot start and takes the room of others is put back early. */
  looked(): void {
    if (this.#surplus.isMuch) this.hurry()
  }

  /** Settle as soon as may be. */
  hurry(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    this.#waits.interrupt()
  }

  /** Memory is short: settle and delete early. */
  relieve(): void {
    this.#sweeping.hurry()
    this.hurry()
  }

  /** Settles everything there is to settle, as far as the store lets it, until the time is over. */
  async settleAll(untilMonotonic: number): Promise<void> {
    this.#isLast = true
    while (!this.#isOver && this.#window.hasUnsettled() && this.#clock.monotonic() < untilMonotonic) {
      if (!(await this.settle())) await this.#waits.wait(this.#settings.retryMs)
    }
  }

  end(): void {
    this.#isOver = true
    this.#unsettled.leave(this.#share)
    this.#waits.end()
  }

  /** Settles once. Answers whether there was anything to settle, and it was settled. */
  async settle(): Promise<boolean> {
    const finish = await this.#turns.take()
    try {
      const sent = this.#build()
      if (sent === undefined) return false
      return await this.#send(sent)
    } finally {
      finish()
    }
  }

  async #send(sent: Sent): Promise<boolean> {
    const { settlement } = sent
    try {
      const answer = await this.#ownership.call('settle', (fence) => this.#store.settle(fence, settlement))
      this.#settled(sent, answer)
      return true
    } catch (error) {
      if (error instanceof Unresolved) {
        if (this.#ownership.row.lastSettlement === settlement.id) {
          this.#settled(sent, await this.#lookUp(sent))
          return true
        }
      } else if (error instanceof StoreError && error.code === 'invalid-level') {
        // The store's clock is behind ours: leave it the time to catch up.
        this.#clockSlackMs = Math.min(this.#clockSlackMs + 50, this.#settings.maxClockOffsetMs * 2)
      } else if (!(error instanceof Outdated || error instanceof Untaken)) {
        throw error
      }
      this.#revert(sent)
      await this.#waits.wait(this.#settings.retryMs)
      this.hurry()
      return false
    }
  }

  #build(): Sent | undefined {
    const isLevelled = this.#settings.strategy === 'preload'
    const limit = Math.max(this.#settings.settleCount, LEAST_BATCH)
    const reports = this.#takeReports(limit)
    this.#paces.look()
    const putBack = this.#isLast ? [] : this.#surplus.take(limit)
    this.#isSurplusLeft = putBack.length === limit
    const carried = isLevelled ? this.#takeCarried(limit - putBack.length) : []
    for (const { attempt } of [...reports, ...carried]) this.#window.setState(attempt.token, LEAVING)
    for (const { token } of putBack) this.#window.setState(token, LEAVING)
    const before = this.#ownership.settledLevel
    const level = isLevelled ? this.#level(before) : before
    // What the level cannot pass, or not soon enough, is named one by one.
    const named = isLevelled && !this.#isLast ? this.#notPassedSoon(level) : level
    const done = this.#window.doneRows(limit, named)
    const settledCount = isLevelled ? this.#window.countDone(level) : 0
    // A level that nothing has ended below need not be raised.
    const history = this.#attempts.takeNotes()
    const count = reports.length + carried.length + putBack.length + done.length + settledCount
    if (count + history.length === 0) return undefined
    this.#doneAtLast = this.#counts.done
    this.#unsettled.tell(this.#share, this.#unsettledCount)
    const followUps: FollowUp[] = []
    const dead: NewDeadLetter[] = []
    for (const report of reports) {
      if (report.outcome.type === 'dead') {
        const { reason, next } = report.outcome
        const { row } = report.attempt
        dead.push({
          row,
          diedAt: this.#clock.now(),
          reason,
          ...(next && { next: placed(progressOfNext(row, next), level.position, this.#loader.soonest) }),
        })
      } else {
        followUps.push(followUpOf(report, level.position, this.#loader.soonest))
      }
    }
    // Well above the level, so that it does not hold it back again at once.
    const aside = this.#clock.now() + 2 * this.#settings.carryAfterMs
    // What is not started yet stays below the read level: whoever takes over suspects only what lies there.
    const belowRead = this.#loader.readLevel.position - 1
    for (const { attempt, wasStarted } of carried) {
      const { row } = attempt
      const recorded = wasStarted ? Math.max(row.attempt, attempt.attempt) : row.attempt
      followUps.push({
        row,
        dueAt: row.dueAt,
        attempt: recorded,
        occurrence: row.occurrence,
        position: Math.max(wasStarted ? aside : Math.min(aside, belowRead), level.position),
      })
    }
    for (const attempt of putBack) {
      const { row } = attempt
      const { dueAt, occurrence } = row
      const position = this.#surplus.positionOf(attempt, this.#loader.readLevel.position)
      followUps.push({ row, dueAt, attempt: row.attempt, occurrence, position })
    }
    const settlement: Settlement = {
      id: newNonce(this.#random),
      level,
      settledCount,
      done,
      followUps,
      dead,
      history,
    }
    return { settlement, reports, carried, putBack }
  }

  /** From here on, what is done would wait too long for the level: all of it, where that is held back in a crowd. */
  #notPassedSoon(level: Place): Place {
    const now = this.#clock.now()
    const { settleMs, carryAfterMs } = this.#settings
    if (this.#loader.isCrowded && level.position < now - 2 * settleMs) return level
    // A level ahead of the clock, which was set back, is not taken by the store whatever is named with it.
    const soon = levelAt(level.position > now ? Infinity : now + 3 * carryAfterMs)
    return earlierOf(this.#loader.readLevel, soon)
  }

  /** The highest level that leaves nothing unfinished behind. */
  #level(before: Place): Place {
    const latest = levelAt(Math.min(this.#clock.now(), this.#storeNow()) - this.#clockSlackMs)
    let level = earlierOf(this.#loader.readLevel, latest)
    const holding = this.#window.firstHolding()
    if (holding !== undefined) level = earlierOf(level, holding)
    return isBefore(level, before) ? before : level
  }

  #takeReports(limit: number): Report[] {
    return this.#attempts.takeReports(limit).filter(({ attempt }) => !attempt.isSuperseded)
  }

  #takeCarried(limit: number): Carried[] {
    const carried: Carried[] = []
    const before = this.#clock.monotonic() - this.#settings.carryAfterMs
    for (const attempt of this.#attempts.started) {
      if (attempt.startedAt > before || carried.length === limit) break
      if (this.#isCarriable(attempt, STARTED)) carried.push({ attempt, wasStarted: true })
    }
    if (this.#loader.readLevel.position > this.#clock.now()) this.#carryWaiting(carried, limit)
    return carried
  }

  /** Those that wait to be started, will do so for long yet, and keep the level from what is done above them. */
  #carryWaiting(carried: Carried[], limit: number): void {
    const { carryAfterMs } = this.#settings
    const dueBefore = this.#clock.now() - carryAfterMs
    let lastDone: Place | undefined
    for (const lane of this.#attempts.lanes) {
      let soon = this.#paces.startedWithin(carryAfterMs, lane)
      if (lane.waiting <= soon) continue
      lastDone ??= this.#window.lastDone()
      for (const attempt of lane) {
        if (carried.length === limit) return
        if (soon-- > 0 || attempt.readyAt > dueBefore) continue
        if (!isBefore(attempt.row, lastDone)) {
          // A lane that moves is about in the order of its places, and comes to the others in time.
          if (lane.throttle.isOpen) break
          continue
        }
        if (this.#isCarriable(attempt, READY)) carried.push({ attempt, wasStarted: false })
      }
    }
  }

  /** Only a row that holds the level back is worth rewriting. */
  #isCarriable(attempt: Attempt, state: number): boolean {
    return (
      !attempt.isSuperseded &&
      attempt.row.position <= this.#clock.now() &&
      this.#window.state(attempt.token) === state
    )
  }

  #settled({ settlement, reports, carried, putBack }: Sent, answer: SettleAnswer): void {
    const { level } = settlement
    const counts = this.#counts
    counts.settlements++
    counts.settled += settlement.settledCount + settlement.done.length
    counts.rowDeletes += settlement.done.length
    this.#ownership.settledTo(level)
    for (const row of settlement.done) {
      const token = this.#window.find(row)
      if (token >= 0 && this.#window.state(token) === DONE) this.#window.leave(token)
    }
    let index = 0
    let deadIndex = 0
    for (const { attempt, outcome } of reports) {
      if (!attempt.isSuperseded) this.#window.leave(attempt.token)
      if (outcome.type === 'dead') counts.dead++
      if (outcome.type === 'retry') counts.retried++
      const row = outcome.type === 'dead' ? answer.dead[deadIndex++]?.next : answer.followUps[index++]
      if (row !== undefined) this.#takeIn(row, answer.readLevel)
    }
    for (const { attempt, wasStarted } of carried) {
      this.#carriedTo(attempt, answer.followUps[index++], wasStarted)
    }
    for (const attempt of putBack) {
      this.#window.leave(attempt.token)
      attempt.isSuperseded = true
      const row = answer.followUps[index++]
      if (row === undefined) continue
      counts.putBack++
      this.#takeIn(row, answer.readLevel)
    }
    this.#window.settle(level)
    this.#sweeping.settled()
    this.#onEvent({
      type: 'settled',
      shard: this.#ownership.shard,
      position: level.position,
      count: settlement.settledCount + settlement.done.length,
    })
    this.#attempts.look()
    this.#loader.plan()
  }

  #takeIn(row: TimerRow, readLevel: Place): void {
    if (isBefore(row, readLevel)) this.#window.addRow(row)
    else this.#loader.demand(row.position)
  }

  /** A row that is not finished stands elsewhere now; it stays in memory whatever the read level. */
  #carriedTo(attempt: Attempt, row: TimerRow | undefined, wasStarted: boolean): void {
    if (!attempt.isSuperseded) this.#window.leave(attempt.token)
    if (row === undefined) {
      attempt.isSuperseded = true
      return
    }
    this.#counts.carried++
    attempt.row = row
    attempt.token = this.#window.addRow(row, stateOf(attempt, wasStarted))
    this.#window.page(attempt.token).attempts[this.#window.index(attempt.token)] = attempt
    if (!wasStarted) this.#attempts.offer(attempt)
  }

  #revert({ settlement, reports, carried, putBack }: Sent): void {
    this.#attempts.giveBackNotes(settlement.history)
    for (const { attempt } of reports) {
      if (!attempt.isSuperseded) this.#window.stay(attempt.token, REPORTED)
    }
    this.#attempts.giveBack(reports)
    for (const { attempt, wasStarted } of carried) {
      if (attempt.isSuperseded) continue
      this.#window.stay(attempt.token, stateOf(attempt, wasStarted))
      if (!wasStarted) this.#attempts.offer(attempt)
    }
    for (const attempt of putBack) {
      this.#window.stay(attempt.token, READY)
      this.#attempts.offer(attempt)
    }
  }

  /** The answer to a settlement that was committed and not heard of. */
  async #lookUp({ settlement }: Sent): Promise<SettleAnswer> {
    const before = [...settlement.followUps, ...settlement.dead].map(({ row }) => row)
    const first = settlement.followUps.length
    for (;;) {
      try {
        const found = await this.#ownership.call('find', () => this.#store.find(before))
        const rows = found.map((row, index) => {
          const { identity, revision } = before[index]!
          return row?.identity === identity && row.revision > revision ? row : undefined
        })
        const dead = settlement.dead.map((_, index) => ({ kept: true, next: rows[first + index] }))
        return { followUps: rows.slice(0, first), dead, readLevel: this.#ownership.row.readLevel }
      } catch (error) {
        if (!(error instanceof Outdated || error instanceof Untaken || error instanceof Unresolved))
          throw error
        await this.#waits.wait(this.#settings.retryMs)
      }
    }
  }
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
    case 'dead':
      throw new Error('a dead letter has no follow-up')
  }
}

/** The state of a carried row: its attempt may have ended meanwhile. */
function stateOf({ outcome }: Attempt, wasStarted: boolean): number {
  if (!wasStarted) return READY
  if (outcome === undefined) return STARTED
  return outcome.type === 'done' ? DONE : REPORTED
}
