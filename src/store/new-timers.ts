import type { Place } from '../timer/index.js'
import type { OperationAnswer, OwnerWrite, SetOperation, WriteAnswer } from './store.js'

/** The answer to a write whose sets all stored new timers. The array of answers is made only on demand. */
export class NewTimers implements WriteAnswer {
  readonly newFrom: number
  readonly readLevel: Place
  readonly #write: Pick<OwnerWrite, 'operations'>

  constructor(write: Pick<OwnerWrite, 'operations'>, newFrom: number, readLevel: Place) {
    this.#write = write
    this.newFrom = newFrom
    this.readLevel = readLevel
  }

  get answers(): readonly OperationAnswer[] {
    return this.#write.operations.map((operation, index) => ({
      outcome: 'set',
      place: { position: (operation as SetOperation).position, revision: this.newFrom + index },
      replaced: undefined,
    }))
  }
}

/** The value of `newFrom`: the first revision if all answers are new timers with consecutive revisions. */
export function newFromOf(answers: readonly OperationAnswer[]): number | undefined {
  const [first] = answers
  if (first?.outcome !== 'set') return undefined
  const newFrom = first.place.revision
  for (let index = 0; index < answers.length; index++) {
    const answer = answers[index]!
    if (answer.outcome !== 'set' || answer.replaced !== undefined) return undefined
    if (answer.place.revision !== newFrom + index) return undefined
  }
  return newFrom
}
