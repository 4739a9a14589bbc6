import { systemClock } from '../time/index.js'
import { GARBAGE_ALLOWED } from './defaults.js'
import { FreeRecords } from './memory/free-records.js'
import { GarbageCounters } from './memory/garbage-counters.js'
import { owners, poolWords, type PoolMemory, strideOf } from './memory/pool-memory.js'
import { ownerOf, recordState, stateOf } from './memory/record-word.js'
import { SharedWords } from './memory/shared-words.js'
import { type TaskPayload, TaskPayloads } from './memory/task-payload.js'
import { checkHandle, handleOf, indexOf, LAST_USE, type TimerHandle, useOf } from './memory/timer-handle.js'
import { TimerRecords } from './memory/timer-records.js'

const { SCHEDULED, MOVING, CANCELLED, FIRING, FIRED, REMOVED } = recordState
const { STARTER } = owners

// Records that are looked at before the event loop gets a turn.
const SLICE = 65_536

/** A record and its word, in turn: timers that a worker has to adopt. */
export type Orphans = number[]

/** What became of a timer. `gone` means that its record serves another timer by now, or none. */
export type TimerState = 'scheduled' | 'cancelled' | 'firing' | 'fired' | 'gone'

/**
 * The records as the thread sees them that started the pool. It has no wheel. The timers that it sets, and those of
 * workers that have ended, are orphans until a worker adopts them.
 */
export class StarterTimers {
  readonly payloads: TaskPayloads
  readonly #memory: PoolMemory
  readonly #records: TimerRecords
  readonly #free: FreeRecords
  readonly #garbage: GarbageCounters
  readonly #control: Int32Array
  #removed = 0

  constructor(memory: PoolMemory) {
    this.#memory = memory
    this.#records = new TimerRecords(new SharedWords(memory.records), strideOf(memory))
    this.payloads = new TaskPayloads(memory)
    this.#free = new FreeRecords(memory, this.#records, STARTER)
    this.#garbage = new GarbageCounters(memory.control, STARTER)
    this.#control = new Int32Array(memory.control)
  }

  /** Sets a timer that waits for a worker, and adds it to the orphans. */
  set(task: number, dueTick: number, payload: TaskPayload, orphans: Orphans): TimerHandle {
    this.payloads.check(payload)
    const garbage = (this.#garbage.total(STARTER) - this.#removed) | 0
    if (garbage > GARBAGE_ALLOWED + this.#used / 4 || (garbage > 0 && !this.#free.hasAny))
      this.#removeCancelled()
    const index = this.#free.take()
    this.payloads.write(index, task, payload)
    const use = this.#records.schedule(index, STARTER, dueTick)
    orphans.push(index, this.#records.word(index))
    return handleOf(this.#memory.tag, use, index)
  }

  cancel(handle: TimerHandle): boolean {
    checkHandle(handle, this.#memory)
    const index = indexOf(handle)
    const owner = this.#records.cancel(index, useOf(handle))
    if (owner < 0) return false
    if (owner !== STARTER) this.#garbage.add(owner)
    else if (this.#records.remove(index, STARTER)) this.#giveBack(index)
    return true
  }

  state(handle: TimerHandle): TimerState {
    checkHandle(handle, this.#memory)
    const index = indexOf(handle)
    const state = stateOf(this.#records.word(index))
    if (this.#records.use(index) !== useOf(handle)) return 'gone'
    if (state === SCHEDULED || state === MOVING) return 'scheduled'
    if (state === CANCELLED || state === REMOVED) return 'cancelled'
    if (state === FIRING) return 'firing'
    return state === FIRED ? 'fired' : 'gone'
  }

  /**
   * Finds what a worker has left behind. Its timers become those of this thread, and orphans. Its free records become
   * free here. Afterwards no record has this owner any more. Timers that this thread has are orphans once more: the
   * worker may have died before it adopted them. A worker that has one by then keeps it.
   */
  async recover(owner: number, onInterrupted: (index: number) => void): Promise<Orphans> {
    const orphans: Orphans = []
    for (let index = 0; index < this.#used; index++) {
      if (index % SLICE === SLICE - 1) await systemClock.turnEnd()
      if (ownerOf(this.#records.word(index)) === owner) this.#takeOver(index, onInterrupted)
      const word = this.#records.word(index)
      if (ownerOf(word) !== STARTER) continue
      if (stateOf(word) === SCHEDULED) orphans.push(index, word)
      else this.#remove(index)
    }
    return orphans
  }

  #takeOver(index: number, onInterrupted: (index: number) => void): void {
    const word = this.#records.word(index)
    const adopted = this.#records.adopt(index, word, STARTER)
    if (adopted === 'done' || adopted === 'cancelled') return
    // Another thread may have cancelled it just now: then the record has to be freed here.
    if (stateOf(word) === SCHEDULED || stateOf(word) === MOVING) return this.#takeOver(index, onInterrupted)
    if (stateOf(word) === FIRING) onInterrupted(index)
    this.#records.assign(index, STARTER)
    this.#giveBack(index)
  }

  #removeCancelled(): void {
    for (let index = 0; index < this.#used; index++) this.#remove(index)
  }

  #remove(index: number): void {
    if (!this.#records.remove(index, STARTER)) return
    this.#removed++
    this.#giveBack(index)
  }

  /** How many records were ever in use. */
  get #used(): number {
    return Math.min(Atomics.load(this.#control, poolWords.RECORDS), this.#memory.maxTimers)
  }

  #giveBack(index: number): void {
    if (this.#records.use(index) < LAST_USE) this.#free.give(index)
  }
}
