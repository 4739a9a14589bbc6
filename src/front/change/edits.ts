import type { CallLimit } from '../../async/index.js'
import type { TimerEngine } from '../../engine/index.js'
import { checkOptions, InvalidInputError } from '../../error/index.js'
import { checkRequested, type HistoryNote, type Store } from '../../store/index.js'
import {
  changedDetails,
  freeDetails,
  handleOf,
  isRevisionOf,
  newIdentity,
  PayloadEncoder,
  type TimerHandle,
} from '../../timer/index.js'
import { EDIT_MARGIN_MS } from '../defaults.js'
import type { Named } from '../kind/timer-names.js'
import { outcomeOf } from '../outcome.js'
import type { Records } from '../read/records.js'
import { dueAtOfRow } from '../read/timer-view.js'
import type { SetRequest } from '../set/set-request.js'

/** What to change of a timer. What is absent stays as it is. */
export interface TimerEdit {
  readonly payload?: unknown
  readonly tags?: readonly string[]
}

/**
 * 'firing': an attempt runs, or the timer is due within five seconds; nothing was changed. 'conflict': the timer has
 * another revision. An edited timer has a new handle.
 */
export type Edited =
  | {
      readonly outcome: 'edited'
      readonly handle: TimerHandle
      readonly dueAt: number
      readonly revision: number | undefined
    }
  | { readonly outcome: 'firing' | 'unknown' | 'conflict' }

/**
 * Changes the payload or the tags of a timer, and nothing else. It replaces the row at its revision, so it never undoes
 * another change. A timer that is nearly due is left alone: it could start before the change arrives, and would then
 * fire twice. Proven by test/front/edits.test.ts.
 */
export class Edits {
  readonly #engine: TimerEngine
  readonly #store: Store
  readonly #records: Records
  readonly #random: () => number
  readonly #noted: (event: 'created', facts: { readonly dueAt: number }) => { readonly note?: HistoryNote }

  constructor(parts: {
    engine: TimerEngine
    store: Store
    records: Records
    random: () => number
    noted: (event: 'created', facts: { readonly dueAt: number }) => { readonly note?: HistoryNote }
  }) {
    this.#engine = parts.engine
    this.#store = parts.store
    this.#records = parts.records
    this.#random = parts.random
    this.#noted = parts.noted
  }

  async edit(
    name: Named,
    edit: TimerEdit,
    ifRevision: number | undefined,
    limit: CallLimit,
  ): Promise<Edited> {
    checkOptions('edit', edit, ['payload', 'tags'])
    if (edit.payload === undefined && edit.tags === undefined)
      throw new InvalidInputError('invalid-option', 'an edit needs payload or tags')
    for (;;) {
      const row = await this.#records.row(name)
      const progress = row === undefined ? 'over' : this.#engine.progressOf(row)
      if (row === undefined || progress === 'over') return { outcome: 'unknown' }
      if (ifRevision !== undefined && !isRevisionOf(row, ifRevision)) return { outcome: 'conflict' }
      const isNearlyDue = row.dueAt < this.#engine.clock.now() + EDIT_MARGIN_MS
      if (progress === 'firing' || isNearlyDue) return { outcome: 'firing' }
      const { namespace, kind, key, dueAt, createdAt, attempt, occurrence } = row
      const set: SetRequest = {
        type: 'set',
        namespace,
        kind,
        key,
        identity: newIdentity(this.#random),
        createdAt,
        dueAt,
        position: dueAt,
        attempt,
        occurrence,
        payload: edit.payload === undefined ? row.payload : new PayloadEncoder(1).encode(edit.payload),
        tags: edit.tags ?? row.tags,
        details: changedDetails(freeDetails(row.details)),
        ifRevision: row.revision,
        ...this.#noted('created', { dueAt }),
      }
      checkRequested(set, this.#store.maxPayloadBytes)
      const answers = await limit.selfEnding(this.#engine.submit([set], limit))
      const answer = answers[0]!
      const outcome = outcomeOf(answer, ['set', 'conflict', 'appended'])
      // Somebody else has changed it meanwhile. With a condition, the next round answers 'conflict'.
      if (outcome === 'conflict') continue
      const revision = answer.outcome === 'set' ? answer.revision : undefined
      return { outcome: 'edited', handle: handleOf(set), dueAt: dueAtOfRow(row), revision }
    }
  }
}
