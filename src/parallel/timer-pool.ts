import { Worker } from 'node:worker_threads'
import { threadArguments } from '../async/index.js'
import { checkInteger, InvalidInputError, StateError } from '../error/index.js'
import { type Duration, parseDuration, systemClock, ThreadClock, threadOrigin } from '../time/index.js'
import { LONGEST_RESTART_PAUSE_MS, poolDefaults, QUICK_DEATH_MS, TICK_MICROS } from './defaults.js'
import { newPoolMemory, owners, type PoolMemory, poolWords } from './memory/pool-memory.js'
import { checkPoolOptions, type CheckedOptions, type TimerPoolOptions } from './pool-options.js'
import { PoolWorker } from './pool-worker.js'
import { type PoolStats, statsOf } from './pool-stats.js'
import { type Orphans, StarterTimers, type TimerState } from './starter-timers.js'
import { TaskNames } from './work/task-names.js'
import type { TaskPayload } from './memory/task-payload.js'
import { TAGS, type TimerHandle } from './memory/timer-handle.js'

/** Pools of this process get different tags in turn, so that a handle of another pool is recognised. */
let lastTag = 0

/**
 * Timers on several threads. Each worker has a wheel of its own and runs the tasks of its timers. A timer that is set
 * here goes to the worker with the fewest. If a worker ends in any way, the others get its timers.
 *
 * Proven by test/parallel/timer-pool.test.ts and test/parallel/worker-deaths.test.ts.
 */
export class TimerPool {
  readonly #options: CheckedOptions
  readonly #memory: PoolMemory
  readonly #control: Int32Array
  readonly #origin = threadOrigin()
  readonly #clock = new ThreadClock(this.#origin)
  readonly #names = new TaskNames()
  readonly #timers: StarterTimers
  readonly #workers = new Map<number, PoolWorker>()
  /** How many quick deaths each worker has had in a row. */
  readonly #quickDeaths = new Map<number, number>()
  #wanted: number
  #orphans: Orphans = []
  #isSharing = false
  #interrupted = 0
  #deaths = 0
  #metronome: Worker | undefined
  #stopping: Promise<number> | undefined

  /** Starts the threads. Resolves once every worker has loaded the module. */
  static async start(options: TimerPoolOptions): Promise<TimerPool> {
    const pool = new TimerPool(checkPoolOptions(options))
    try {
      await pool.#begin()
    } catch (error) {
      await pool.stop()
      const reason = error instanceof Error ? error.message : String(error)
      throw new InvalidInputError('task-module', `a worker cannot load ${pool.#options.module}: ${reason}`, {
        cause: error,
      })
    }
    return pool
  }

  private constructor(options: CheckedOptions) {
    this.#options = options
    this.#wanted = options.workers
    lastTag = (lastTag + 1) % TAGS
    this.#memory = newPoolMemory(options, lastTag)
    this.#control = new Int32Array(this.#memory.control)
    this.#timers = new StarterTimers(this.#memory)
  }

  /** Sets a timer: the task runs in one of the workers after the delay. */
  set(task: string, delay: Duration, payload?: TaskPayload): TimerHandle {
    this.#checkRunning()
    const dueTick = Math.ceil((this.#clock.micros() + parseDuration(delay) * 1000) / TICK_MICROS)
    const handle = this.#timers.set(this.#names.numberOf(task), dueTick, payload, this.#orphans)
    this.#shareSoon()
    return handle
  }

  /** Cancels a timer of any thread. Answers whether this call has prevented its task from starting. */
  cancel(handle: TimerHandle): boolean {
    return this.#timers.cancel(handle)
  }

  state(handle: TimerHandle): TimerState {
    return this.#timers.state(handle)
  }

  stats(): PoolStats {
    return statsOf(this.#control, [...this.#workers.keys()], {
      waiting: this.#orphans.length / 2,
      interrupted: this.#interrupted,
      deaths: this.#deaths,
    })
  }

  /** Changes the number of workers. The timers of workers that stop go to the others. */
  async resize(workers: number): Promise<void> {
    this.#checkRunning()
    checkInteger('workers', workers, 1, owners.MAX_WORKERS)
    this.#wanted = workers
    const leaving = [...this.#workers.values()].filter(({ owner }) => owner > workers)
    const joining = this.#startMissing()
    await Promise.all([
      ...leaving.map((worker) => worker.stop(poolDefaults.stopGraceMs)),
      ...joining.map(({ ready }) => ready),
    ])
  }

  /** Ends a thread at once, as if it had crashed: a worker, or the metronome. A new thread takes its place. */
  async terminate(thread: number | 'metronome'): Promise<void> {
    this.#checkRunning()
    if (thread === 'metronome') {
      await this.#metronome?.terminate()
      return
    }
    checkInteger('thread', thread, 1, this.#wanted)
    await this.#workers.get(thread)?.terminate()
  }

  /** Stops all threads, once the tasks under way have ended. Resolves with the number of timers that are dropped. */
  stop(): Promise<number> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #begin(): Promise<void> {
    this.#startMetronome()
    const ready = await Promise.all(this.#startMissing().map((worker) => worker.ready))
    this.#names.define(ready[0]!)
  }

  async #stop(): Promise<number> {
    await Promise.all([...this.#workers.values()].map((worker) => this.#stopWorker(worker)))
    await this.#metronome?.terminate()
    return this.stats().scheduled
  }

  #stopWorker(worker: PoolWorker): Promise<void> {
    return worker.isReady ? worker.stop(poolDefaults.stopGraceMs) : worker.terminate()
  }

  #startMetronome(): void {
    const metronome = new Worker(new URL('./metronome-thread.js', import.meta.url), {
      workerData: { memory: this.#memory, origin: this.#origin },
      ...threadArguments(),
    })
    this.#metronome = metronome
    metronome.on('error', (error) => this.#options.onError(error, 'metronome', undefined))
    // A new one continues at once: what it needs to know is in shared memory.
    metronome.once('exit', () => {
      if (this.#stopping === undefined) this.#startMetronome()
    })
  }

  #startMissing(): readonly PoolWorker[] {
    const started: PoolWorker[] = []
    for (let owner = 1; owner <= this.#wanted; owner++) {
      if (!this.#workers.has(owner)) started.push(this.#startWorker(owner))
    }
    return started
  }

  #startWorker(owner: number): PoolWorker {
    if (Atomics.load(this.#control, poolWords.WORKERS) < owner) {
      Atomics.store(this.#control, poolWords.WORKERS, owner)
    }
    const worker = new PoolWorker({
      memory: this.#memory,
      origin: this.#origin,
      owner,
      module: this.#options.module,
      data: this.#options.data,
      maxHeapMb: this.#options.maxHeapMb,
      onFailed: (error, task, payload) => this.#options.onError(error, this.#names.nameOf(task), payload),
      onExit: (ended) => void this.#onExit(ended),
    })
    this.#workers.set(owner, worker)
    void worker.ready.then(
      () => this.#shareSoon(),
      () => void worker.terminate(),
    )
    return worker
  }

  /** A worker has ended. Its timers go to the others, and if it was not asked to end, a new worker takes its number. */
  async #onExit(worker: PoolWorker): Promise<void> {
    if (this.#stopping !== undefined) return
    const { owner } = worker
    if (owner <= this.#wanted) this.#deaths++
    const orphans = await this.#timers.recover(owner, (index) => this.#onInterrupted(index))
    this.#workers.delete(owner)
    for (const each of orphans) this.#orphans.push(each)
    this.#shareSoon()
    const isQuick = systemClock.monotonic() - worker.startedAt < QUICK_DEATH_MS
    const quick = isQuick ? (this.#quickDeaths.get(owner) ?? 0) + 1 : 0
    this.#quickDeaths.set(owner, quick)
    // A module that ends its worker at once must not keep the machine busy.
    const pauseMs = quick < 2 ? 0 : Math.min(LONGEST_RESTART_PAUSE_MS, 50 * 2 ** quick)
    systemClock.wakeAfter(pauseMs, () => {
      if (this.#stopping === undefined) this.#startMissing()
    })
  }

  #onInterrupted(index: number): void {
    this.#interrupted++
    const { payloads } = this.#timers
    const task = this.#names.nameOf(payloads.taskOf(index))
    const payload = payloads.payloadOf(index)
    const text = `a worker ended while it ran ${task} with the payload ${String(payload)}`
    this.#options.onError(new StateError('task-interrupted', text), task, payload)
  }

  /** Gives orphans to the workers at the end of this turn, so that many share a message. */
  #shareSoon(): void {
    if (this.#isSharing || this.#orphans.length === 0) return
    this.#isSharing = true
    void this.#shareAtTurnEnd()
  }

  async #shareAtTurnEnd(): Promise<void> {
    await systemClock.turnEnd()
    this.#isSharing = false
    this.#share()
  }

  /** Gives each worker as many orphans as bring it to the average. */
  #share(): void {
    const workers = [...this.#workers.values()].filter(
      ({ isReady, owner }) => isReady && owner <= this.#wanted,
    )
    // The first worker that is ready gets them.
    if (workers.length === 0) return
    const orphans = this.#orphans
    this.#orphans = []
    const sizes = new Map(this.stats().workers.map(({ worker, scheduled }) => [worker, scheduled]))
    const total = orphans.length / 2 + workers.reduce((sum, { owner }) => sum + (sizes.get(owner) ?? 0), 0)
    const average = Math.ceil(total / workers.length)
    let from = 0
    workers.forEach(({ owner }, at) => {
      const isLast = at === workers.length - 1
      const count = isLast ? Infinity : Math.max(0, average - (sizes.get(owner) ?? 0))
      const until = Math.min(orphans.length, from + count * 2)
      if (until > from) workers[at]!.send({ orphans: Int32Array.from(orphans.slice(from, until)) })
      from = until
    })
  }

  #checkRunning(): void {
    if (this.#stopping !== undefined)
      throw new StateError('stopped', 'this pool was stopped: start a new one')
  }
}
