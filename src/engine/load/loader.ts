import type { Clock, Wake } from '../../time/index.js'
import type { RowPage, Store, Suspects } from '../../store/index.js'
import {
  comparePlaces,
  isBefore,
  isEnding,
  isHeld,
  laterOf,
  levelAt,
  type Place,
  type TimerRow,
} from '../../timer/index.js'
import type { Attempts } from '../fire/attempts.js'
import type { OnEvent } from '../event.js'
import type { Governor } from './governor.js'
import type { LoadPolicy } from './load-policy.js'
import { LostShardError, UnknownOutcomeError } from '../own/call-errors.js'
import type { Ownership } from '../own/ownership.js'
import { type Mutex, Sleeper } from '../../async/index.js'
import type { EngineSettings } from '../settings.js'
import type { SweepPlanner } from '../settle/sweep-planner.js'
import type { PutBack } from './put-back.js'
import type { EngineCounts } from '../counts.js'
import type { Window } from './window.js'

interface LoaderParts {
  readonly store: Store
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly ownership: Ownership
  readonly window: Window
  readonly attempts: Attempts
  readonly counts: EngineCounts
  readonly mutex: Mutex
  readonly onEvent: OnEvent
  readonly governor: Governor
  readonly loadPolicy: LoadPolicy
  readonly putBack: PutBack
  readonly sweepPlanner: SweepPlanner
}

/**
 * Brings timers into memory before they are due. One atomic call reads a page and raises the read level over it
 * (rule 2). So every row below the read level is here, and every row that is not here is above it. When memory runs
 * short, the governor shortens the window. The read level is lowered first, then the rows above it are dropped.
 *
 * Proven by test/engine/strategies.test.ts, test/engine/level-ahead.test.ts, test/engine/suspects.test.ts and the
 * mutants 'a load reads rows and raises the read level in two steps', 'the window shrinks and the read level stays', 'a page whose answer was lost is not loaded again', 'attempts of a lost owner are not suspected'.
 */
export class Loader {
  readLevel: Place
  readonly #parts: LoaderParts
  readonly #window: Window
  readonly #policy: LoadPolicy
  readonly #sleeper: Sleeper
  readonly #suspects: Suspects
  // There may be rows before this position whose position is later than their due time, and which are not in memory.
  #lateBefore: number
  // The last attempt to shorten the window gained nothing: there is no other before this, by the monotonic clock.
  #noShrinkingBefore = -Infinity
  #wake: Wake | undefined
  #isRunning = false
  #isOver = false
  #isFiring = false

  constructor(parts: LoaderParts) {
    const { row } = parts.ownership
    this.#parts = parts
    this.#window = parts.window
    this.#policy = parts.loadPolicy
    this.#sleeper = new Sleeper(parts.clock)
    this.readLevel = row.readLevel
    this.#lateBefore = row.lateBefore
    this.#suspects = row.suspects
  }

  /** How far ahead of now timers are kept in memory at present. */
  get windowMs(): number {
    return this.#policy.windowMs
  }

  /**
   * The earliest position for an overdue row that is to be kept in memory: now, or just below the read level if loading
   * is behind.
   */
  get soonest(): number {
    return Math.min(this.#parts.clock.now(), this.readLevel.position - 1)
  }

  /**
   * The earliest position for a row that this owner writes (rule 4): not below the settled level, and for an overdue row
   * not before now. At its due time it would hold the level back, and a stream of such rows would do so forever.
   */
  get floor(): number {
    return Math.max(this.#parts.ownership.settledLevel.position, this.soonest)
  }

  get isCrowded(): boolean {
    return this.#parts.governor.isCrowded(this.#window)
  }

  get nextLoadAt(): number {
    return this.#policy.nextLoadAt(this.readLevel)
  }

  start(): void {
    this.#isFiring = true
    this.loadIfDue()
  }

  stop(): void {
    this.#isOver = true
    this.#wake?.cancel()
    this.#sleeper.cancelAll()
  }

  /**
   * A row was written. `readLevel` is the read level at its commit: below it the row is kept in memory, otherwise a
   * load will bring it.
   */
  keep(row: TimerRow, readLevel: Place): void {
    if (isBefore(row, readLevel)) this.#window.addRow(row)
    else this.loadBy(row.position)
  }

  /** A row that is not in memory is due at `position`: load by then. */
  loadBy(position: number): void {
    if (this.#policy.loadBy(position)) this.loadIfDue()
  }

  /** Rows were added to the window. If memory is short, this makes room. */
  onRowsAdded(): void {
    if (this.#isTight()) this.loadIfDue()
  }

  /** Whether `count` more rows fit into memory. If not, this makes room. */
  hasRoomFor(count: number): boolean {
    if (this.#parts.governor.hasRoomFor(this.#window, count)) return true
    this.loadIfDue()
    return false
  }

  /** Loads or makes room if it is time to, and otherwise sets the alarm for the next load. */
  loadIfDue(): void {
    if (this.#isRunning || this.#isOver || !this.#isFiring) return
    if (this.#isTight() || this.#isLoadDue()) {
      this.#isRunning = true
      void this.#run()
      return
    }
    this.#wake?.cancel()
    this.#wake = undefined
    const { governor, clock } = this.#parts
    // While memory is full, only a settlement can make room, and it calls this again.
    if (governor.room(this.#window) === 0) return
    this.#wake = clock.wakeAt(Math.max(this.nextLoadAt, clock.now()), () => this.loadIfDue())
  }

  async #run(): Promise<void> {
    const { mutex, ownership } = this.#parts
    try {
      while (!this.#isOver) {
        const finish = await mutex.lock()
        try {
          if (this.#isOver) break
          if (this.#isTight()) await this.#shrink()
          else if (this.#isLoadDue()) await this.#load()
          else break
        } finally {
          finish()
        }
      }
    } catch (error) {
      if (!(error instanceof LostShardError)) ownership.lose(String(error))
    } finally {
      this.#isRunning = false
    }
    this.loadIfDue()
  }

  #isLoadDue(): boolean {
    const { governor, sweepPlanner, clock } = this.#parts
    if (governor.room(this.#window) === 0) {
      sweepPlanner.sweepSoon()
      return false
    }
    if (clock.now() >= this.nextLoadAt) return true
    // Many rows may have the same position, and the last page may have ended among them.
    return !this.isCrowded && this.#wantedBefore() > this.readLevel.position
  }

  /**
   * How far to read if there is room, whatever the clock says, because rows may stand later than they are due. They were
   * put back, or the store's clock was ahead when they were written, or the settled level is still ahead of it.
   */
  #wantedBefore(): number {
    const { ownership, putBack } = this.#parts
    const { position } = ownership.settledLevel
    return Math.max(putBack.wantedUntil() + 1, this.#lateBefore, position + 1)
  }

  /** Whether an earlier owner may have left due rows behind that there is room to read. */
  get isAnyLate(): boolean {
    return !this.isCrowded && this.#lateBefore > this.readLevel.position
  }

  #isTight(): boolean {
    const { governor, clock } = this.#parts
    return governor.isTight(this.#window) && clock.monotonic() >= this.#noShrinkingBefore && this.#canShrink()
  }

  #canShrink(): boolean {
    return isBefore(this.#shrunkLevel(), this.readLevel) && this.#window.waiting > 0
  }

  #shrunkLevel(): Place {
    const { clock, governor, ownership } = this.#parts
    const shorter = clock.now() + Math.ceil(governor.nextShorter())
    return levelAt(Math.max(shorter, ownership.settledLevel.position + 1))
  }

  async #shrink(): Promise<void> {
    const { governor, sweepPlanner, onEvent, ownership, clock, settings, attempts } = this.#parts
    // Rows that have started stay below the read level: the next owner suspects only rows that lie there.
    const to = laterOf(this.#shrunkLevel(), this.#window.afterStarted())
    const from = this.readLevel
    governor.shrink()
    sweepPlanner.sweepSoon()
    onEvent({
      type: 'window',
      shard: ownership.shard,
      windowMs: this.windowMs,
      inMemory: this.#window.size,
    })
    if (!isBefore(to, from)) {
      this.#noShrinkingBefore = clock.monotonic() + settings.settleMs
      return
    }
    // No row above the new level may become due while the call is on its way.
    attempts.suspend()
    try {
      if (await this.#lower(from, to)) {
        this.readLevel = to
        this.#policy.lowered(to.position)
        this.#lateBefore = Math.max(this.#lateBefore, this.#window.dropFrom(to))
      }
    } finally {
      attempts.resume()
    }
  }

  /** Lowers the read level. Answers whether it was lowered. */
  async #lower(from: Place, to: Place): Promise<boolean> {
    const { ownership, store } = this.#parts
    try {
      await ownership.call('lower', (fence) => store.lower(fence, from, to))
    } catch (error) {
      if (error instanceof UnknownOutcomeError) return comparePlaces(ownership.row.readLevel, to) === 0
      await ownership.waitToRetry(error, this.#sleeper)
      return false
    }
    return true
  }

  async #load(): Promise<void> {
    const { clock, settings, governor, ownership, store, counts, onEvent, attempts } = this.#parts
    const from = this.readLevel
    const now = clock.now()
    const wanted = this.isCrowded ? 0 : this.#wantedBefore()
    const until = Math.max(now + this.windowMs, wanted)
    const limit = Math.min(settings.pageRows, governor.room(this.#window))
    const untilExclusive = Math.max(until, from.position)
    const request = { from, untilExclusive, limit, limitBytes: settings.pageBytes }
    try {
      const { page, readLevel, nextPosition } = await ownership.call('load', (fence) =>
        store.load(fence, request),
      )
      counts.loads++
      counts.loadedRows += page.size
      this.readLevel = readLevel
      const slot = this.#window.addPage(page)
      this.#setSuspectsAside(slot, page)
      this.#policy.loaded(page.size, page.size >= limit, nextPosition)
      if (!this.isCrowded) governor.grow()
      onEvent({
        type: 'loaded',
        shard: ownership.shard,
        count: page.size,
        until: readLevel.position,
        nextLoadAt: this.nextLoadAt,
      })
      attempts.startDue()
    } catch (error) {
      if (error instanceof UnknownOutcomeError) await this.#goBack(from)
      else await ownership.waitToRetry(error, this.#sleeper)
    }
  }

  /** A page was read and its answer was lost: lowers the read level to where it was, so that the page is read again. */
  async #goBack(to: Place): Promise<void> {
    const { ownership, store } = this.#parts
    while (!this.#isOver) {
      const { readLevel } = ownership.row
      if (comparePlaces(readLevel, to) === 0) return
      try {
        await ownership.call('lower', (fence) => store.lower(fence, readLevel, to))
        return
      } catch (error) {
        // The shard row shows by now whether it happened.
        if (error instanceof UnknownOutcomeError) continue
        await ownership.waitToRetry(error, this.#sleeper)
      }
    }
  }

  /** Whether an earlier owner may have attempted this row without recording it. */
  isSuspect(row: TimerRow): boolean {
    if (!this.#isOldAndDue(row.revision, row.dueAt)) return false
    // A cancel during the attempt has rewritten an ending row where it was, which may be at or above the read level now.
    if (!isBefore(row, this.#suspects.before) && !isEnding(row)) return false
    // An attempt that was handed over is recorded, and its holder will report on it.
    return !isHeld(row)
  }

  /** Whether a row was written before the takeover, and may have been due to the owner that was lost. */
  #isOldAndDue(revision: number, dueAt: number): boolean {
    const { untilRevision, dueUntil } = this.#suspects
    // That owner's clock may have been ahead of the store's by as much as is allowed.
    const latest = dueUntil + this.#parts.settings.maxClockOffsetMs
    return revision <= untilRevision && dueAt <= latest
  }

  /** Suspect rows wait until their attempt is written down. */
  #setSuspectsAside(slot: number, { size, revisions, dueAts }: RowPage): void {
    if (this.#suspects.untilRevision === 0) return
    const page = this.#window.pageIn(slot)
    if (page === undefined) return
    for (let index = 0; index < size; index++) {
      if (!this.#isOldAndDue(revisions[index]!, dueAts[index]!)) continue
      if (page.isWaiting(index) && this.isSuspect(page.row(index))) {
        this.#parts.attempts.setSuspectAside(this.#window.takeOut(slot, index))
      }
    }
  }
}
