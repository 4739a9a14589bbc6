import { nameKey, type Place, type TimerRow } from '../../../timer/index.js'
import type {
  HistoryEntry,
  MoveOperation,
  Operation,
  OperationAnswer,
  OwnerWrite,
  RowVersion,
} from '../../store.js'
import { arrayOf, numberOf, sentArrays } from './answer-row.js'
import { byteaArray, ArrayElements, int8Array, int8Values, textArray } from './binary-array.js'
import type { Row } from '../net/driver.js'
import { tagsOf } from './row-columns.js'
import { operationNumbers, outcomeNumber, outcomes } from '../schema/common.js'

/** The answer columns that `write_owned` and `write_claimed` have in common. */
export const writeAnswerColumns = sentArrays([
  'answered',
  'outcomes',
  'old_identities',
  'old_positions',
  'old_revisions',
  'moved_numbers',
  'moved_revisions',
  'moved_created_ats',
  'moved_attempts',
  'moved_occurrences',
  'moved_tags',
  'moved_details',
  'moved_payloads',
])

/** Values of an operation that the common answer columns do not have. */
export interface BatchContext {
  /** The revision that the operation gave its row, if it wrote one. */
  readonly revisionOf: (index: number) => number
  readonly settledLevelOf: (index: number) => Place
}

/**
 * Encodes a batch of operations for `S.write_owned` and `S.write_claimed`, and decodes the answers.
 *
 * Proven by test/store/postgres/contract.test.ts and test/store/postgres/shared-statements.test.ts.
 */
export class WriteBatch {
  readonly #operations: readonly Operation[]
  readonly #history: readonly HistoryEntry[]
  readonly #waves: readonly number[] | undefined
  readonly #waveCount: number

  constructor(write: OwnerWrite) {
    this.#operations = write.operations
    this.#history = write.history ?? []
    const waves = wavesOf(write.operations)
    this.#waveCount = waves.reduce((most, wave) => Math.max(most, wave + 1), 0)
    this.#waves = this.#waveCount > 1 ? waves : undefined
  }

  /**
   * The parameters from `p_waves` on. `targets` has the group or the shard of each operation. An array that would hold
   * only nulls is sent as null.
   */
  parameters(targets: Buffer): unknown[] {
    const all = this.#operations
    const waves = this.#waves
    const some = (has: (operation: Operation) => boolean): boolean => all.some(has)
    const hasNotes = some((one) => one.type !== 'answer' && one.note !== undefined)
    const note = (of: (note: { at: number; event: string; details: string }) => string) =>
      textArray(all, (one) => (one.type === 'answer' || one.note === undefined ? null : of(one.note)))
    return [
      this.#waveCount,
      waves === undefined ? null : int8Array(all, (_, index) => waves[index]!),
      targets,
      int8Array(all, (one) => operationNumbers[one.type]),
      textArray(all, (one) => (one.type === 'answer' ? null : one.namespace)),
      textArray(all, (one) => (one.type === 'answer' ? null : one.kind)),
      textArray(all, (one) => (one.type === 'answer' ? null : one.key)),
      int8Array(all, (one) => (one.type === 'answer' ? null : one.identity)),
      int8Array(all, (one) => (hasPosition(one) ? one.position : null)),
      int8Array(all, (one) => (hasPosition(one) ? one.dueAt : null)),
      int8Array(all, (one) => (hasPosition(one) ? one.attempt : null)),
      int8Array(all, (one) => (one.type === 'set' ? one.occurrence : null)),
      int8Array(all, (one) => (one.type === 'set' ? one.createdAt : null)),
      byteaArray(all, (one) => (one.type === 'set' ? one.payload : null)),
      some((one) => one.type === 'set' && one.tags.length > 0)
        ? textArray(all, (one) =>
            one.type === 'set' && one.tags.length > 0 ? JSON.stringify(one.tags) : null,
          )
        : null,
      textArray(all, (one) => (hasPosition(one) ? one.details : null)),
      some(isFlagged) ? int8Array(all, (one) => (isFlagged(one) ? 1 : null)) : null,
      some((one) => one.type !== 'answer' && one.ifRevision !== undefined)
        ? int8Array(all, (one) => (one.type === 'answer' ? null : one.ifRevision))
        : null,
      some((one) => one.type === 'set' && one.fromDead !== undefined)
        ? int8Array(all, (one) => (one.type === 'set' ? deadLetterNumber(one.fromDead) : null))
        : null,
      some((one) => one.request !== undefined) ? textArray(all, (one) => one.request) : null,
      some((one) => one.type === 'answer')
        ? int8Array(all, (one) => (one.type === 'answer' ? outcomeNumber(one.outcome) : null))
        : null,
      hasNotes ? int8Array(all, (one) => (one.type === 'answer' ? null : one.note?.at)) : null,
      hasNotes ? note(({ event }) => event) : null,
      hasNotes ? note(({ details }) => details) : null,
      ...historyParameters(this.#history),
    ]
  }

  answers(row: Row, { revisionOf, settledLevelOf }: BatchContext): OperationAnswer[] {
    const all = this.#operations
    const answers = new Array<OperationAnswer>(all.length)
    const answered = int8Values(arrayOf(row, 'answered'))
    const codes = int8Values(arrayOf(row, 'outcomes'))
    const identities = int8Values(arrayOf(row, 'old_identities'))
    const positions = int8Values(arrayOf(row, 'old_positions'))
    const old = int8Values(arrayOf(row, 'old_revisions'))
    const moved = new MovedRows(row)
    const placeAt = (index: number): Place => ({
      position: (all[index] as MoveOperation).position,
      revision: revisionOf(index),
    })
    for (let i = 0; i < answered.length; i++) {
      const index = answered[i]! - 1
      const current = Number.isNaN(identities[i])
        ? undefined
        : { identity: identities[i]!, position: positions[i]!, revision: old[i]! }
      const outcome = outcomes[codes[i]!]!
      if (outcome === 'set') answers[index] = { outcome, place: placeAt(index), replaced: current }
      else if (outcome === 'moved')
        answers[index] = moved.answer(all[index] as MoveOperation, index, current!)
      else answers[index] = answerOf(outcome, current, settledLevelOf(index))
    }
    for (let index = 0; index < all.length; index++) {
      answers[index] ??= { outcome: 'set', place: placeAt(index), replaced: undefined }
    }
    return answers
  }

  /** The new revision of each operation, for `write_claimed`. */
  newRevisions(row: Row): readonly number[] {
    const given = int8Values(arrayOf(row, 'new_revisions'))
    const waves = this.#waves
    if (waves === undefined) return [...given]
    const revisions = new Array<number>(given.length)
    // The database returns them wave by wave.
    const order = Array.from(given, (_, index) => index).sort((a, b) => waves[a]! - waves[b]! || a - b)
    for (let i = 0; i < given.length; i++) revisions[order[i]!] = given[i]!
    return revisions
  }
}

function answerOf(
  outcome: Exclude<OperationAnswer['outcome'], 'set' | 'moved'>,
  current: RowVersion | undefined,
  settledLevel: Place,
): OperationAnswer {
  switch (outcome) {
    case 'same':
      return { outcome, current: current! }
    case 'cancelled':
      return { outcome, removed: current! }
    case 'conflict':
      return { outcome, current }
    case 'below-level':
      return { outcome, settledLevel }
    case 'unknown':
    case 'firing':
    case 'settled':
    case 'answered-before':
    case 'expired':
      return { outcome }
  }
}

/** The columns that moved rows kept, by the index of the operation. */
class MovedRows {
  readonly #row: Row
  readonly #at = new Map<number, number>()

  constructor(row: Row) {
    this.#row = row
    for (const [i, number] of int8Values(arrayOf(row, 'moved_numbers')).entries()) this.#at.set(number - 1, i)
  }

  #columns:
    | {
        readonly revisions: Float64Array
        readonly createdAts: Float64Array
        readonly attempts: Float64Array
        readonly occurrences: Float64Array
        readonly tags: ArrayElements
        readonly details: ArrayElements
        readonly payloads: ArrayElements
      }
    | undefined

  answer(operation: MoveOperation, index: number, from: RowVersion): OperationAnswer {
    const row = this.#row
    const columns = (this.#columns ??= {
      revisions: int8Values(arrayOf(row, 'moved_revisions')),
      createdAts: int8Values(arrayOf(row, 'moved_created_ats')),
      attempts: int8Values(arrayOf(row, 'moved_attempts')),
      occurrences: int8Values(arrayOf(row, 'moved_occurrences')),
      tags: new ArrayElements(arrayOf(row, 'moved_tags')),
      details: new ArrayElements(arrayOf(row, 'moved_details')),
      payloads: new ArrayElements(arrayOf(row, 'moved_payloads')),
    })
    const i = this.#at.get(index)!
    const { namespace, kind, key, dueAt, position } = operation
    const moved: TimerRow = {
      namespace,
      kind,
      key,
      identity: from.identity,
      createdAt: columns.createdAts[i]!,
      payload: columns.payloads.bytes(i),
      tags: tagsOf(columns.tags.string(i)),
      details: columns.details.string(i),
      dueAt,
      attempt: columns.attempts[i]!,
      occurrence: columns.occurrences[i]!,
      position,
      revision: columns.revisions[i]!,
    }
    return { outcome: 'moved', row: moved, from }
  }
}

/** Operations of the same name, request or dead letter depend on each other. They go into different waves, in order. */
function wavesOf(operations: readonly Operation[]): number[] {
  const next = new Map<string, number>()
  return operations.map((operation) => {
    const subjects: string[] = []
    if (operation.type !== 'answer') subjects.push(nameKey(operation))
    if (operation.request !== undefined) subjects.push(`\0r${operation.request}`)
    if (operation.type === 'set' && operation.fromDead !== undefined)
      subjects.push(`\0d${operation.fromDead}`)
    const wave = subjects.reduce((most, subject) => Math.max(most, next.get(subject) ?? 0), 0)
    for (const subject of subjects) next.set(subject, wave + 1)
    return wave
  })
}

function hasPosition(operation: Operation): operation is Extract<Operation, { readonly position: number }> {
  return operation.type === 'set' || operation.type === 'move'
}

/** The number of a dead letter; -1, which no letter has, for a malformed id. */
export function deadLetterNumber(id: string | undefined): number | null {
  if (id === undefined) return null
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : -1
}

/** Encodes history entries as the parameters from `h_namespace` on. */
export function historyParameters(history: readonly HistoryEntry[]): (Buffer | null)[] {
  if (history.length === 0) return [null, null, null, null, null, null, null]
  return [
    textArray(history, (entry) => entry.namespace),
    textArray(history, (entry) => entry.kind),
    textArray(history, (entry) => entry.key),
    int8Array(history, (entry) => entry.identity),
    int8Array(history, (entry) => entry.at),
    textArray(history, (entry) => entry.event),
    textArray(history, (entry) => entry.details),
  ]
}

/** Reads a level from the columns of an answer. */
export function placeOf(row: Row, level: 'read' | 'settled'): Place {
  return { position: numberOf(row, `${level}_position`), revision: numberOf(row, `${level}_revision`) }
}

/** The flag of a set is `ifAbsent`, that of a move is `whileFiring`. */
function isFlagged(operation: Operation): boolean {
  if (operation.type === 'set') return operation.ifAbsent === true
  return operation.type === 'move' && operation.whileFiring === true
}
