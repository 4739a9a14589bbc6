import { Worker } from 'node:worker_threads'
import { threadArguments } from '../../async/index.js'
import { systemClock, type Wake } from '../../time/index.js'
import { PING_MS } from './defaults.js'
import type { FromThread, ThreadStart, ToThread } from './messages.js'
import { receivedError, sentError } from './sent-error.js'
import { messageOf, type ThreadJob, transferOf } from './thread-job.js'

export interface HandlerThreadParts {
  readonly module: URL
  /** The number of the thread, from 1. A thread that replaces it has the same. */
  readonly number: number
  /** How many jobs it may have at once. */
  readonly slots: number
  /** A job has ended, or the thread answers again. */
  readonly onFree: () => void
  /** The thread has ended, and nothing runs in it any more. `crash` is the error that ended it, if one did. */
  readonly onExit: (thread: HandlerThread, crash: unknown) => void
}

/** One thread of a handler, as the engine's thread sees it. */
export class HandlerThread {
  /** Resolves once the module is loaded. Rejects with the reason if it cannot be. */
  readonly ready: Promise<void>
  readonly startedAt = systemClock.monotonic()
  readonly number: number
  /** How many jobs have ended here: their handler has returned or thrown, or their time was over. */
  ended = 0
  /** Whether it was ended because it no longer answered. */
  isEnded = false
  readonly #parts: HandlerThreadParts
  readonly #worker: Worker
  readonly #begun = new Int32Array(new SharedArrayBuffer(4))
  /** By number, in the order in which they were sent. */
  readonly #jobs = new Map<number, ThreadJob>()
  #isReady = false
  #sent = 0
  #pings = 0
  /** Ends the thread, unless it answers before. */
  #doubt: Wake | undefined

  constructor(parts: HandlerThreadParts) {
    this.#parts = parts
    this.number = parts.number
    const start: ThreadStart = { module: parts.module.href, begun: this.#begun }
    this.#worker = new Worker(new URL('./thread-entry.js', import.meta.url), {
      workerData: start,
      ...threadArguments(),
    })
    let crash: unknown
    // Without a listener, an uncaught error in the thread would end the whole process.
    this.#worker.on('error', (error) => (crash = error))
    this.ready = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: FromThread) => {
        if (message.type === 'ready') {
          this.#isReady = true
          // Only a thread with jobs keeps the process alive.
          this.#worker.unref()
          resolve()
        } else if (message.type === 'refused') reject(receivedError(message.error))
        else this.#receive(message)
      })
      this.#worker.once('exit', () => {
        reject(crash ?? new Error('the thread ended while it loaded the module'))
        this.#isReady = false
        this.#doubt?.cancel()
        parts.onExit(this, crash)
      })
    })
    // Nobody may wait for a thread that replaces another one.
    this.ready.catch(() => undefined)
  }

  /** How many more jobs it takes; 0 while it loads the module, or does not answer. */
  get free(): number {
    return this.#isReady && this.#doubt === undefined ? this.#parts.slots - this.#jobs.size : 0
  }

  get running(): number {
    return this.#jobs.size
  }

  /** Sends it a job. Throws if the payload cannot cross. */
  run(job: ThreadJob, aheadMs: number): void {
    const run = messageOf(job, this.#sent + 1, aheadMs)
    this.#worker.postMessage({ run } satisfies ToThread, transferOf(run))
    this.#sent = run.job
    this.#jobs.set(run.job, job)
    if (this.#jobs.size === 1) this.#worker.ref()
  }

  /** Whether the handler was called for a job. Until then, it waits for others to yield. */
  hasBegun(job: ThreadJob): boolean {
    const begun = Atomics.load(this.#begun, 0)
    for (const [number, each] of this.#jobs) if (each === job) return number <= begun
    return false
  }

  /** Aborts the signal of a job. It stays here until it ends, or with `isOver`, no longer. */
  abort(job: ThreadJob, reason: Error, isOver: boolean): void {
    for (const [number, each] of this.#jobs) {
      if (each !== job) continue
      this.#post({ abort: number, reason: sentError(reason) })
      if (!isOver) continue
      this.#remove(number)
      this.ended++
      this.#checkSoon()
    }
  }

  /** The jobs that the thread had when it ended, by whether their handler had been called. */
  takeJobs(): { readonly begun: readonly ThreadJob[]; readonly waiting: readonly ThreadJob[] } {
    const begun = Atomics.load(this.#begun, 0)
    const jobs = [...this.#jobs]
    this.#jobs.clear()
    return {
      begun: jobs.filter(([number]) => number <= begun).map(([, job]) => job),
      waiting: jobs.filter(([number]) => number > begun).map(([, job]) => job),
    }
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }

  /** Ends the thread, unless its event loop has a turn soon: a handler may never yield. */
  #checkSoon(): void {
    this.#doubt?.cancel()
    this.#post({ ping: ++this.#pings })
    this.#doubt = systemClock.wakeAfter(PING_MS, () => {
      this.isEnded = true
      void this.terminate()
    })
  }

  #receive(message: Exclude<FromThread, { readonly type: 'ready' | 'refused' }>): void {
    if (message.type === 'pong') {
      if (message.ping !== this.#pings) return
      this.#doubt?.cancel()
      this.#doubt = undefined
    } else {
      const job = this.#jobs.get(message.job)
      // Its time was over before it ended.
      if (job === undefined) return
      this.#remove(message.job)
      this.ended++
      if (message.type === 'failed') job.fail(receivedError(message.error))
      else job.end(message)
    }
    this.#parts.onFree()
  }

  #remove(number: number): void {
    this.#jobs.delete(number)
    if (this.#jobs.size === 0) this.#worker.unref()
  }

  #post(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(message)
  }
}
