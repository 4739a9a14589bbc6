import type { MoveOperation, Operation, RequestedOperation, SetOperation } from '../../store/index.js'
import {
  changedDetails,
  endingDetails,
  isHeld,
  isRecurring,
  isRevisionOf,
  type Place,
  type TimerRow,
} from '../../timer/index.js'
import type { Loader } from '../load/loader.js'
import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'
import type { StartHolds } from './start-holds.js'
import type { Sent, Task } from './task.js'

const { WAITING, STARTED, REPORTED, DONE } = entryState

/**
 * Turns requested operations into those that are sent to the store. A set gets its position (rule 4). A move or cancel
 * keeps its row from starting until the store has answered, or is answered that it is too late.
 *
 * Proven by test/engine/suspects.test.ts and the mutants 'a row can start while its cancel is under way', 'a move of a suspect forgets its attempt'.
 */
export class OperationPlanner {
  readonly #window: Window
  readonly #loader: Loader
  readonly #startHolds: StartHolds

  constructor(window: Window, loader: Loader, startHolds: StartHolds) {
    this.#window = window
    this.#loader = loader
    this.#startHolds = startHolds
  }

  /** Prepares a batch of sets. */
  planSets(batch: readonly Task[]): readonly Sent[] {
    const { floor } = this.#loader
    for (const task of batch) {
      const { asked, request } = task
      if (asked.type === 'set') task.operation = placed(asked, Math.max(asked.dueAt, floor), request)
    }
    return batch as readonly Sent[]
  }

  /** Prepares a batch, given the current row of each operation. Those that need no write are answered here. */
  plan(batch: readonly Task[], rows: readonly (TimerRow | undefined)[]): Sent[] {
    const sent: Sent[] = []
    for (let index = 0; index < batch.length; index++) {
      const task = batch[index]!
      const row = rows[index]
      task.operation = this.#operationFor(task, row)
      if (task.operation === undefined) continue
      if (task.asked.type === 'set') {
        sent.push(task as Sent)
        continue
      }
      task.held = row
      if (row !== undefined) this.#startHolds.hold(row.revision)
      sent.push(task as Sent)
    }
    return sent
  }

  /** Whether an attempt at the row has ended, and the next settlement writes its follow-up. */
  isReported({ asked }: Task, row: TimerRow | undefined): boolean {
    return row !== undefined && asked.type !== 'set' && this.#stateOf(row) === REPORTED
  }

  /** The answer to a move or cancel that changes nothing, because its row has started or is done; undefined otherwise. */
  tooLate({ asked }: Task, row: TimerRow | undefined): 'firing' | 'settled' | undefined {
    if (row === undefined || asked.type === 'set' || !isMeant(asked, row)) return undefined
    if (this.#isFiring(row)) return isEnded(asked, row) ? undefined : 'firing'
    return this.#stateOf(row) === DONE ? 'settled' : undefined
  }

  #isFiring(row: TimerRow): boolean {
    // Another process may run the attempt, whether the row is in memory here or not.
    return isHeld(row) || this.#stateOf(row) === STARTED
  }

  /** The operation to send for a task; undefined when it was answered without one. */
  #operationFor(task: Task, row: TimerRow | undefined): Operation | undefined {
    const { asked, request } = task
    if (asked.type === 'set') {
      // Most sets have no condition: they are not copied for one.
      const set = asked.ifRevision === undefined ? asked : { ...asked, ...conditionFor(asked, row) }
      return placed(set, Math.max(asked.dueAt, this.#loader.floor), request)
    }
    const named = request === undefined ? {} : { request }
    const tooLate = this.tooLate(task, row)
    if (tooLate !== undefined) {
      if (request !== undefined) return { type: 'answer', request, outcome: tooLate }
      task.answer({ outcome: tooLate })
      return undefined
    }
    if (asked.type === 'cancel') {
      if (row === undefined || !isMeant(asked, row) || !this.#isFiring(row))
        return { ...asked, ...named, ...conditionFor(asked, row) }
      return { ...ending(asked, row), ...named, ...conditionFor(asked, row) }
    }
    const position = Math.max(asked.dueAt, this.#loader.floor)
    const suspicion = this.#suspicion(row)
    return {
      ...asked,
      ...named,
      ...suspicion,
      ...conditionFor(asked, row),
      ...detailsFor(asked, row),
      position,
    }
  }

  /** A move must not forget an attempt that an earlier owner may have made. */
  #suspicion(row: TimerRow | undefined): { readonly attempt?: number } {
    const isSuspect = row !== undefined && this.#window.find(row) < 0 && this.#loader.isSuspect(row)
    return isSuspect ? { attempt: row.attempt + 1 } : {}
  }

  #stateOf(row: Place): number {
    const token = this.#window.find(row)
    return token < 0 ? WAITING : this.#window.state(token)
  }
}

/** Whether the operation ends a timer that is firing: a cancel of a recurring one does. */
function isEnded({ type }: RequestedOperation, row: TimerRow): boolean {
  return type === 'cancel' && isRecurring(row)
}

/**
 * Cancels a recurring timer that is firing. The row stays where it is and says which attempt is the last one. So it
 * is still a suspect if this owner is lost, and its holder still reports on it.
 */
function ending(
  cancel: Extract<RequestedOperation, { readonly type: 'cancel' }>,
  row: TimerRow,
): MoveOperation {
  const { note, ...asked } = cancel
  const { dueAt, position } = row
  const noted = note && { note: { ...note, event: 'ending' } }
  return { ...asked, type: 'move', dueAt, position, details: endingDetails(row), ...noted }
}

function isMeant(operation: RequestedOperation, row: TimerRow): boolean {
  const { identity, ifRevision } = operation
  return (
    (identity === undefined || identity === row.identity) &&
    (ifRevision === undefined || isRevisionOf(row, ifRevision))
  )
}

/** The condition for the store, which knows only the revision of the row itself. */
function conditionFor(
  { ifRevision }: RequestedOperation,
  row: TimerRow | undefined,
): { readonly ifRevision?: number } {
  const isOther = ifRevision !== undefined && row !== undefined && ifRevision !== row.revision
  return isOther && isRevisionOf(row, ifRevision) ? { ifRevision: row.revision } : {}
}

/** A moved timer gets a new revision, so its details must not keep the one before. */
function detailsFor(
  { details }: { readonly details?: string },
  row: TimerRow | undefined,
): { readonly details?: string } {
  const given = details ?? row?.details ?? ''
  const changed = changedDetails(given)
  return changed === given ? {} : { details: changed }
}

/** A set with its position. A set that has just that position already is sent as it is. */
function placed(
  set: Extract<RequestedOperation, { readonly type: 'set' }>,
  position: number,
  request: string | undefined,
): SetOperation {
  if (isPlaced(set, position) && request === undefined) return set
  return { ...set, position, ...(request !== undefined && { request }) }
}

function isPlaced(set: object, position: number): set is SetOperation {
  return 'position' in set && set.position === position
}
