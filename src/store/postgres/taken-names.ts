import type { OperationAnswer } from '../store.js'

/** After a name that was taken, this many writes look names up first. */
const WARY_WRITES = 16

/**
 * Whether the names of the next write are likely free, by what was found in those before: whoever sets timers anew
 * again and again should not have each batch tried in vain.
 */
export class TakenNames {
  #waryWrites = 0

  get areNamesFree(): boolean {
    return this.#waryWrites === 0
  }

  learn(answers: readonly OperationAnswer[]): void {
    const isTaken = answers.some(
      (answer) => answer.outcome === 'same' || (answer.outcome === 'set' && answer.replaced !== undefined),
    )
    if (isTaken) this.#waryWrites = WARY_WRITES
    else if (this.#waryWrites > 0) this.#waryWrites--
  }
}
