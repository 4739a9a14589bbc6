import { nameText, type Place, type TimerRow } from '../../timer/index.js'
import type {
  HistoryEntry,
  MoveOperation,
  Operation,
  OperationAnswer,
  OwnerWrite,
  Standing,
} from '../store.js'
import { listOf, numberOf, sent } from './answer-row.js'
import { byteaArray, ElementList, int8Array, int8s, textArray } from './binary-array.js'
import type { Row } from './driver.js'
import { tagsOf } from './row-columns.js'
import { operationNumbers, outcomeNumber, outcomes } from './schema-common.js'

/** What is asked for of a write's answer, whoever owns the timers. */
export const writeAnswerColumns = sent([
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

/** What a write's answer does not say of an operation, and has to be known beside it. */
export interface Surroundings {
  /** The revision that an operation gave its row, if it did. */
  readonly revisionOf: (index: number) => number
  readonly settledLevelOf: (index: number) => Place
}

/** A batch of operations as the database takes it, and its answers as it gives them. */
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
   * The parameters from `p_waves` on; `belongs` says of each operation where it belongs. Lists with nothing in them
   * stay away.
   */
  parameters(belongs: Buffer): unknown[] {
    const all = this.#operations
    const waves = this.#waves
    const some = (has: (operation: Operation) => boolean): boolean => all.some(has)
    const hasNotes = some((one) => one.type !== 'answer' && one.note !== undefined)
    const note = (of: (note: { at: number; event: string; details: string }) => string) =>
      textArray(all, (one) => (one.type === 'answer' || one.note === undefined ? null : of(one.note)))
    return [
      this.#waveCount,
      waves === undefined ? null : int8Array(all, (_, index) => waves[index]!),
      belongs,
      int8Array(all, (one) => operationNumbers[one.type]),
      textArray(all, (one) => (one.type === 'answer' ? null : one.namespace)),
      textArray(all, (one) => (one.type === 'answer' ? null : one.kind)),
      textArray(all, (one) => (one.type === 'answer' ? null : one.key)),
      int8Array(all, (one) => (one.type === 'answer' ? null : one.identity)),
      int8Array(all, (one) => (isPlaced(one) ? one.position : null)),
      int8Array(all, (one) => (isPlaced(one) ? one.dueAt : null)),
      int8Array(all, (one) => (isPlaced(one) ? one.attempt : null)),
      int8Array(all, (one) => (one.type === 'set' ? one.occurrence : null)),
      int8Array(all, (one) => (one.type === 'set' ? one.createdAt : null)),
      byteaArray(all, (one) => (one.type === 'set' ? one.payload : null)),
      some((one) => one.type === 'set' && one.tags.length > 0)
        ? textArray(all, (one) =>
            one.type === 'set' && one.tags.length > 0 ? JSON.stringify(one.tags) : null,
          )
        : null,
      textArray(all, (one) => (isPlaced(one) ? one.details : null)),
      some((one) => one.type === 'set' && one.ifAbsent === true)
        ? int8Array(all, (one) => (one.type === 'set' && one.ifAbsent === true ? 1 : null))
        : null,
      some((one) => one.type !== 'answer' && one.ifRevision !== undefined)
        ? int8Array(all, (one) => (one.type === 'answer' ? null : one.ifRevision))
        : null,
      some((one) => one.type === 'set' && one.fromDead !== undefined)
        ? int8Array(all, (one) => (one.type === 'set' ? deadNumber(one.fromDead) : null))
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

  answers(row: Row, { revisionOf, settledLevelOf }: Surroundings): OperationAnswer[] {
    const all = this.#operations
    const answers = new Array<OperationAnswer>(all.length)
    const others = int8s(listOf(row, 'answered'))
    const codes = int8s(listOf(row, 'outcomes'))
    const identities = int8s(listOf(row, 'old_identities'))
    const positions = int8s(listOf(row, 'old_positions'))
    const old = int8s(listOf(row, 'old_revisions'))
    const moved = new MovedRows(row)
    const placeAt = (index: number): Place => ({
      position: (all[index] as MoveOperation).position,
      revision: revisionOf(index),
    })
    for (let i = 0; i < others.length; i++) {
      const index = others[i]! - 1
      const standing = Number.isNaN(identities[i])
        ? undefined
        : { identity: identities[i]!, position: positions[i]!, revision: old[i]! }
      const outcome = outcomes[codes[i]!]!
      if (outcome === 'set') answers[index] = { outcome, place: placeAt(index), replaced: standing }
      else if (outcome === 'moved')
        answers[index] = moved.answer(all[index] as MoveOperation, index, standing!)
      else answers[index] = answerOf(outcome, standing, settledLevelOf(index))
    }
    for (let index = 0; index < all.length; index++) {
      answers[index] ??= { outcome: 'set', place: placeAt(index), replaced: undefined }
    }
    return answers
  }

  /** Revisions by the number of the operation, where every row of them has one of its own. */
  newRevisions(row: Row): readonly number[] {
    const given = int8s(listOf(row, 'new_revisions'))
    const waves = this.#waves
    if (waves === undefined) return [...given]
    const revisions = new Array<number>(given.length)
    // They come wave by wave.
    const order = Array.from(given, (_, index) => index).sort((a, b) => waves[a]! - waves[b]! || a - b)
    for (let i = 0; i < given.length; i++) revisions[order[i]!] = given[i]!
    return revisions
  }
}

function answerOf(
  outcome: Exclude<OperationAnswer['outcome'], 'set' | 'moved'>,
  standing: Standing | undefined,
  settledLevel: Place,
): OperationAnswer {
  switch (outcome) {
    case 'same':
      return { outcome, standing: standing! }
    case 'cancelled':
      return { outcome, removed: standing! }
    case 'conflict':
      return { outcome, standing }
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

/** What moved rows keep, by the number of their operation. */
class MovedRows {
  readonly #row: Row
  readonly #at = new Map<number, number>()

  constructor(row: Row) {
    this.#row = row
    for (const [i, number] of int8s(listOf(row, 'moved_numbers')).entries()) this.#at.set(number - 1, i)
  }

  #columns:
    | {
        readonly revisions: Float64Array
        readonly createdAts: Float64Array
        readonly attempts: Float64Array
        readonly occurrences: Float64Array
        readonly tags: ElementList
        readonly details: ElementList
        readonly payloads: ElementList
      }
    | undefined

  answer(operation: MoveOperation, index: number, from: Standing): OperationAnswer {
    const row = this.#row
    const columns = (this.#columns ??= {
      revisions: int8s(listOf(row, 'moved_revisions')),
      createdAts: int8s(listOf(row, 'moved_created_ats')),
      attempts: int8s(listOf(row, 'moved_attempts')),
      occurrences: int8s(listOf(row, 'moved_occurrences')),
      tags: new ElementList(listOf(row, 'moved_tags')),
      details: new ElementList(listOf(row, 'moved_details')),
      payloads: new ElementList(listOf(row, 'moved_payloads')),
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
      tags: tagsOf(columns.tags.text(i)),
      details: columns.details.text(i),
      dueAt,
      attempt: columns.attempts[i]!,
      occurrence: columns.occurrences[i]!,
      position,
      revision: columns.revisions[i]!,
    }
    return { outcome: 'moved', row: moved, from }
  }
}

/** Operations that could see one another go into different waves, in their order. */
function wavesOf(operations: readonly Operation[]): number[] {
  const next = new Map<string, number>()
  return operations.map((operation) => {
    const things: string[] = []
    if (operation.type !== 'answer') things.push(nameText(operation))
    if (operation.request !== undefined) things.push(`\0r${operation.request}`)
    if (operation.type === 'set' && operation.fromDead !== undefined) things.push(`\0d${operation.fromDead}`)
    const wave = things.reduce((most, thing) => Math.max(most, next.get(thing) ?? 0), 0)
    for (const thing of things) next.set(thing, wave + 1)
    return wave
  })
}

function isPlaced(operation: Operation): operation is Extract<Operation, { readonly position: number }> {
  return operation.type === 'set' || operation.type === 'move'
}

/** A dead letter's number; one that no letter has for what is no number. */
export function deadNumber(id: string | undefined): number | null {
  if (id === undefined) return null
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : -1
}

/** The parameters of history, for every function that writes some. */
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

/** A level among the columns of an answer. */
export function placeOf(row: Row, level: 'read' | 'settled'): Place {
  return { position: numberOf(row, `${level}_position`), revision: numberOf(row, `${level}_revision`) }
}
