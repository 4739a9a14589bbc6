import type { Timers } from '../front/index.js'
import type { Store } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'

const PATIENCE_MS = 2000

/** Whether this instance does its work: its store answers, and what is due in its shards is being fired. */
export class Readiness {
  readonly #timers: Timers
  readonly #store: Store
  readonly #clock: Clock
  #isStopping = false

  constructor(timers: Timers, store: Store, clock: Clock) {
    this.#timers = timers
    this.#store = store
    this.#clock = clock
  }

  stop(): void {
    this.#isStopping = true
  }

  /** What is wrong; nothing when it is ready. */
  async faults(): Promise<readonly string[]> {
    if (this.#isStopping) return ['it is being stopped']
    if (!(await this.#answers())) return [`the store did not answer within ${PATIENCE_MS} ms`]
    const { engine } = this.#timers
    const { stallMs } = engine.settings
    return engine.stats().shards.flatMap(({ shard, isLeased, behindMs }) => {
      if (!isLeased) return [`the lease of shard ${shard} is over`]
      return behindMs > stallMs ? [`shard ${shard} is ${behindMs} ms behind: due timers do not fire`] : []
    })
  }

  /** Whether the store answers in time. */
  async #answers(): Promise<boolean> {
    let wake: Wake | undefined
    const late = new Promise<boolean>((resolve) => {
      wake = this.#clock.wakeAfter(PATIENCE_MS, () => resolve(false), { keepAlive: false })
    })
    try {
      return await Promise.race([this.#asked(), late])
    } finally {
      wake?.cancel()
    }
  }

  async #asked(): Promise<boolean> {
    try {
      await this.#store.now()
      return true
    } catch {
      return false
    }
  }
}
