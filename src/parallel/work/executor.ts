import { systemClock } from '../../time/index.js'
import { TURN_TASKS } from '../defaults.js'
import { publishNextDue } from './metronome.js'
import { type PoolMemory, workerAt, workerWords } from '../memory/pool-memory.js'
import type { Task } from './task-names.js'
import type { TaskPayload } from '../memory/task-payload.js'
import { handleOf } from '../memory/timer-handle.js'
import type { WorkerTimers } from './worker-timers.js'

const { WAKE, NEXT_DUE, SCHEDULED, FIRED, CANCELLED, REMOVED, MOVED_HERE, FAILED, RUNNING } = workerWords

/** `Atomics.waitAsync` is newer than the library of types that the project is built with. */
interface AsyncAtomics {
  waitAsync(
    this: void,
    words: Int32Array,
    at: number,
    value: number,
  ): { readonly async: false } | { readonly async: true; readonly value: Promise<string> }
}
const { waitAsync } = Atomics as unknown as AsyncAtomics

export interface ExecutorParts {
  readonly memory: PoolMemory
  readonly owner: number
  readonly tasks: readonly Task[]
  readonly timers: WorkerTimers
  readonly onError: (error: unknown, task: number, payload: TaskPayload) => void
}

/**
 * The loop of a worker. A turn starts tasks that are due, polls the wheel, and frees some records of cancelled timers.
 * While tasks are waiting, turns alternate with those of the event loop. Otherwise the worker publishes when it wants to
 * be woken, and the metronome wakes it.
 */
export class Executor {
  readonly #parts: ExecutorParts
  readonly #words: Int32Array
  readonly #at: number
  // When this worker is to be woken; Infinity if nothing was published.
  #published = Infinity
  #isInTurn = false
  #isWaiting = false
  #isStopped = false
  #running = 0
  #onIdle: (() => void) | undefined

  constructor(parts: ExecutorParts) {
    this.#parts = parts
    this.#words = new Int32Array(parts.memory.control)
    this.#at = workerAt(parts.owner)
  }

  /** A timer was set. Outside of a turn, the metronome may have to wake this worker earlier than it was told. */
  onDue(dueTick: number): void {
    if (this.#isInTurn || dueTick >= this.#published || this.#isStopped) return
    this.#publish(dueTick)
  }

  /** Runs a turn, and those after it. */
  turn(): void {
    if (this.#isStopped || this.#isInTurn) return
    const { timers } = this.#parts
    this.#isInTurn = true
    this.#published = Infinity
    Atomics.store(this.#words, this.#at + NEXT_DUE, 0)
    const seen = Atomics.load(this.#words, this.#at + WAKE)
    const tick = timers.tick()
    timers.poll(tick)
    for (let left = TURN_TASKS; left > 0; left--) {
      const index = timers.beginNext(tick)
      if (index < 0) break
      this.#run(index)
    }
    const hasMoreToScrub = timers.scrub()
    this.#publishCounts()
    this.#isInTurn = false
    const next = timers.nextDue()
    if (hasMoreToScrub || (next !== undefined && next <= timers.tick()))
      void systemClock.turnEnd().then(() => this.turn())
    else {
      if (next !== undefined) this.#publish(next)
      this.#wait(seen)
    }
  }

  /** Starts no further task. Resolves once those under way have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    Atomics.store(this.#words, this.#at + NEXT_DUE, 0)
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#publishCounts()
  }

  #publish(dueTick: number): void {
    this.#published = dueTick
    publishNextDue(this.#words, this.#parts.owner, dueTick, this.#parts.timers.tick())
  }

  /** Waits for the metronome. An earlier wait that has not ended serves as well. */
  #wait(seen: number): void {
    if (this.#isWaiting) return
    const waiting = waitAsync(this.#words, this.#at + WAKE, seen)
    if (!waiting.async) {
      void systemClock.turnEnd().then(() => this.turn())
      return
    }
    void this.#turnAfter(waiting.value)
  }

  async #turnAfter(woken: Promise<string>): Promise<void> {
    this.#isWaiting = true
    await woken
    this.#isWaiting = false
    this.turn()
  }

  #run(index: number): void {
    const { tasks, timers, memory } = this.#parts
    const task = timers.payloads.taskOf(index)
    const handle = handleOf(memory.tag, timers.records.use(index), index)
    try {
      const result = tasks[task]!(timers.payloads.payloadOf(index), handle)
      if (isPromise(result)) void this.#await(result, index, task)
      else timers.end(index)
    } catch (error) {
      this.#failed(error, index, task)
    }
  }

  async #await(result: PromiseLike<unknown>, index: number, task: number): Promise<void> {
    const { timers } = this.#parts
    this.#running++
    try {
      await result
      timers.end(index)
    } catch (error) {
      this.#failed(error, index, task)
    }
    this.#running--
    this.#publishCounts()
    if (this.#running === 0) this.#onIdle?.()
  }

  #failed(error: unknown, index: number, task: number): void {
    const { timers, onError } = this.#parts
    const payload = timers.payloads.payloadOf(index)
    timers.end(index)
    timers.counts.failed++
    onError(error, task, payload)
  }

  #publishCounts(): void {
    const { size, counts } = this.#parts.timers
    const [words, at] = [this.#words, this.#at]
    words[at + SCHEDULED] = size
    words[at + FIRED] = counts.fired
    words[at + CANCELLED] = counts.cancelled
    words[at + REMOVED] = counts.removed
    words[at + MOVED_HERE] = counts.movedHere
    words[at + FAILED] = counts.failed
    words[at + RUNNING] = this.#running
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
