import type { Store } from '../../store/index.js'
import { nameKey, type TimerName } from '../../timer/index.js'
import { Sleeper } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import type { Attempts } from '../fire/attempts.js'
import { isPassing } from '../own/call-errors.js'
import type { Ownership } from '../own/ownership.js'
import type { EngineSettings } from '../settings.js'
import type { StartHolds } from './start-holds.js'

interface InboxHoldsParts {
  readonly store: Store
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly ownership: Ownership
  readonly attempts: Attempts
  readonly startHolds: StartHolds
}

/**
 * Holds back timers that were set while requests may have waited in the inbox. Another set of the same name may have been
 * acknowledged because the name was free, before the timer was stored. It replaces the timer, so the timer must not
 * start before it is applied (promise 16). A name is released once the store shows that no set of it waits: one that
 * comes later finds the timer, and is acknowledged only when it is applied.
 *
 * Proven by the mutant 'a timer that was set past the inbox starts at once'.
 */
export class InboxHolds {
  readonly #parts: InboxHoldsParts
  readonly #sleeper: Sleeper
  #held: TimerName[] = []
  // The names that a set waits for, as of the last check.
  #waitedFor: ReadonlySet<string> = new Set()
  #isChecking = false
  #isOver = false

  constructor(parts: InboxHoldsParts) {
    this.#parts = parts
    this.#sleeper = new Sleeper(parts.clock)
  }

  hold(name: TimerName): void {
    this.#parts.startHolds.holdName(name)
    this.#held.push(name)
    if (!this.#isChecking) void this.#check()
  }

  /** Whether a timer of this name is held, because a set of it waits. */
  isHeld(name: TimerName): boolean {
    return this.#waitedFor.size > 0 && this.#waitedFor.has(nameKey(name))
  }

  /** Requests were applied. */
  onApplied(): void {
    this.#sleeper.wakeAll()
  }

  stop(): void {
    this.#isOver = true
    this.#sleeper.cancelAll()
  }

  async #check(): Promise<void> {
    this.#isChecking = true
    // All timers of a write share one check.
    await Promise.resolve()
    while (this.#held.length > 0 && !this.#isOver) {
      const names = this.#held
      this.#held = []
      const areWaiting = await this.#areWaiting(names)
      const waitedFor = names.filter((_, index) => areWaiting[index])
      this.#waitedFor = new Set(waitedFor.map(nameKey))
      this.#held = [...waitedFor, ...this.#held]
      this.#release(names.filter((_, index) => !areWaiting[index]))
      if (areWaiting.includes(true) && !this.#isOver) await this.#sleeper.sleep(this.#parts.settings.retryMs)
    }
    this.#isChecking = false
  }

  async #areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    const { ownership, store } = this.#parts
    try {
      return await ownership.call('areWaiting', () => store.areWaiting(names))
    } catch (error) {
      // If the shard is lost, nothing of it starts any more.
      if (!isPassing(error)) this.#isOver = true
      return names.map(() => true)
    }
  }

  #release(names: readonly TimerName[]): void {
    const { attempts, startHolds } = this.#parts
    attempts.unpark(names.flatMap((name) => startHolds.releaseName(name)))
    attempts.setAlarm()
  }
}
