import type { SubmitAnswer } from '../../engine/index.js'
import { handleOf, revisionOf, type SetTimer, type SetTimers, type TimerRow } from '../../timer/index.js'
import { outcomeOf } from '../outcome.js'
import { dueAtOfRow } from '../read/timer-view.js'
import type { SetRequest } from './set-request.js'

const setOutcomes = ['set', 'appended', 'conflict'] as const

/** The results of sets. Each is made when it is read, so callers that need no handles do not pay for them. */
export class SetResults implements SetTimers {
  readonly length: number
  readonly #timer: (index: number) => SetTimer

  constructor(length: number, timer: (index: number) => SetTimer) {
    this.length = length
    this.#timer = timer
  }

  at(index: number): SetTimer | undefined {
    const integer = Math.trunc(index) || 0
    const from = integer < 0 ? integer + this.length : integer
    return from >= 0 && from < this.length ? this.#timer(from) : undefined
  }

  map<Value>(of: (timer: SetTimer, index: number) => Value): Value[] {
    return Array.from({ length: this.length }, (_, index) => of(this.#timer(index), index))
  }

  *[Symbol.iterator](): Iterator<SetTimer> {
    for (let index = 0; index < this.length; index++) yield this.#timer(index)
  }
}

/** The result of one set. */
export function setTimerOf(operation: SetRequest, answer: SubmitAnswer): SetTimer {
  return {
    outcome: isConflict(answer) ? 'conflict' : 'set',
    key: operation.key,
    handle: handleOf(operation),
    dueAt: operation.dueAt,
    revision: answer.outcome === 'set' ? answer.revision : undefined,
  }
}

/** The result of a set that changed nothing, or whose condition failed: it describes the existing timer. */
export function currentTimerOf(outcome: 'set' | 'unchanged' | 'conflict', row: TimerRow): SetTimer {
  return { outcome, key: row.key, handle: handleOf(row), dueAt: dueAtOfRow(row), revision: revisionOf(row) }
}

/** Whether the condition of a set failed. Throws on an answer that a set cannot get. */
export function isConflict(answer: SubmitAnswer): boolean {
  return answer.outcome !== 'set' && outcomeOf(answer, setOutcomes) === 'conflict'
}
