import { StoreError } from '../../error/index.js'
import type { Operation, OperationAnswer, SetColumnsWrite, SetOperation } from '../../store/index.js'
import { isBefore, ownBytes, type Place, type TimerName, type TimerRow } from '../../timer/index.js'
import type { Attempts } from '../fire/attempts.js'
import type { Loader } from '../load/loader.js'
import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'
import type { SweepPlanner } from '../settle/sweep-planner.js'
import type { InboxHolds } from './inbox-holds.js'
import type { PlainTask, Sent } from './task.js'

const { DONE } = entryState

/**
 * Brings memory in line with what a write has changed in the store, and answers its callers. A new row below the read
 * level is kept in memory; any other will be loaded (rule 4). A row that was replaced, moved or cancelled is dropped.
 *
 * Proven by test/engine/set-columns.test.ts and the mutants 'a new row below the read level is not kept in memory', 'a plain set below the read level is not kept in memory'.
 */
export class MemoryUpdater {
  readonly #window: Window
  readonly #loader: Loader
  readonly #sweepPlanner: SweepPlanner
  readonly #inboxHolds: InboxHolds
  readonly #attempts: Attempts

  constructor(parts: {
    window: Window
    loader: Loader
    sweepPlanner: SweepPlanner
    inboxHolds: InboxHolds
    attempts: Attempts
  }) {
    this.#window = parts.window
    this.#loader = parts.loader
    this.#sweepPlanner = parts.sweepPlanner
    this.#inboxHolds = parts.inboxHolds
    this.#attempts = parts.attempts
  }

  /** Set columns were written, and all of them were new timers. */
  applyNewColumns(
    { mayPassInbox }: PlainTask,
    { sets, indexes, positions, leastPosition }: SetColumnsWrite,
    newFrom: number,
    readLevel: Place,
  ): void {
    if (mayPassInbox) {
      for (let at = 0; at < indexes.length; at++) this.#inboxHolds.hold(sets.name(indexes[at]!))
    }
    if (leastPosition > readLevel.position) {
      this.#loader.loadBy(leastPosition)
      return
    }
    for (let at = 0; at < indexes.length; at++) {
      const place = { position: positions[at]!, revision: newFrom + at }
      if (isBefore(place, readLevel)) this.#window.addRow(sets.row(indexes[at]!, place))
      else this.#loader.loadBy(place.position)
    }
  }

  /** A batch was written, and all of it were sets of new timers. Few rows of a large batch are kept in memory. */
  applyNew(batch: readonly Sent[], newFrom: number, readLevel: Place): void {
    for (let index = 0; index < batch.length; index++) {
      const task = batch[index]!
      const revision = newFrom + index
      const set = task.operation as SetOperation
      if (set.position > readLevel.position) this.#loader.loadBy(set.position)
      else this.#keepSet(set, { position: set.position, revision }, readLevel)
      if (task.mayPassInbox) this.#inboxHolds.hold(set)
      task.answer({ outcome: 'set', revision, replaced: undefined })
    }
  }

  /** One operation was carried out. */
  apply(task: Sent, result: OperationAnswer, readLevel: Place): void {
    const { operation } = task
    switch (result.outcome) {
      case 'set':
        if (result.replaced !== undefined) this.#dropReplaced(result.replaced, payloadBytesOf(operation))
        if (operation.type === 'set') {
          this.#keepSet(operation, result.place, readLevel)
          if (task.mayPassInbox) this.#inboxHolds.hold(operation)
        }
        task.answer({ outcome: 'set', revision: result.place.revision, replaced: result.replaced })
        return
      case 'same':
        if (operation.type === 'set') this.#keepSet(operation, result.current, readLevel)
        task.answer({ outcome: 'set', revision: result.current.revision, replaced: undefined })
        return
      case 'moved':
        if (task.asked.type === 'cancel') {
          this.#end(result, readLevel)
          task.answer({ outcome: 'ending' })
          return
        }
        this.#dropReplaced(result.from, result.row.payload.length)
        this.#loader.keep(result.row, readLevel)
        task.answer({ outcome: 'moved', revision: result.row.revision })
        return
      case 'cancelled':
        this.#dropReplaced(result.removed, 0)
        task.answer({ outcome: 'cancelled' })
        return
      case 'conflict':
        task.answer({ outcome: 'conflict', current: result.current })
        return
      case 'unknown':
      case 'firing':
      case 'settled':
        task.answer({ outcome: result.outcome })
        return
      case 'answered-before':
      case 'expired':
        task.answer({ outcome: 'unknown' })
        return
      case 'below-level':
        throw new StoreError('invalid-level', 'an operation below the level is sent again, not applied')
    }
  }

  /** A recurring timer was cancelled while it fires. An attempt that is under way goes on with the rewritten row. */
  #end({ from, row }: Extract<OperationAnswer, { readonly outcome: 'moved' }>, readLevel: Place): void {
    const token = this.#window.find(from)
    const attempt = token < 0 ? undefined : this.#window.page(token).attempts[this.#window.index(token)]
    this.#sweepPlanner.leftBehind(row.payload.length)
    if (attempt === undefined) {
      // The attempt was done while the write was on its way, or its row is not due here yet.
      const isDone = token >= 0 && this.#window.state(token) === DONE
      this.#drop(from)
      if (isDone) this.#window.addRow(row, DONE)
      else this.#loader.keep(row, readLevel)
      return
    }
    this.#attempts.rewrite(attempt, row)
  }

  /** Drops every version of a timer that is older than `revision`. Looks at every row in memory: for rare cases. */
  dropOlder(name: TimerName, revision: number): void {
    for (const place of this.#window.versionsOf(name, revision)) this.#drop(place)
  }

  #keepSet(set: SetOperation, place: Place, readLevel: Place): void {
    if (isBefore(place, readLevel)) this.#window.addRow(rowOf(set, place))
    else this.#loader.loadBy(place.position)
  }

  /** A write has replaced or removed this version of a row. Its bytes stay in the store until the next sweep. */
  #dropReplaced(place: Place, payloadBytes: number): void {
    this.#sweepPlanner.leftBehind(payloadBytes)
    this.#drop(place)
  }

  /** Drops one version of a row. An attempt at it that is under way goes on, but nothing follows from it. */
  #drop(place: Place): void {
    const token = this.#window.find(place)
    if (token < 0) return
    const attempt = this.#window.page(token).attempts[this.#window.index(token)]
    if (attempt !== undefined) attempt.isSuperseded = true
    this.#window.remove(token)
  }
}

function payloadBytesOf(operation: Operation): number {
  return operation.type === 'set' ? operation.payload.length : 0
}

// Written out field by field: a spread costs several times as much.
function rowOf(set: SetOperation, place: Place): TimerRow {
  return {
    namespace: set.namespace,
    kind: set.kind,
    key: set.key,
    identity: set.identity,
    createdAt: set.createdAt,
    payload: ownBytes(set.payload),
    tags: set.tags,
    details: set.details,
    dueAt: set.dueAt,
    attempt: set.attempt,
    occurrence: set.occurrence,
    position: place.position,
    revision: place.revision,
  }
}
