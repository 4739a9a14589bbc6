import type { OperationAnswer } from '../../store.js'
import { CAUTIOUS_WRITES } from '../defaults.js'

/**
 * Predicts from recent writes whether the names of the next one are free. A caller that keeps replacing timers should
 * not have every batch tried in vain as an insert of free names.
 */
export class FreeNamePredictor {
  #cautiousWrites = 0

  get expectsFreeNames(): boolean {
    return this.#cautiousWrites === 0
  }

  observe(answers: readonly OperationAnswer[]): void {
    const isTaken = answers.some(
      (answer) => answer.outcome === 'same' || (answer.outcome === 'set' && answer.replaced !== undefined),
    )
    if (isTaken) this.#cautiousWrites = CAUTIOUS_WRITES
    else if (this.#cautiousWrites > 0) this.#cautiousWrites--
  }
}
