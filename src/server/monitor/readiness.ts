import { instanceCauses, type Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import type { Clock, Wake } from '../../time/index.js'
import { STORE_TIMEOUT_MS } from '../defaults.js'

/** Whether this instance works: its store answers, and due timers of its shards fire. */
export class Readiness {
  readonly #timers: Timers
  readonly #store: Store
  readonly #clock: Clock
  #isStopping = false
  #checking: Promise<readonly string[]> | undefined

  constructor(timers: Timers, store: Store, clock: Clock) {
    this.#timers = timers
    this.#store = store
    this.#clock = clock
  }

  stop(): void {
    this.#isStopping = true
  }

  /** What is wrong. Empty if the instance is ready. Anybody may ask, so the store gets one question at a time. */
  faults(): Promise<readonly string[]> {
    if (this.#isStopping) return Promise.resolve(['this instance is stopping'])
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined))
    return this.#checking
  }

  async #check(): Promise<readonly string[]> {
    if (!(await this.#storeAnswersInTime())) return [`the store did not answer within ${STORE_TIMEOUT_MS} ms`]
    const { engine } = this.#timers
    return instanceCauses(engine.stats(), engine.settings).map(({ text }) => text)
  }

  async #storeAnswersInTime(): Promise<boolean> {
    let wake: Wake | undefined
    const late = new Promise<boolean>((resolve) => {
      wake = this.#clock.wakeAfter(STORE_TIMEOUT_MS, () => resolve(false), { keepAlive: false })
    })
    try {
      return await Promise.race([this.#storeAnswers(), late])
    } finally {
      wake?.cancel()
    }
  }

  async #storeAnswers(): Promise<boolean> {
    try {
      await this.#store.now()
      return true
    } catch {
      return false
    }
  }
}
