import { Worker } from 'node:worker_threads'
import { threadArguments } from '../async/index.js'
import { systemClock } from '../time/index.js'
import type { FromWorker, ToWorker, WorkerStart } from './messages.js'
import type { TaskPayload } from './memory/task-payload.js'

export interface PoolWorkerParts extends WorkerStart {
  readonly maxHeapMb: number | undefined
  /** A task has failed. */
  readonly onFailed: (error: unknown, task: number, payload: TaskPayload) => void
  /** The thread has ended. Nothing runs in it any more. */
  readonly onExit: (worker: PoolWorker) => void
}

/** The thread of one worker, as the pool sees it. */
export class PoolWorker {
  readonly owner: number
  readonly startedAt = systemClock.monotonic()
  /** Resolves with the names of the tasks once the module is loaded; rejects with the reason if it cannot be. */
  readonly ready: Promise<readonly string[]>
  readonly exited: Promise<void>
  readonly #thread: Worker
  #isReady = false

  constructor({ maxHeapMb, onFailed, onExit, ...start }: PoolWorkerParts) {
    this.owner = start.owner
    this.#thread = new Worker(new URL('./worker-thread.js', import.meta.url), {
      workerData: start,
      ...threadArguments(),
      ...(maxHeapMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } }),
    })
    let crash: unknown
    // Without a listener, an uncaught error in the worker would end the whole process.
    this.#thread.on('error', (error) => (crash = error))
    this.ready = new Promise((resolve, reject) => {
      this.#thread.on('message', (message: FromWorker) => {
        if ('failed' in message) onFailed(message.failed, message.task, message.payload)
        else if ('refused' in message) reject(new Error(message.refused))
        else {
          this.#isReady = true
          resolve(message.ready)
        }
      })
      this.#thread.once('exit', () =>
        reject(crash ?? new Error('the worker ended while it loaded the module')),
      )
    })
    // The caller may not wait for a worker that replaces another.
    this.ready.catch(() => undefined)
    this.exited = new Promise((resolve) => {
      this.#thread.once('exit', () => {
        resolve()
        onExit(this)
      })
    })
  }

  get isReady(): boolean {
    return this.#isReady
  }

  send(message: ToWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#thread.postMessage(message)
  }

  /** Lets tasks under way end, for at most `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.send({ stop: true })
    const wake = systemClock.wakeAfter(graceMs, () => void this.#thread.terminate())
    await this.exited
    wake.cancel()
  }

  async terminate(): Promise<void> {
    await this.#thread.terminate()
  }
}
