import { nameKey, type TimerName } from '../../timer/index.js'
import type { ClaimedAttempt } from './claimed-attempt.js'

/** The rows that this instance has claimed, started or not, until they are settled. */
export class ClaimedRows {
  readonly #byName = new Map<string, ClaimedAttempt>()

  get size(): number {
    return this.#byName.size
  }

  [Symbol.iterator](): Iterator<ClaimedAttempt> {
    return this.#byName.values()
  }

  get(name: TimerName): ClaimedAttempt | undefined {
    return this.#byName.get(nameKey(name))
  }

  add(attempt: ClaimedAttempt): void {
    this.#byName.set(nameKey(attempt.row), attempt)
  }

  /** From now on the row belongs to nobody, or to another instance. */
  forget(attempt: ClaimedAttempt): void {
    attempt.isHeld = false
    const name = nameKey(attempt.claimToken)
    if (this.#byName.get(name) === attempt) this.#byName.delete(name)
  }
}
