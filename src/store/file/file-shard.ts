import type { Place, TimerName, TimerRow } from '../../timer/index.js'
import {
  checkFence,
  checkInbox,
  checkReadLevel,
  checkSettlement,
  acquired,
  lowered,
  newShardRow,
  refenced,
  released,
  renewed,
  settled,
} from '../shard-row.js'
import type {
  CancelOperation,
  Counts,
  DeadAnswer,
  Fence,
  FollowUp,
  Loaded,
  LoadRequest,
  MoveOperation,
  NewDeadLetter,
  Operation,
  OperationAnswer,
  OwnerWrite,
  SetOperation,
  SettleAnswer,
  Settlement,
  AcquireRequest,
  ShardRow,
  RowVersion,
  WriteAnswer,
  InboxRequest,
  RequestedOperation,
} from '../store.js'
import { SetColumnsWrite } from '../set-columns.js'
import type { Batch } from './lmdb/batch.js'
import type { Environment } from './lmdb/environment.js'
import { FileInbox } from './file-inbox.js'
import type { RowReader } from './read/row-reader.js'
import type { RowTable } from './rows/row-table.js'
import { WriteAnswers } from '../write-answers.js'

type Counters = { -readonly [Name in keyof Counts]: number }

type RemoveDead = (id: string) => boolean

interface ShardState {
  readonly row: ShardRow
  readonly counts: Counts
  readonly lastRevision: number
}

/**
 * One shard, with the rules of docs/protocol.md. Each method either throws before it has changed anything, or carries
 * out everything, in memory and in the batch. A batch that changes the shard also writes its shard row.
 *
 * Proven by the store contract and its random model, which test/store/file/contract.test.ts runs.
 */
export class FileShard {
  readonly inbox: FileInbox
  readonly #table: RowTable
  readonly #reader: RowReader
  readonly #key: Buffer
  #row: ShardRow
  #counts: Counters = { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
  #lastRevision = 0
  // The row as it was read, if its owner is dead.
  #rowOfDead: ShardRow | undefined

  constructor(shard: number, table: RowTable, reader: RowReader) {
    this.#table = table
    this.#reader = reader
    this.#key = Buffer.from(`shard:${shard}`)
    this.inbox = new FileInbox(shard)
    this.#row = newShardRow(shard)
  }

  /** Reads the shard's state from the file. If its owner is known to be dead, the lease is over by `now`. */
  restore(environment: Environment, isOwnerDead: boolean, now: number): void {
    const text = environment.getMeta(this.#key.toString())
    if (text === undefined) return
    const state = JSON.parse(text) as ShardState
    // A file of an older version may lack fields: they get the values of a new shard.
    const row = { ...this.#row, ...state.row }
    this.#row = isOwnerDead ? endedBy(row, now) : row
    if (isOwnerDead) this.#rowOfDead = this.#row
    this.#counts = { ...state.counts }
    this.#lastRevision = state.lastRevision
  }

  get row(): ShardRow {
    return this.#row
  }

  get counts(): Counts {
    return this.#counts
  }

  acquire(batch: Batch, request: AcquireRequest, now: number): ShardRow | undefined {
    // The clock may have been set back since the file was opened.
    const before = this.#row === this.#rowOfDead ? endedBy(this.#row, now) : this.#row
    const row = acquired(before, request, now, this.#lastRevision)
    return row && this.#put(batch, row)
  }

  renew(batch: Batch, fence: Fence, leaseMs: number, now: number): ShardRow {
    return this.#put(batch, renewed(this.#row, fence, leaseMs, now))
  }

  refence(batch: Batch, fence: Fence, nonce: number, leaseMs: number, now: number): ShardRow {
    return this.#put(batch, refenced(this.#row, fence, nonce, leaseMs, now))
  }

  release(batch: Batch, fence: Fence): void {
    this.#put(batch, released(this.#row, fence))
  }

  load(batch: Batch, fence: Fence, request: LoadRequest): Loaded {
    this.checkFence(fence)
    checkReadLevel(this.#row, request.from)
    this.#touch(batch)
    this.#table.seal()
    const loaded = this.#reader.load(this.#row.readLevel, request)
    this.#row = { ...this.#row, readLevel: loaded.readLevel }
    return loaded
  }

  lower(batch: Batch, fence: Fence, from: Place, to: Place): void {
    this.#put(batch, lowered(this.#row, fence, from, to))
  }

  /** `removeDead` removes a dead letter and returns whether it was there. */
  write(batch: Batch, fence: Fence, write: OwnerWrite, now: number, removeDead: RemoveDead): WriteAnswer {
    this.checkFence(fence)
    if (write.ifInboxEmpty === true) checkInbox(this.#row, this.inbox.isEmpty)
    this.#touch(batch)
    if (write instanceof SetColumnsWrite) return this.#writeColumns(batch, write, now, removeDead)
    const { operations } = write
    const answers = new WriteAnswers(operations.length, this.#row.readLevel)
    const { settledLevel, shard } = this.#row
    const table = this.#table
    for (let i = 0; i < operations.length; i++) {
      const operation = operations[i]!
      const isPlainSet =
        operation.type === 'set' &&
        operation.request === undefined &&
        operation.ifRevision === undefined &&
        operation.fromDead === undefined
      // The fast path, for nearly all operations: a new name, above the settled level.
      if (isPlainSet && operation.position >= settledLevel.position && !table.find(operation, settledLevel)) {
        const revision = ++this.#lastRevision
        this.#counts.created++
        table.put(shard, operation, operation, operation.position, revision, now)
        answers.putNew(i, operation.position, revision)
      } else answers.put(i, this.#apply(batch, operation, now, removeDead))
    }
    return answers
  }

  /** Writes plain sets from their columns. Only a set that replaces a timer, or is below the level, becomes an operation. */
  #writeColumns(
    batch: Batch,
    { sets, indexes, positions }: SetColumnsWrite,
    now: number,
    removeDead: RemoveDead,
  ): WriteAnswer {
    const answers = new WriteAnswers(indexes.length, this.#row.readLevel)
    const { settledLevel, shard } = this.#row
    const table = this.#table
    const name = { namespace: sets.namespace, kind: sets.kind, key: '' }
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at]!
      const position = positions[at]!
      name.key = sets.keys[index]!
      if (position >= settledLevel.position && !table.find(name, settledLevel)) {
        const revision = ++this.#lastRevision
        this.#counts.created++
        table.putPlain(shard, sets, index, position, revision, now)
        answers.putNew(at, position, revision)
      } else answers.put(at, this.#apply(batch, sets.operation(index, position), now, removeDead))
    }
    return answers
  }

  /** Whether a set waits, while no other of its name does and no timer has its name. */
  isFree({ id, operation }: InboxRequest<RequestedOperation>): boolean {
    const isAlone = this.inbox.get(id) !== undefined && this.inbox.countOf(operation) === 1
    return isAlone && !this.#table.find(operation, this.#row.settledLevel)
  }

  /** `addDead` stores a dead letter. */
  settle(
    batch: Batch,
    fence: Fence,
    settlement: Settlement,
    now: number,
    addDead: (letter: NewDeadLetter) => void,
  ): SettleAnswer {
    this.checkFence(fence)
    checkSettlement(this.#row, settlement, now, this.#lastRevision)
    this.#touch(batch)
    const counts = this.#counts
    const { level } = settlement
    for (const done of settlement.done) {
      if (!this.#findExactly(done)) continue
      counts.settled++
      if (level.position > 0) this.#keepFinished(level, now)
      else this.#remove()
    }
    const dead = settlement.dead.map((letter): DeadAnswer => {
      if (!this.#findExactly(letter.row)) return { kept: false, next: undefined }
      addDead({ row: this.#table.row(), diedAt: letter.diedAt, reason: letter.reason })
      // A recurring timer goes on with its next occurrence, so it does not count as dead.
      if (letter.next !== undefined) return { kept: true, next: this.#follow(letter.next, now) }
      this.#remove()
      counts.dead++
      return { kept: true, next: undefined }
    })
    const followUps = settlement.followUps.map((followUp) =>
      this.#findExactly(followUp.row) ? this.#follow(followUp, now) : undefined,
    )
    counts.settled += settlement.settledCount
    this.#row = settled(this.#row, settlement)
    return { followUps, dead, readLevel: this.#row.readLevel }
  }

  checkFence(fence: Fence): void {
    checkFence(this.#row, fence)
  }

  /** Replaces the shard row, in memory and in the batch. */
  #put(batch: Batch, row: ShardRow): ShardRow {
    if (row !== this.#row) {
      this.#touch(batch)
      this.#row = row
    }
    return row
  }

  #apply(batch: Batch, operation: Operation, now: number, removeDead: RemoveDead): OperationAnswer {
    if (operation.request === undefined) return this.#change(operation, now, removeDead)
    const request = this.inbox.get(operation.request)
    if (request === undefined) return { outcome: 'answered-before' }
    const isLate = operation.type !== 'set' && request.deadline <= now
    const answer: OperationAnswer = isLate ? { outcome: 'expired' } : this.#change(operation, now, removeDead)
    // After `below-level` the owner sends the request again with a later position, so it stays in the inbox.
    if (answer.outcome !== 'below-level') this.inbox.answer(batch, request, answer.outcome)
    return answer
  }

  #change(operation: Operation, now: number, removeDead: RemoveDead): OperationAnswer {
    switch (operation.type) {
      case 'set':
        return this.#set(operation, now, removeDead)
      case 'answer':
        return { outcome: operation.outcome }
      case 'move':
      case 'cancel':
        return this.#moveOrCancel(operation, now)
    }
  }

  #set(set: SetOperation, now: number, removeDead: RemoveDead): OperationAnswer {
    const table = this.#table
    const isThere = table.find(set, this.#row.settledLevel)
    let replaced: RowVersion | undefined
    if (isThere) {
      const current = this.#foundVersion()
      if (current.identity === set.identity) return { outcome: 'same', current }
      if (set.ifAbsent === true) return { outcome: 'conflict', current }
      if (set.ifRevision !== undefined && set.ifRevision !== current.revision)
        return { outcome: 'conflict', current }
      replaced = current
    } else if (set.ifRevision !== undefined) return { outcome: 'conflict', current: undefined }
    const { position } = set
    if (position < this.#row.settledLevel.position) return this.#belowLevel()
    if (set.fromDead !== undefined) {
      if (!removeDead(set.fromDead)) return { outcome: 'unknown' }
      // Removing the dead letter may have moved the table's cursor.
      if (isThere) table.find(set, this.#row.settledLevel)
    }
    if (isThere) {
      table.kill()
      this.#counts.replaced++
    }
    this.#counts.created++
    const revision = ++this.#lastRevision
    table.put(this.#row.shard, set, set, position, revision, now)
    return { outcome: 'set', place: { position, revision }, replaced }
  }

  #moveOrCancel(operation: MoveOperation | CancelOperation, now: number): OperationAnswer {
    const table = this.#table
    if (!table.find(operation, this.#row.settledLevel)) return { outcome: 'unknown' }
    const current = this.#foundVersion()
    if (operation.identity !== undefined && operation.identity !== current.identity)
      return { outcome: 'unknown' }
    if (operation.ifRevision !== undefined && operation.ifRevision !== current.revision)
      return { outcome: 'conflict', current }
    if (operation.type === 'cancel') {
      this.#remove()
      this.#counts.cancelled++
      return { outcome: 'cancelled', removed: current }
    }
    if (operation.position < this.#row.settledLevel.position) return this.#belowLevel()
    const found = table.row()
    const row = operation.details === undefined ? found : { ...found, details: operation.details }
    table.kill()
    const moved = this.#rewrite(
      row,
      operation.position,
      operation.dueAt,
      operation.attempt ?? row.attempt,
      row.occurrence,
      now,
    )
    return {
      outcome: 'moved',
      row: moved,
      from: { position: current.position, revision: current.revision },
    }
  }

  /** Moves the row at the table's cursor to where its timer goes on. */
  #follow(progress: Omit<FollowUp, 'row'>, now: number): TimerRow {
    const row = this.#table.row()
    this.#table.kill()
    const { position, dueAt, attempt, occurrence, details = row.details } = progress
    return this.#rewrite({ ...row, details }, position, dueAt, attempt, occurrence, now)
  }

  /** Writes the row just found at another place. The old version is removed, or about to be below the settled level. */
  #rewrite(
    row: TimerRow,
    position: number,
    dueAt: number,
    attempt: number,
    occurrence: number,
    now: number,
  ): TimerRow {
    const revision = ++this.#lastRevision
    const rewritten = { ...row, dueAt, attempt, occurrence, position, revision }
    this.#table.put(this.#row.shard, rewritten, rewritten, position, revision, now)
    return rewritten
  }

  /** Finds the row of this name. Returns true if it is this very version. */
  #findExactly(row: TimerName & Place): boolean {
    return this.#table.find(row, this.#row.settledLevel) && this.#table.revision === row.revision
  }

  #foundVersion(): RowVersion {
    const { position, revision } = this.#table
    return { position, revision, identity: this.#table.identity() }
  }

  /**
   * Removes the row at the table's cursor. Below the settled level it needs a removal record, too: without one it would
   * count as finished after the store is opened again.
   */
  #remove(): void {
    this.#table.kill()
    this.#table.forgetName()
  }

  /** Puts the finished row at the table's cursor just below the coming settled level. */
  #keepFinished(level: Place, now: number): void {
    const row = this.#table.row()
    this.#table.kill()
    this.#rewrite(row, level.position - 1, row.dueAt, row.attempt, row.occurrence, now)
  }

  #belowLevel(): OperationAnswer {
    return { outcome: 'below-level', settledLevel: this.#row.settledLevel }
  }

  /** Adds the shard's record to the batch, and restores it if the batch fails. */
  #touch(batch: Batch): void {
    this.#table.join(batch)
    if (!batch.touch(this)) return
    const row = this.#row
    const counts = { ...this.#counts }
    const lastRevision = this.#lastRevision
    batch.onUndo(() => {
      this.#row = row
      this.#counts = counts
      this.#lastRevision = lastRevision
    })
    batch.onSeal(() => {
      const state: ShardState = { row: this.#row, counts: this.#counts, lastRevision: this.#lastRevision }
      batch.put('meta', this.#key, Buffer.from(JSON.stringify(state)))
    })
  }
}

/** The row with a lease that is over by `now`. */
function endedBy(row: ShardRow, now: number): ShardRow {
  return { ...row, leaseUntil: Math.min(row.leaseUntil, now) }
}
