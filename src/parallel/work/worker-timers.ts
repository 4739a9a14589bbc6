import { InvalidInputError, shown, StateError } from '../../error/index.js'
import { type Duration, parseDuration, type ThreadClock } from '../../time/index.js'
import { Wheel } from '../../wheel/index.js'
import { GARBAGE_ALLOWED, SCRUB_MANY_RECORDS, SCRUB_RECORDS, TICK_MICROS } from '../defaults.js'
import { FreeRecords } from '../memory/free-records.js'
import { GarbageCounters } from '../memory/garbage-counters.js'
import { poolWords, type PoolMemory, strideOf } from '../memory/pool-memory.js'
import { ownerOf } from '../memory/record-word.js'
import { SharedWords } from '../memory/shared-words.js'
import type { TaskNames } from './task-names.js'
import { type TaskPayload, TaskPayloads } from '../memory/task-payload.js'
import { checkHandle, handleOf, indexOf, LAST_USE, type TimerHandle, useOf } from '../memory/timer-handle.js'
import { TimerRecords } from '../memory/timer-records.js'

/** How often `move` tries again while another thread moves the timer. */
const PATIENCE = 10_000

export interface WorkerTimersParts {
  readonly memory: PoolMemory
  /** The number of the worker. */
  readonly owner: number
  readonly clock: ThreadClock
  readonly tasks: TaskNames
  readonly data: unknown
  /** A timer was set or moved to this tick. */
  readonly onDue: (dueTick: number) => void
}

/**
 * The timers of one worker: a wheel of its own, whose timers lie in memory that all threads share. Setting, moving and
 * polling use no lock and send no message.
 *
 * Proven by test/parallel/worker-deaths.test.ts, and by test/parallel/model.test.ts for what threads do to one record.
 */
export class WorkerTimers {
  /** The option `data` of the pool. */
  readonly data: unknown
  readonly records: TimerRecords
  readonly payloads: TaskPayloads
  readonly #memory: PoolMemory
  readonly #owner: number
  readonly #clock: ThreadClock
  readonly #tasks: TaskNames
  readonly #onDue: (dueTick: number) => void
  readonly #free: FreeRecords
  readonly #garbage: GarbageCounters
  readonly #control: Int32Array
  readonly #wheel: Wheel
  // The wheel's handle of each record.
  readonly #entries: Float64Array
  // Records that are due, in the order of their due ticks, and how many of them were taken.
  readonly #due: number[] = []
  #taken = 0
  readonly counts = { fired: 0, cancelled: 0, removed: 0, movedHere: 0, failed: 0 }
  #scrubbed = 0

  constructor(parts: WorkerTimersParts) {
    const { memory, owner, clock, tasks, data, onDue } = parts
    this.data = data
    this.#memory = memory
    this.#owner = owner
    this.#clock = clock
    this.#tasks = tasks
    this.#onDue = onDue
    this.records = new TimerRecords(new SharedWords(memory.records), strideOf(memory))
    this.payloads = new TaskPayloads(memory)
    this.#free = new FreeRecords(memory, this.records, owner)
    this.#garbage = new GarbageCounters(memory.control, owner)
    this.#control = new Int32Array(memory.control)
    this.#wheel = new Wheel({ startTick: this.tick() })
    this.#entries = new Float64Array(memory.maxTimers)
  }

  /** The pool's time in milliseconds: the same in all threads. */
  now(): number {
    return this.#clock.micros() / 1000
  }

  /** The last tick that has begun. */
  tick(): number {
    return Math.floor(this.#clock.micros() / TICK_MICROS)
  }

  /** How many timers this worker has. Some of them may have been cancelled by other threads. */
  get size(): number {
    return this.#wheel.size + this.#due.length - this.#taken
  }

  /** Sets a timer: the task runs in this worker after the delay. */
  set(task: string, delay: Duration, payload?: TaskPayload): TimerHandle {
    return this.#set(this.#tasks.numberOf(task), this.#dueAfter(delay), payload)
  }

  /**
   * Sets a timer for an instant, in milliseconds of `now()`. It does not read the clock: whoever sets many timers reads it
   * once.
   */
  setAt(task: string, instant: number, payload?: TaskPayload): TimerHandle {
    if (!(typeof instant === 'number' && instant <= Number.MAX_SAFE_INTEGER / 1000 && instant >= 0)) {
      throw new InvalidInputError(
        'invalid-instant',
        `an instant must be milliseconds of the pool's clock, such as now() + 1000, got ${shown(instant)}`,
      )
    }
    const dueTick = Math.ceil((instant * 1000) / TICK_MICROS)
    return this.#set(this.#tasks.numberOf(task), dueTick, payload)
  }

  #set(task: number, dueTick: number, payload: TaskPayload): TimerHandle {
    if (typeof payload !== 'number') this.payloads.check(payload)
    const index = this.#takeRecord()
    this.payloads.write(index, task, payload)
    const use = this.records.schedule(index, this.#owner, dueTick)
    this.#entries[index] = this.#wheel.set(dueTick, index)
    this.#onDue(dueTick)
    return handleOf(this.#memory.tag, use, index)
  }

  /** Gives a timer another delay. It runs in this worker then. Answers false if it has fired or was cancelled. */
  move(handle: TimerHandle, delay: Duration): boolean {
    checkHandle(handle, this.#memory)
    const index = indexOf(handle)
    const dueTick = this.#dueAfter(delay)
    for (let left = PATIENCE; left > 0; left--) {
      const before = ownerOf(this.records.word(index))
      const moved = this.records.move(index, useOf(handle), this.#owner, dueTick)
      if (moved === 'gone') return false
      if (moved === 'busy') continue
      if (before !== this.#owner) this.#garbage.add(before)
      if (moved === 'cancelled') this.#remove(index)
      else this.#enter(index, dueTick)
      return moved === 'done'
    }
    throw new StateError('timer-busy', `the timer ${handle} is being moved by another thread: try again`)
  }

  /** Cancels a timer of any worker. Answers whether this call has prevented its task from starting. */
  cancel(handle: TimerHandle): boolean {
    checkHandle(handle, this.#memory)
    const index = indexOf(handle)
    const owner = this.records.cancel(index, useOf(handle))
    if (owner < 0) return false
    this.counts.cancelled++
    if (owner === this.#owner) this.#remove(index)
    else this.#garbage.add(owner)
    return true
  }

  /** Takes over a timer that nobody owns any more. `word` is its record's word as it was left. */
  adopt(index: number, word: number): void {
    const adopted = this.records.adopt(index, word, this.#owner)
    if (adopted === 'cancelled') this.#remove(index)
    if (adopted !== 'done') return
    this.counts.movedHere++
    this.#enter(index, this.records.due(index))
  }

  /** Advances the wheel, so that `takeDue` finds what is due. */
  poll(tick: number): void {
    if (tick > this.#wheel.tick) this.#wheel.advance(tick, (index) => this.#due.push(index))
  }

  /** Starts a due timer. Answers its record, or -1 if none is due. */
  beginNext(tick: number): number {
    while (this.#taken < this.#due.length) {
      const index = this.#due[this.#taken++]!
      if (this.records.begin(index, this.#owner, tick)) return index
      if (this.records.remove(index, this.#owner)) this.#release(index)
      // Another worker has it now, or it was moved or cancelled here.
      else this.counts.removed++
    }
    this.#due.length = 0
    this.#taken = 0
    return -1
  }

  /** The task of a timer has ended. */
  end(index: number): void {
    this.records.end(index)
    this.counts.fired++
    this.#giveBack(index)
  }

  /** The next tick at which there may be something to do; undefined if nothing is set. */
  nextDue(): number | undefined {
    return this.#taken < this.#due.length ? this.#wheel.tick : this.#wheel.nextDue()
  }

  /**
   * Frees some records whose timers other threads have cancelled: more of them if there are many. Answers whether there
   * are many left.
   */
  scrub(): boolean {
    const used = Math.min(Atomics.load(this.#control, poolWords.RECORDS), this.#memory.maxTimers)
    if (used === 0) return false
    const budget = Math.min(used, this.#hasMuchGarbage ? SCRUB_MANY_RECORDS : SCRUB_RECORDS)
    for (let left = budget; left > 0; left--) {
      if (this.#scrubbed >= used) this.#scrubbed = 0
      const index = this.#scrubbed++
      if (this.records.remove(index, this.#owner)) this.#release(index)
    }
    return this.#hasMuchGarbage && budget < used
  }

  /** Whether other threads have made many entries of the wheel stale. */
  get #hasMuchGarbage(): boolean {
    const garbage = (this.#garbage.total(this.#owner) - this.counts.removed) | 0
    return garbage > GARBAGE_ALLOWED + this.size / 2
  }

  /** Gives free records back to the pool. Call it last. */
  close(): void {
    this.#free.giveAll()
  }

  #dueAfter(delay: Duration): number {
    const ms = typeof delay === 'number' && delay >= 0 ? delay : parseDuration(delay)
    // Rounded up: nothing fires early.
    return Math.ceil((this.#clock.micros() + ms * 1000) / TICK_MICROS)
  }

  #takeRecord(): number {
    if (!this.#free.hasAny)
      for (let left = this.#memory.maxTimers; left > 0; left -= SCRUB_MANY_RECORDS) this.scrub()
    return this.#free.take()
  }

  #enter(index: number, dueTick: number): void {
    const entry = this.#entries[index]!
    if (entry === 0 || !this.#wheel.move(entry, dueTick))
      this.#entries[index] = this.#wheel.set(dueTick, index)
    this.#onDue(dueTick)
  }

  /** Frees the record of a timer that was cancelled by this thread, or before it arrived here. */
  #remove(index: number): void {
    if (!this.records.remove(index, this.#owner)) return
    // If the entry has left the wheel, `beginNext` will count it as removed, though it was never counted as garbage.
    if (!this.#wheel.cancel(this.#entries[index]!)) this.counts.removed--
    this.#giveBack(index)
  }

  /** The same, for a timer that another thread has cancelled. */
  #release(index: number): void {
    this.counts.removed++
    this.#wheel.cancel(this.#entries[index]!)
    this.#giveBack(index)
  }

  #giveBack(index: number): void {
    if (this.records.use(index) < LAST_USE) this.#free.give(index)
  }
}
