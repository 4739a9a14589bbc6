import type { CallLimit } from '../../async/index.js'
import type { SubmitAnswer, TimerEngine } from '../../engine/index.js'
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
import type { AnyKind } from '../kind/kind.js'
import type { TimerNames } from '../kind/timer-names.js'
import { outcomeOf } from '../outcome.js'
import type { Records } from '../read/records.js'
import { dueAtOfRow } from '../read/timer-view.js'
import type { NamespaceQuota } from '../set/namespace-quota.js'
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

interface EditsParts {
  readonly engine: TimerEngine
  readonly store: Store
  readonly names: TimerNames
  readonly records: Records
  readonly quota: NamespaceQuota
  /** Rejects a payload that a set of this kind would refuse. */
  readonly checkPayload: (kind: AnyKind, payload: unknown) => Promise<void>
  readonly random: () => number
  readonly noted: (event: 'created', facts: { readonly dueAt: number }) => { readonly note?: HistoryNote }
}

/**
 * Changes the payload or the tags of a timer, and nothing else. The quota and the schema of the payload hold as for a
 * set. It replaces the row at its revision, so it never undoes another change. A timer that is nearly due is left alone:
 * it could start before the change arrives, and would then fire twice. Proven by test/front/edits.test.ts.
 */
export class Edits {
  readonly #parts: EditsParts

  constructor(parts: EditsParts) {
    this.#parts = parts
  }

  async edit(
    kind: AnyKind,
    key: string,
    edit: TimerEdit,
    ifRevision: number | undefined,
    limit: CallLimit,
  ): Promise<Edited> {
    checkOptions('edit', edit, ['payload', 'tags'])
    if (edit.payload === undefined && edit.tags === undefined)
      throw new InvalidInputError('invalid-option', 'an edit needs payload or tags')
    const { engine, store, names, records, quota, random, noted } = this.#parts
    if (edit.payload !== undefined) await limit.orNotDone(this.#parts.checkPayload(kind, edit.payload))
    const name = await names.nameOf(kind, key)
    for (;;) {
      const row = await records.row(name)
      const progress = row === undefined ? 'over' : engine.progressOf(row)
      if (row === undefined || progress === 'over') return { outcome: 'unknown' }
      if (ifRevision !== undefined && !isRevisionOf(row, ifRevision)) return { outcome: 'conflict' }
      const isNearlyDue = row.dueAt < engine.clock.now() + EDIT_MARGIN_MS
      if (progress === 'firing' || isNearlyDue) return { outcome: 'firing' }
      const { dueAt, createdAt, attempt, occurrence } = row
      const set: SetRequest = {
        type: 'set',
        namespace: row.namespace,
        kind: row.kind,
        key: row.key,
        identity: newIdentity(random),
        createdAt,
        dueAt,
        position: dueAt,
        attempt,
        occurrence,
        payload: edit.payload === undefined ? row.payload : new PayloadEncoder(1).encode(edit.payload),
        tags: edit.tags ?? row.tags,
        details: changedDetails(freeDetails(row.details)),
        ifRevision: row.revision,
        ...noted('created', { dueAt }),
      }
      checkRequested(set, store.maxPayloadBytes)
      const submit = (): Promise<readonly SubmitAnswer[]> => limit.selfEnding(engine.submit([set], limit))
      const answers = await (quota.isLimited ? quota.within([set], submit, limit) : submit())
      const answer = answers[0]!
      const outcome = outcomeOf(answer, ['set', 'conflict', 'appended'])
      // Somebody else has changed it meanwhile. With a condition, the next round answers 'conflict'.
      if (outcome === 'conflict') continue
      const revision = answer.outcome === 'set' ? answer.revision : undefined
      return { outcome: 'edited', handle: handleOf(set), dueAt: dueAtOfRow(row), revision }
    }
  }
}
