import { checkOptions, checkInteger, InvalidInputError } from '../../error/index.js'
import type { HistoryNote, RequestedOperation } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { callOptionNames } from '../call/calls.js'
import { type HistoryPolicy, noteOf, type TimerEvent } from '../read/history-policy.js'
import type { Named } from '../kind/timer-names.js'
import { dueAtOf, type When } from '../when.js'

interface Condition {
  readonly ifRevision?: number
}

/** Builds the engine's operations for moves and cancels, with their notes for the history. */
export class Operations {
  readonly #clock: Clock
  readonly #history: HistoryPolicy

  constructor(clock: Clock, history: HistoryPolicy) {
    this.#clock = clock
    this.#history = history
  }

  move(name: Named, dueAt: number, condition: Condition = {}): RequestedOperation {
    return { type: 'move', ...name, dueAt, ...conditionOf(condition), ...this.noted('moved', { dueAt }) }
  }

  cancel(name: Named, condition: Condition = {}): RequestedOperation {
    return { type: 'cancel', ...name, ...conditionOf(condition), ...this.noted('cancelled', {}) }
  }

  /** The due time for a move. */
  dueAt(when: When | undefined): number {
    if (when === undefined)
      throw new InvalidInputError('invalid-when', 'missing due time: pass { in } or { at }')
    if (when.on !== undefined) throw noScheduleInMove()
    return dueAtOf(when, this.#clock.now(), '')
  }

  noted(event: TimerEvent['event'], facts: { readonly dueAt?: number }): { readonly note?: HistoryNote } {
    return this.#history === 'all' ? { note: noteOf(this.#clock.now(), event, facts) } : {}
  }
}

export function noScheduleInMove(): InvalidInputError {
  return new InvalidInputError(
    'invalid-when',
    'a move takes `in` or `at`: set the timer again to give it a schedule',
  )
}

function conditionOf(condition: Condition): Condition {
  checkOptions('a change', condition, ['ifRevision', ...callOptionNames])
  const { ifRevision } = condition
  if (ifRevision === undefined) return {}
  checkInteger('ifRevision', ifRevision, 0)
  return { ifRevision }
}
