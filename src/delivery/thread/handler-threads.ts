import { checkInteger, InvalidInputError, StateError } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { NotStarted } from '../not-started.js'
import { TimerFiring } from '../timer-firing.js'
import { LONGEST_RESTART_PAUSE_MS, MAX_THREADS, QUICK_DEATH_MS } from './defaults.js'
import { HandlerThread } from './handler-thread.js'
import { ThreadJob } from './thread-job.js'

export interface HandlerThreadsParts {
  readonly kind: string
  /** Its default export is the handler. Each thread loads it. */
  readonly module: URL
  readonly threads: number
  /** Attempts at once, on all threads together. */
  readonly concurrency: number
  /** How long an attempt may take. If it waits in its thread until others yield, up to twice as long. */
  readonly timeoutMs: number
  /** Whether payloads come from a schema. Then they are cloned; otherwise the bytes of the row cross. */
  readonly hasSchema: boolean
  /** The clock of the engine. */
  readonly clock: Clock
}

/** What the threads of a kind do and have done, since `handle`. */
export interface HandlerThreadsStats {
  readonly kind: string
  /** Attempts that wait until a thread is free. */
  readonly waiting: number
  /** Attempts whose thread died, attempts that exceeded their time, and threads that died. */
  readonly interrupted: number
  readonly timeouts: number
  readonly deaths: number
  /** By number. A thread that has died is missing until it is replaced. */
  readonly threads: readonly HandlerThreadStats[]
}

export interface HandlerThreadStats {
  readonly thread: number
  /** Attempts that it has now, and those that have ended in it, or in the threads that it replaces. */
  readonly running: number
  readonly ended: number
}

/**
 * Makes the attempts of a kind on threads of their own. The event loop of the engine only sends and receives messages.
 * A thread that dies is replaced. Each attempt that ran in it fails with 'handler-interrupted': its outcome is unknown,
 * so it counts. Attempts that the thread had not begun go to another one, and do not count. If an attempt exceeds its
 * time and its thread does not answer, the thread is ended.
 *
 * Proven by test/front/handler-modules.test.ts and test/cli/handler-modules.test.ts.
 */
export class HandlerThreads {
  readonly #parts: HandlerThreadsParts
  readonly #threads = new Set<HandlerThread>()
  readonly #waiting: ThreadJob[] = []
  /** How many attempts have ended in threads that were replaced, by number. */
  readonly #endedBefore = new Map<number, number>()
  readonly #counts = { interrupted: 0, timeouts: 0, deaths: 0 }
  #quickDeaths = 0
  #isStopped = false
  #onIdle: (() => void) | undefined

  /** Starts the threads. Resolves once all have loaded the module. */
  static async start(parts: HandlerThreadsParts): Promise<HandlerThreads> {
    checkInteger('threads', parts.threads, 1, MAX_THREADS)
    const threads = new HandlerThreads(parts)
    try {
      await Promise.all(Array.from({ length: parts.threads }, (_, at) => threads.#start(at + 1).ready))
    } catch (error) {
      await threads.stop()
      throw threads.#refused(error)
    }
    return threads
  }

  private constructor(parts: HandlerThreadsParts) {
    this.#parts = parts
  }

  /** The handler: makes the attempt on the thread that has the fewest. */
  readonly handle = (given: TimerFiring): Promise<void> =>
    new Promise((resolve, reject) => {
      const job = new ThreadJob(given, this.#parts.hasSchema, resolve, reject)
      if (this.#isStopped) {
        this.#giveBack(job)
        return
      }
      TimerFiring.onAbort(given, { abort: (reason) => this.#abort(job, reason) })
      const thread = this.#waiting.length === 0 ? this.#freeThread() : undefined
      if (thread === undefined) this.#waiting.push(job)
      else this.#run(job, thread)
    })

  get stats(): HandlerThreadsStats {
    const threads = [...this.#threads].map(({ number, running, ended }) => {
      return { thread: number, running, ended: ended + (this.#endedBefore.get(number) ?? 0) }
    })
    return {
      kind: this.#parts.kind,
      waiting: this.#waiting.length,
      ...this.#counts,
      threads: threads.toSorted((a, b) => a.thread - b.thread),
    }
  }

  /** Waits until the attempts under way have ended, for a limited time. Then stops. Others fail as interrupted. */
  async retire(patienceMs: number): Promise<void> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        const patience = systemClock.wakeAfter(patienceMs, resolve)
        this.#onIdle = () => {
          patience.cancel()
          resolve()
        }
      })
    }
    await this.end()
  }

  /** Ends the threads at once. Attempts that ran in them fail as interrupted. Others were not started. */
  async end(): Promise<void> {
    this.#isStopped = true
    const left = [...this.#threads].map((thread) => thread.takeJobs())
    // Once their outcome is reported, they may be tried again: so they must not run any more.
    await this.stop()
    const reason = this.#interrupted('these timers were stopped')
    for (const { begun, waiting } of left) {
      for (const job of begun) this.#fail(job, reason)
      for (const job of waiting) this.#giveBack(job)
    }
    for (const job of this.#waiting.splice(0)) this.#giveBack(job)
  }

  /** Ends the threads at once. Nothing is reported about attempts under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const thread of this.#threads) {
      const { begun, waiting } = thread.takeJobs()
      for (const { alarm } of [...begun, ...waiting]) alarm?.cancel()
    }
    await Promise.all([...this.#threads].map((thread) => thread.terminate()))
  }

  get #running(): number {
    let running = 0
    for (const thread of this.#threads) running += thread.running
    return running
  }

  #start(number: number): HandlerThread {
    const { module, concurrency, threads } = this.#parts
    const thread = new HandlerThread({
      module,
      number,
      slots: Math.ceil(concurrency / threads),
      onFree: () => this.#onFree(),
      onExit: (ended, crash) => this.#onExit(ended, crash),
    })
    this.#threads.add(thread)
    return thread
  }

  #freeThread(): HandlerThread | undefined {
    let best: HandlerThread | undefined
    for (const thread of this.#threads) {
      if (thread.free > 0 && thread.free > (best?.free ?? 0)) best = thread
    }
    return best
  }

  #run(job: ThreadJob, thread: HandlerThread): void {
    const { clock, kind, timeoutMs } = this.#parts
    try {
      thread.run(job, clock.now() - systemClock.now())
    } catch (error) {
      const text = `a payload of kind ${kind} cannot cross to a thread: ${(error as Error).message}`
      job.fail(new InvalidInputError('payload-cannot-cross', text, { cause: error }))
      return
    }
    if (timeoutMs !== Infinity) this.#setAlarm(job, thread)
  }

  #setAlarm(job: ThreadJob, thread: HandlerThread): void {
    const { clock, timeoutMs, kind } = this.#parts
    job.alarm = clock.wakeAfter(timeoutMs, () => {
      // Another handler has not yielded so far. That is not the fault of this one.
      if (!thread.hasBegun(job)) {
        this.#setAlarm(job, thread)
        return
      }
      const text = `the handler of ${kind} took more than ${timeoutMs} ms`
      const error = new StateError('handler-timeout', text)
      this.#counts.timeouts++
      thread.abort(job, error, true)
      job.fail(error)
      this.#onFree()
    })
  }

  /** A thread may have a free slot. */
  #onFree(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread()
      if (thread === undefined) return
      const job = this.#waiting.shift()!
      // The lease may have ended meanwhile, or the timer was replaced.
      if (TimerFiring.firingOf(job.given).start()) this.#run(job, thread)
      else job.fail(new NotStarted())
    }
    if (this.#running === 0) this.#onIdle?.()
  }

  #abort(job: ThreadJob, reason: Error): void {
    const at = this.#waiting.indexOf(job)
    if (at < 0) {
      for (const thread of this.#threads) thread.abort(job, reason, false)
      return
    }
    this.#waiting.splice(at, 1)
    this.#giveBack(job)
  }

  /** The attempt was not started: it is delivered again, if it may be. */
  #giveBack(job: ThreadJob): void {
    TimerFiring.firingOf(job.given).postpone()
    job.fail(new NotStarted())
  }

  #onExit(thread: HandlerThread, crash: unknown): void {
    this.#threads.delete(thread)
    if (this.#isStopped) return
    const { number } = thread
    this.#endedBefore.set(number, (this.#endedBefore.get(number) ?? 0) + thread.ended)
    this.#counts.deaths++
    const { begun, waiting } = thread.takeJobs()
    const why = thread.isEnded ? 'another attempt in its thread never yielded' : 'its thread ended'
    for (const job of begun) this.#fail(job, this.#interrupted(why, crash))
    for (const job of waiting) job.alarm?.cancel()
    this.#waiting.unshift(...waiting)
    this.#onFree()
    const isQuick = !thread.isEnded && systemClock.monotonic() - thread.startedAt < QUICK_DEATH_MS
    this.#quickDeaths = isQuick ? this.#quickDeaths + 1 : 0
    // A module that ends its thread at once must not keep the machine busy.
    const pauseMs =
      this.#quickDeaths < 2 ? 0 : Math.min(LONGEST_RESTART_PAUSE_MS, 50 * 2 ** this.#quickDeaths)
    systemClock.wakeAfter(pauseMs, () => this.#replace(number), { keepAlive: false })
  }

  #replace(number: number): void {
    if (this.#isStopped) return
    const thread = this.#start(number)
    void thread.ready.then(
      () => this.#onFree(),
      (error: unknown) => {
        void thread.terminate()
        // Nobody knows when it can be loaded again: so the attempts that wait for it fail, with the reason.
        if (![...this.#threads].some((each) => each.free > 0 || each.running > 0))
          for (const job of this.#waiting.splice(0)) job.fail(this.#refused(error))
      },
    )
  }

  /** An attempt whose outcome nobody knows. */
  #fail(job: ThreadJob, interrupted: StateError): void {
    this.#counts.interrupted++
    job.fail(interrupted)
  }

  #interrupted(why: string, cause?: unknown): StateError {
    const { kind } = this.#parts
    const reason = cause instanceof Error ? `${why}: ${cause.message}` : why
    const text = `an attempt of ${kind} was interrupted, its outcome is unknown: ${reason}`
    return new StateError('handler-interrupted', text, cause === undefined ? {} : { cause })
  }

  #refused(error: unknown): InvalidInputError {
    const reason = error instanceof Error ? error.message : String(error)
    const text = `a thread cannot load ${this.#parts.module.href}, the handler of ${this.#parts.kind}: ${reason}`
    return new InvalidInputError('handler-module', text, { cause: error })
  }
}
