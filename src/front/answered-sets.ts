import type { SubmitAnswer } from '../engine/index.js'
import { handleOf, type SetTimer, type SetTimers } from '../timer/index.js'
import { outcomeOf } from './outcome.js'
import type { SetRequest } from './set-request.js'

const setOutcomes = ['set', 'appended', 'conflict'] as const

/** What was answered to sets, each made when it is asked for: whoever needs no handles pays for none. */
export class AnsweredSets implements SetTimers {
  readonly #operations: readonly SetRequest[]
  readonly #answers: readonly SubmitAnswer[]

  constructor(operations: readonly SetRequest[], answers: readonly SubmitAnswer[]) {
    this.#operations = operations
    this.#answers = answers
  }

  get length(): number {
    return this.#answers.length
  }

  at(index: number): SetTimer | undefined {
    const operation = this.#operations.at(index)
    return operation === undefined ? undefined : setTimerOf(operation, this.#answers.at(index)!)
  }

  map<Value>(of: (timer: SetTimer, index: number) => Value): Value[] {
    return this.#answers.map((answer, index) => of(setTimerOf(this.#operations[index]!, answer), index))
  }

  *[Symbol.iterator](): Iterator<SetTimer> {
    for (let i = 0; i < this.#answers.length; i++) yield setTimerOf(this.#operations[i]!, this.#answers[i]!)
  }
}

/** What was answered to a set. */
export function setTimerOf(operation: SetRequest, answer: SubmitAnswer): SetTimer {
  return {
    outcome: isConflict(answer) ? 'conflict' : 'set',
    key: operation.key,
    handle: handleOf(operation),
    dueAt: operation.dueAt,
    revision: answer.outcome === 'set' ? answer.revision : undefined,
  }
}

/** Whether its condition did not hold; throws what no `set` is answered. */
export function isConflict(answer: SubmitAnswer): boolean {
  return answer.outcome !== 'set' && outcomeOf(answer, setOutcomes) === 'conflict'
}
