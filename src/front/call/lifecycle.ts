import type { CallLimit } from '../../async/index.js'
import { StateError, StoreError } from '../../error/index.js'
import type { CallOptions, Calls } from './calls.js'
import { type Drained, drainBoundsOf, type DrainOptions } from '../deliver/drain.js'
import { Listeners } from '../event/listeners.js'
import type { TimersEvent } from '../event/timers-event.js'

/**
 * Starts, stops and drains a front door, in bounded time. Proven by test/front/bounded-calls.test.ts and
 * test/front/stop.test.ts.
 */
export abstract class Lifecycle implements AsyncDisposable {
  protected readonly listeners: Listeners
  /** Every public call that waits for something runs in it, and ends in time. */
  protected readonly calls: Calls
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  constructor(onEvent: (event: TimersEvent) => void, calls: Calls) {
    this.listeners = new Listeners(onEvent)
    this.calls = calls
  }

  /** Adds a listener. Call the returned function to remove it. */
  onEvent(listener: (event: TimersEvent) => void): () => void {
    return this.listeners.add(listener)
  }

  /**
   * Starts to load and fire timers. Idempotent. If the store does not answer in time, it fails, and goes on in the
   * background: a second call waits for the same start.
   */
  async start(options?: CallOptions): Promise<void> {
    this.checkOpen()
    await this.calls.run(options, (limit) => {
      limit.hasActed = true
      return (this.#starting ??= this.startFiring())
    })
  }

  /**
   * Waits for running attempts, for a limited time, and releases everything. Idempotent. The process stays alive
   * meanwhile. If the store does not answer in time, it fails.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.calls.run(undefined, (limit) => this.#stop(limit), this.stopMs)
    return this.#stopping
  }

  async #stop(limit: CallLimit): Promise<void> {
    await limit.selfEnding(limit.orOver(this.stopFiring(limit)))
    if (!limit.isOver) return
    throw new StoreError(
      'unknown-outcome',
      'the store did not answer in time while these timers were stopped: attempts that ended just before may be repeated',
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /**
   * Makes one bounded pass: fires all due timers, waits for their handlers, and releases the shards. For serverless
   * functions, which run now and then. Returns how many attempts it started.
   */
  async drain(options: DrainOptions = {}): Promise<Drained> {
    this.checkOpen()
    if (this.#starting !== undefined)
      throw new StateError('started', 'these timers were started and fire on their own: do not drain them')
    const { maxTimeMs } = drainBoundsOf(options)
    const drained = this.calls.run(
      undefined,
      (limit) => {
        limit.hasActed = true
        return this.drainDue(options)
      },
      maxTimeMs + this.stopMs,
    )
    return await drained
  }

  protected checkOpen(): void {
    if (this.#stopping !== undefined)
      throw new StateError('stopped', 'these timers were stopped: open new ones')
  }

  protected abstract startFiring(): Promise<void>
  /** How long `stop` may wait for running attempts. */
  protected abstract get stopMs(): number
  /** When `limit` is over, nobody waits for it any more. */
  protected abstract stopFiring(limit: CallLimit): Promise<void>
  protected abstract drainDue(options: DrainOptions): Promise<Drained>
}
