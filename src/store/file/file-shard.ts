import { isBefore, type Place, type TimerName, type TimerRow } from '../../timer/index.js'
import {
  checkFence,
  checkInbox,
  checkReadLevel,
  checkSettlement,
  claimed,
  lowered,
  newShardRow,
  refenced,
  released,
  renewed,
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
  ShardClaim,
  ShardRow,
  Standing,
  WriteAnswer,
} from '../store.js'
import type { Batch } from './batch.js'
import type { Environment } from './environment.js'
import { FileInbox } from './file-inbox.js'
import type { RowReader } from './row-reader.js'
import type { RowTable } from './row-table.js'
import { WriteAnswers } from './write-answers.js'

type Counters = { -readonly [Name in keyof Counts]: number }

interface ShardState {
  readonly row: ShardRow
  readonly counts: Counts
  readonly lastRevision: number
}

/**
 * One shard with the rules of the protocol. Each method either throws before it has changed anything or carries
 * out all of it, in memory and in the batch. The shard's own record goes with every batch that touches it.
 */
export class FileShard {
  readonly inbox: FileInbox
  readonly #table: RowTable
  readonly #reader: RowReader
  readonly #key: Buffer
  #exhume: (id: string) => boolean = () => false
  #row: ShardRow
  #counts: Counters = { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
  #lastRevision = 0

  constructor(shard: number, table: RowTable, reader: RowReader) {
    this.#table = table
    this.#reader = reader
    this.#key = Buffer.from(`shard:${shard}`)
    this.inbox = new FileInbox(shard)
    this.#row = newShardRow(shard)
  }

  /** Takes over what the file has of it. The lease of an owner that is known to be dead is over. */
  restore(environment: Environment, isOwnerDead: boolean): void {
    const text = environment.getMeta(this.#key.toString())
    if (text === undefined) return
    const state = JSON.parse(text) as ShardState
    this.#row = isOwnerDead ? { ...state.row, leaseUntil: 0 } : state.row
    this.#counts = { ...state.counts }
    this.#lastRevision = state.lastRevision
  }

  get row(): ShardRow {
    return this.#row
  }

  get counts(): Counts {
    return this.#counts
  }

  claim(batch: Batch, claim: ShardClaim, now: number): ShardRow | undefined {
    const row = claimed(this.#row, claim, now, this.#lastRevision)
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

  /** `exhume` takes a dead letter away, and answers whether it was there. */
  write(
    batch: Batch,
    fence: Fence,
    { operations, ifInboxEmpty }: OwnerWrite,
    now: number,
    exhume: (id: string) => boolean,
  ): WriteAnswer {
    this.checkFence(fence)
    if (ifInboxEmpty === true) checkInbox(this.#row, this.inbox.isEmpty)
    this.#touch(batch)
    this.#exhume = exhume
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
      // The way of nearly all of them: a name that nobody has, at a place that is free.
      if (isPlainSet && operation.position >= settledLevel.position && !table.find(operation, settledLevel)) {
        const revision = ++this.#lastRevision
        this.#counts.created++
        table.put(shard, operation, operation, operation.position, revision, now)
        answers.stored(i, operation.position, revision)
      } else answers.put(i, this.#apply(batch, operation, now))
    }
    return answers
  }

  /** `bury` keeps a dead letter. */
  settle(
    batch: Batch,
    fence: Fence,
    settlement: Settlement,
    now: number,
    bury: (letter: NewDeadLetter) => void,
  ): SettleAnswer {
    this.checkFence(fence)
    checkSettlement(this.#row, settlement, now, this.#lastRevision)
    this.#touch(batch)
    const counts = this.#counts
    const { level } = settlement
    for (const done of settlement.done) {
      if (!this.#isStanding(done)) continue
      this.#remove(level)
      counts.settled++
    }
    const dead = settlement.dead.map((letter): DeadAnswer => {
      if (!this.#isStanding(letter.row)) return { kept: false, next: undefined }
      bury({ row: this.#table.row(), diedAt: letter.diedAt, reason: letter.reason })
      // A timer that goes on has not ended.
      if (letter.next !== undefined) return { kept: true, next: this.#follow(letter.next, level, now) }
      this.#remove(level)
      counts.dead++
      return { kept: true, next: undefined }
    })
    const followUps = settlement.followUps.map((followUp) =>
      this.#isStanding(followUp.row) ? this.#follow(followUp, level, now) : undefined,
    )
    counts.settled += settlement.settledCount
    this.#row = {
      ...this.#row,
      settledLevel: { position: level.position, revision: level.revision },
      lastSettlement: settlement.id,
    }
    return { followUps, dead, readLevel: this.#row.readLevel }
  }

  checkFence(fence: Fence): void {
    checkFence(this.#row, fence)
  }

  checkReadLevel(from: Place): void {
    checkReadLevel(this.#row, from)
  }

  /** Puts the shard's row in place of the one before, here and in the batch. */
  #put(batch: Batch, row: ShardRow): ShardRow {
    if (row !== this.#row) {
      this.#touch(batch)
      this.#row = row
    }
    return row
  }

  #apply(batch: Batch, operation: Operation, now: number): OperationAnswer {
    if (operation.request === undefined) return this.#change(operation, now)
    const request = this.inbox.get(operation.request)
    if (request === undefined) return { outcome: 'answered-before' }
    const isLate = operation.type !== 'set' && request.deadline <= now
    const answer: OperationAnswer = isLate ? { outcome: 'expired' } : this.#change(operation, now)
    // One that found its position taken over by the level is to be tried again with a later one.
    if (answer.outcome !== 'below-level') this.inbox.answer(batch, request, answer.outcome)
    return answer
  }

  #change(operation: Operation, now: number): OperationAnswer {
    switch (operation.type) {
      case 'set':
        return this.#set(operation, now)
      case 'answer':
        return { outcome: operation.outcome }
      case 'move':
      case 'cancel':
        return this.#moveOrCancel(operation, now)
    }
  }

  #set(set: SetOperation, now: number): OperationAnswer {
    const table = this.#table
    const isThere = table.find(set, this.#row.settledLevel)
    let replaced: Standing | undefined
    if (isThere) {
      const standing = this.#standing()
      if (standing.identity === set.identity) return { outcome: 'same', standing }
      if (set.ifAbsent === true) return { outcome: 'conflict', standing }
      if (set.ifRevision !== undefined && set.ifRevision !== standing.revision)
        return { outcome: 'conflict', standing }
      replaced = standing
    } else if (set.ifRevision !== undefined) return { outcome: 'conflict', standing: undefined }
    const { position } = set
    if (position < this.#row.settledLevel.position) return this.#belowLevel()
    if (set.fromDead !== undefined) {
      if (!this.#exhume(set.fromDead)) return { outcome: 'unknown' }
      // Looking for the dead letter may have moved the table's finger.
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
    const standing = this.#standing()
    if (operation.identity !== undefined && operation.identity !== standing.identity)
      return { outcome: 'unknown' }
    if (operation.ifRevision !== undefined && operation.ifRevision !== standing.revision)
      return { outcome: 'conflict', standing }
    if (operation.type === 'cancel') {
      this.#remove(this.#row.settledLevel)
      this.#counts.cancelled++
      return { outcome: 'cancelled', removed: standing }
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
      from: { position: standing.position, revision: standing.revision },
    }
  }

  /** Puts the row gone to where it goes on. */
  #follow(progress: Omit<FollowUp, 'row'>, level: Place, now: number): TimerRow {
    const row = this.#table.row()
    // Below the new level it needs no record of its end.
    if (!isBefore(this.#table, level)) this.#table.kill()
    const { position, dueAt, attempt, occurrence, details = row.details } = progress
    return this.#rewrite({ ...row, details }, position, dueAt, attempt, occurrence, now)
  }

  /** Puts the row just found, which is dead or about to be below the level, at another place. */
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

  /** Goes to the row of this name if it stands exactly there. */
  #isStanding(row: TimerName & Place): boolean {
    return this.#table.find(row, this.#row.settledLevel) && this.#table.revision === row.revision
  }

  #standing(): Standing {
    const { position, revision } = this.#table
    return { position, revision, identity: this.#table.identity() }
  }

  /** Takes the row gone to away. Below the level that comes it needs no record of its end. */
  #remove(level: Place): void {
    if (!isBefore(this.#table, level)) this.#table.kill()
    this.#table.forget()
  }

  #belowLevel(): OperationAnswer {
    return { outcome: 'below-level', settledLevel: this.#row.settledLevel }
  }

  /** Says that the batch changes this shard: its record goes along, and comes back if the batch fails. */
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
