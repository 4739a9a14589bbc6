import type { Clock, Wake } from '../time/index.js'
import type { Store, Suspects } from '../store/index.js'
import { comparePlaces, isBefore, laterOf, levelAt, type Place, type TimerRow } from '../timer/index.js'
import type { Attempts } from './attempts.js'
import type { OnEvent } from './event.js'
import type { Governor } from './governor.js'
import { LostShard, Outdated, type Ownership, Unresolved, Untaken } from './ownership.js'
import { Waits } from './waits.js'
import type { EngineSettings } from './settings.js'
import type { Settler } from './settler.js'
import type { Surplus } from './surplus.js'
import type { EngineCounts } from './engine-counts.js'
import type { Turns } from './turns.js'
import type { Window } from './window.js'

/**
 * Brings timers into memory before they are due. A page is read and the read level raised over it in one step
 * (rule 2), so what is below the read level is here, and what is not here is above it. When memory runs short
 * the governor shortens the window, and the read level is lowered before the rows above it are dropped.
 *
 * `preload` keeps a window ahead of now, loaded by halves; `lookahead` loads what is due within a second, at
 * the time the earliest one is due, and otherwise at an interval that adapts.
 */
export class Loader {
  readLevel: Place
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #ownership: Ownership
  readonly #window: Window
  readonly #attempts: Attempts
  readonly #settler: Settler
  readonly #counts: EngineCounts
  readonly #turns: Turns
  readonly #onEvent: OnEvent
  readonly #governor: Governor
  readonly #surplus: Surplus
  readonly #waits: Waits
  readonly #suspects: Suspects
  #nextLoadAt = 0
  // No row at or after the read level lies before this; undefined when there is none.
  #nextPosition: number | undefined = 0
  #intervalMs: number
  #emptyLoads = 0
  // Nothing was to be gained by shortening the window: not before then again.
  #noShrinkingBefore = -Infinity
  #wake: Wake | undefined
  #isRunning = false
  #isOver = false
  #isFiring = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    ownership: Ownership
    window: Window
    attempts: Attempts
    settler: Settler
    counts: EngineCounts
    turns: Turns
    onEvent: OnEvent
    governor: Governor
    surplus: Surplus
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#ownership = parts.ownership
    this.#window = parts.window
    this.#attempts = parts.attempts
    this.#settler = parts.settler
    this.#counts = parts.counts
    this.#turns = parts.turns
    this.#onEvent = parts.onEvent
    this.#governor = parts.governor
    this.#surplus = parts.surplus
    this.#waits = new Waits(parts.clock)
    this.#intervalMs = parts.settings.loadIntervalMs
    this.readLevel = parts.ownership.row.readLevel
    this.#suspects = parts.ownership.row.suspects
  }

  /** How far ahead of now timers are kept in memory, as the governor has it. */
  get windowMs(): number {
    return this.#settings.strategy === 'preload' ? this.#governor.windowMs : this.#settings.lookaheadMs
  }

  /** Where an overdue row stands that is to be kept in memory: now, or below the read level when that is behind. */
  get soonest(): number {
    return Math.min(this.#clock.now(), this.readLevel.position - 1)
  }

  get isCrowded(): boolean {
    return this.#governor.isCrowded(this.#window)
  }

  get nextLoadAt(): number {
    return this.#nextLoadAt
  }

  start(): void {
    this.#isFiring = true
    this.plan()
  }

  end(): void {
    this.#isOver = true
    this.#wake?.cancel()
    this.#waits.end()
  }

  /** A row that is not in memory is due at `position`: load by then. */
  demand(position: number): void {
    // Preload reads on in time, whatever there is.
    if (this.#settings.strategy === 'preload') return
    if (this.#nextPosition === undefined || position < this.#nextPosition) this.#nextPosition = position
    if (position >= this.#nextLoadAt) return
    this.#nextLoadAt = position
    this.plan()
  }

  /** Rows were added: make room if it is short. */
  noticed(): void {
    if (this.#isTight()) this.plan()
  }

  /** Whether there is room for `count` rows more. When there is not, room is made. */
  hasRoomFor(count: number): boolean {
    if (this.#governor.hasRoomFor(this.#window, count)) return true
    this.plan()
    return false
  }

  /** Looks at what is to be done, and does it now or sets the alarm for it. */
  plan(): void {
    if (this.#isRunning || this.#isOver || !this.#isFiring) return
    if (this.#isTight() || this.#isLoadDue()) {
      this.#isRunning = true
      void this.#run()
      return
    }
    this.#wake?.cancel()
    this.#wake = undefined
    // While memory is full there is nothing to wait for but the next settlement, which plans again.
    if (this.#governor.room(this.#window) === 0) return
    const at = this.#settings.strategy === 'preload' ? this.#preloadAt() : this.#nextLoadAt
    this.#wake = this.#clock.wakeAt(Math.max(at, this.#clock.now()), () => this.plan())
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isOver) {
        const finish = await this.#turns.take()
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
      if (!(error instanceof LostShard)) this.#ownership.lose(String(error))
    } finally {
      this.#isRunning = false
    }
    this.plan()
  }

  #isLoadDue(): boolean {
    if (this.#governor.room(this.#window) === 0) {
      this.#settler.relieve()
      return false
    }
    const now = this.#clock.now()
    if (now >= (this.#settings.strategy === 'preload' ? this.#preloadAt() : this.#nextLoadAt)) return true
    // Many stand at one position, and a page may have ended among them.
    return !this.isCrowded && this.#surplus.wantedUntil() >= this.readLevel.position
  }

  /** When the window is half used up. */
  #preloadAt(): number {
    return this.readLevel.position - Math.ceil(this.windowMs / 2)
  }

  #isTight(): boolean {
    return (
      this.#governor.isTight(this.#window) &&
      this.#clock.monotonic() >= this.#noShrinkingBefore &&
      this.#canShrink()
    )
  }

  #canShrink(): boolean {
    return isBefore(this.#shrunkLevel(), this.readLevel) && this.#window.waiting > 0
  }

  #shrunkLevel(): Place {
    return levelAt(this.#clock.now() + Math.ceil(this.#governor.nextShorter()))
  }

  async #shrink(): Promise<void> {
    // What was started stays below the read level: whoever takes over suspects only what lies there.
    const to = laterOf(this.#shrunkLevel(), this.#window.afterStarted())
    const from = this.readLevel
    this.#governor.shrink()
    this.#settler.relieve()
    this.#onEvent({
      type: 'window',
      shard: this.#ownership.shard,
      windowMs: this.windowMs,
      inMemory: this.#window.size,
    })
    if (!isBefore(to, from)) {
      this.#noShrinkingBefore = this.#clock.monotonic() + this.#settings.settleMs
      return
    }
    // Nothing becomes due above it while it is on its way.
    this.#attempts.suspend()
    try {
      if (await this.#lowered(from, to)) {
        this.readLevel = to
        this.#nextPosition = to.position
        this.#window.dropFrom(to)
      }
    } finally {
      this.#attempts.resume()
    }
  }

  /** Lowers the read level. Answers whether it is lowered. */
  async #lowered(from: Place, to: Place): Promise<boolean> {
    try {
      await this.#ownership.call('lower', (fence) => this.#store.lower(fence, from, to))
    } catch (error) {
      if (error instanceof Unresolved) return comparePlaces(this.#ownership.row.readLevel, to) === 0
      if (!(error instanceof Outdated || error instanceof Untaken)) throw error
      await this.#waits.wait(this.#settings.retryMs)
      return false
    }
    return true
  }

  async #load(): Promise<void> {
    const { strategy, pageRows, pageBytes } = this.#settings
    const from = this.readLevel
    const now = this.#clock.now()
    const wanted = this.isCrowded ? 0 : this.#surplus.wantedUntil() + 1
    const until = Math.max(now + this.windowMs, wanted)
    const limit = Math.min(pageRows, this.#governor.room(this.#window))
    const request = { from, untilExclusive: Math.max(until, from.position), limit, limitBytes: pageBytes }
    try {
      const loaded = await this.#ownership.call('load', (fence) => this.#store.load(fence, request))
      this.#counts.loads++
      this.#counts.loadedRows += loaded.page.size
      this.readLevel = loaded.readLevel
      this.#nextPosition = loaded.nextPosition
      const slot = this.#window.addPage(loaded.page)
      this.#setSuspectsAside(slot, loaded.page.size, from)
      const isFull = loaded.page.size >= limit
      if (strategy === 'lookahead') this.#planLookahead(loaded.page.size, isFull)
      if (!this.isCrowded) this.#governor.grow()
      this.#onEvent({
        type: 'loaded',
        shard: this.#ownership.shard,
        count: loaded.page.size,
        until: this.readLevel.position,
        nextLoadAt: strategy === 'lookahead' ? this.#nextLoadAt : this.#preloadAt(),
      })
      this.#attempts.look()
    } catch (error) {
      if (error instanceof Unresolved) {
        await this.#goBack(from)
      } else if (error instanceof Outdated || error instanceof Untaken) {
        await this.#waits.wait(this.#settings.retryMs)
      } else {
        throw error
      }
    }
  }

  /** A page was read and never arrived: the read level goes back to where it was, so that it is read again. */
  async #goBack(to: Place): Promise<void> {
    while (!this.#isOver) {
      const { readLevel } = this.#ownership.row
      if (comparePlaces(readLevel, to) === 0) return
      try {
        await this.#ownership.call('lower', (fence) => this.#store.lower(fence, readLevel, to))
        return
      } catch (error) {
        if (error instanceof Unresolved) continue
        if (!(error instanceof Outdated || error instanceof Untaken)) throw error
        await this.#waits.wait(this.#settings.retryMs)
      }
    }
  }

  #planLookahead(count: number, isFull: boolean): void {
    const { loadIntervalMs, minLoadIntervalMs, maxLoadIntervalMs } = this.#settings
    this.#emptyLoads = count === 0 ? this.#emptyLoads + 1 : 0
    if (isFull) this.#intervalMs = minLoadIntervalMs
    else if (count > 0) this.#intervalMs = loadIntervalMs
    else if (this.#emptyLoads > 3) this.#intervalMs = Math.min(this.#intervalMs * 2, maxLoadIntervalMs)
    const now = this.#clock.now()
    this.#nextLoadAt = isFull ? now : Math.min(now + this.#intervalMs, this.#nextPosition ?? Infinity)
  }

  /** Whether an owner before may have attempted this row without anybody knowing. */
  isSuspect(row: TimerRow): boolean {
    const { before, untilRevision, dueUntil } = this.#suspects
    // That owner may have been ahead of the store's clock by what is allowed.
    const latest = dueUntil + this.#settings.maxClockOffsetMs
    return row.revision <= untilRevision && row.dueAt <= latest && isBefore(row, before)
  }

  /** Rows that an owner before may have attempted wait until that is written down. */
  #setSuspectsAside(slot: number, size: number, from: Place): void {
    if (!isBefore(from, this.#suspects.before)) return
    const page = this.#window.pageIn(slot)
    if (page === undefined) return
    for (let index = 0; index < size; index++) {
      if (page.isWaiting(index) && this.isSuspect(page.row(index))) {
        this.#attempts.suspect(this.#window.takeOut(slot, index))
      }
    }
  }
}
