import type { Place } from '../timer/index.js'
import type { Operation, OperationAnswer, SetOperation, WriteAnswer } from './store.js'

/** The answer to a write of sets that were all new. What it says of each is made when it is asked for. */
export class NewTimers implements WriteAnswer {
  readonly newFrom: number
  readonly readLevel: Place
  readonly #operations: readonly Operation[]

  constructor(operations: readonly Operation[], newFrom: number, readLevel: Place) {
    this.#operations = operations
    this.newFrom = newFrom
    this.readLevel = readLevel
  }

  get answers(): readonly OperationAnswer[] {
    return this.#operations.map((operation, index) => ({
      outcome: 'set',
      place: { position: (operation as SetOperation).position, revision: this.newFrom + index },
      replaced: undefined,
    }))
  }
}
