import {
  earlierOf,
  levelAfter,
  levelAt,
  type Place,
  type TimerContent,
  type TimerName,
  type TimerProgress,
  type TimerRow,
  lastPlace,
} from '../../timer/index.js'
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
import { newFromOf } from '../new-timers.js'
import { SetColumnsWrite } from '../set-columns.js'
import type {
  ClaimProgress,
  Counts,
  DeadAnswer,
  DeadLetter,
  Fence,
  FollowUp,
  InboxRequest,
  Loaded,
  LoadRequest,
  NewDeadLetter,
  Operation,
  OperationAnswer,
  OwnerWrite,
  RequestedOperation,
  RowVersion,
  SetOperation,
  SettleAnswer,
  Settlement,
  AcquireRequest,
  ShardRow,
  Swept,
  WriteAnswer,
} from '../store.js'
import { WriteAnswers } from '../write-answers.js'
import { MemoryInbox } from './memory-inbox.js'
import { bytesOf, MemoryPage } from './memory-page.js'
import { MemoryRows } from './memory-rows.js'

/** No row has the name. */
const NONE = -1

/** What all shards of a store write to. */
export interface SharedRecords {
  readonly counts: { -readonly [Name in keyof Counts]: number }
  addDead(letter: NewDeadLetter): DeadLetter
  /** Deletes a dead letter; false when it is not there. */
  removeDead(id: string): boolean
}

/**
 * One shard with the store's half of the protocol, in synchronous steps. Each method either throws before it changes
 * anything or does all of its work. This is the reference for the other stores.
 *
 * Proven by test/store/memory.test.ts (the store contract) and the mutants 'settle does not check the fence', 'takeover
 * from the read level', 'a request stays in the inbox after it was applied' and others that patch this file.
 */
export class MemoryShard {
  readonly rows = new MemoryRows()
  readonly inbox = new MemoryInbox()
  readonly #records: SharedRecords
  #row: ShardRow
  #lastRevision = 0

  constructor(shard: number, ledger: SharedRecords) {
    this.#records = ledger
    this.#row = newShardRow(shard)
  }

  get row(): ShardRow {
    return this.#row
  }

  acquire(claim: AcquireRequest, now: number): ShardRow | undefined {
    const row = acquired(this.#row, claim, now, this.#lastRevision)
    if (row !== undefined) this.#row = row
    return row
  }

  renew(fence: Fence, leaseMs: number, now: number): ShardRow {
    return (this.#row = renewed(this.#row, fence, leaseMs, now))
  }

  refence(fence: Fence, nonce: number, leaseMs: number, now: number): ShardRow {
    return (this.#row = refenced(this.#row, fence, nonce, leaseMs, now))
  }

  release(fence: Fence): void {
    this.#row = released(this.#row, fence)
  }

  load(fence: Fence, request: LoadRequest): Loaded {
    this.checkFence(fence)
    checkReadLevel(this.#row, request.from)
    const { rows } = this
    const slots: number[] = []
    let bytes = 0
    let nextPosition: number | undefined
    for (const slot of rows.order.from(this.#row.readLevel)) {
      const isFull = slots.length >= request.limit || (slots.length > 0 && bytes >= request.limitBytes)
      if (isFull || rows.position(slot) >= request.untilExclusive) {
        nextPosition = rows.position(slot)
        break
      }
      slots.push(slot)
      bytes += bytesOf(rows, slot)
    }
    let { readLevel } = this.#row
    if (slots.length > 0) readLevel = levelAfter(rows.place(slots.at(-1)!))
    if (nextPosition === undefined || nextPosition >= request.untilExclusive) {
      if (readLevel.position < request.untilExclusive) readLevel = levelAt(request.untilExclusive)
    }
    this.#row = { ...this.#row, readLevel }
    return { page: new MemoryPage(rows, slots, bytes), readLevel, nextPosition }
  }

  lower(fence: Fence, from: Place, to: Place): void {
    this.#row = lowered(this.#row, fence, from, to)
  }

  write(fence: Fence | undefined, write: OwnerWrite, now: number): WriteAnswer {
    if (fence !== undefined) this.checkFence(fence)
    if (write.ifInboxEmpty === true) checkInbox(this.#row, this.inbox.isEmpty)
    if (write instanceof SetColumnsWrite) return this.#writeColumns(write, now)
    const answers = write.operations.map((operation) => this.#apply(operation, now))
    return { answers, newFrom: newFromOf(answers), readLevel: this.#row.readLevel }
  }

  /** Writes plain sets from their columns. Only a set that replaces a timer, or is below the level, becomes an operation. */
  #writeColumns({ sets, indexes, positions }: SetColumnsWrite, now: number): WriteAnswer {
    const answers = new WriteAnswers(indexes.length, this.#row.readLevel)
    const name = { namespace: sets.namespace, kind: sets.kind, key: '' }
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at]!
      const position = positions[at]!
      name.key = sets.keys[index]!
      if (this.#isBelow(position) || this.#find(name) !== NONE) {
        answers.put(at, this.#apply(sets.operation(index, position), now))
        continue
      }
      this.#records.counts.created++
      const revision = ++this.#lastRevision
      this.rows.putPlain(sets, name, index, position, revision)
      answers.putNew(at, position, revision)
    }
    return answers
  }

  /** Whether a set waits, while no other of its name does and no timer has its name. */
  isFree({ id, operation }: InboxRequest<RequestedOperation>): boolean {
    const isAlone = this.inbox.get(id) !== undefined && this.inbox.countOf(operation) === 1
    return isAlone && this.#find(operation) === NONE
  }

  settle(fence: Fence, settlement: Settlement, now: number): SettleAnswer {
    this.checkFence(fence)
    checkSettlement(this.#row, settlement, now, this.#lastRevision)
    const { counts } = this.#records
    for (const done of settlement.done) {
      const row = this.#removeUnchanged(done)
      if (row === undefined) continue
      counts.settled++
      const position = settlement.level.position - 1
      if (position >= 0) this.#put(row, row, position)
    }
    const dead = settlement.dead.map((letter): DeadAnswer => {
      const row = this.#removeUnchanged(letter.row)
      if (row === undefined) return { kept: false, next: undefined }
      this.#records.addDead(letter)
      // A timer that goes on has not ended and is not counted.
      if (letter.next === undefined) counts.dead++
      return { kept: true, next: letter.next && this.#putFollowUp(row, letter.next) }
    })
    const followUps = settlement.followUps.map((followUp) => {
      const row = this.#removeUnchanged(followUp.row)
      return row && this.#putFollowUp(row, followUp)
    })
    counts.settled += settlement.settledCount
    this.#row = settled(this.#row, settlement)
    return { followUps, dead, readLevel: this.#row.readLevel }
  }

  sweep(fence: Fence, below: Place = lastPlace): Swept {
    this.checkFence(fence)
    const removed = this.rows.removeBefore(earlierOf(below, this.#row.settledLevel))
    return { removed, more: false }
  }

  /** The unsettled row of this name. */
  find(name: TimerName): TimerRow | undefined {
    const slot = this.#find(name)
    return slot === NONE ? undefined : this.rows.row(slot)
  }

  /** The finished row of this name. */
  findSettled(name: TimerName): TimerRow | undefined {
    const slot = this.rows.find(name)
    const isSettled = slot !== NONE && this.rows.isBefore(slot, this.#row.settledLevel)
    return isSettled ? this.rows.row(slot) : undefined
  }

  /** The slot of the unsettled row of a token; undefined if its row was changed. */
  slotOf(token: TimerName & { readonly revision: number }): number | undefined {
    const slot = this.#find(token)
    return slot !== NONE && this.rows.revision(slot) === token.revision ? slot : undefined
  }

  /** Replaces a row with a changed copy under a new revision. Returns its slot. */
  rewrite(
    slot: number,
    changes: Partial<Pick<TimerRow, 'dueAt' | 'attempt' | 'occurrence' | 'position' | 'details'>>,
  ): number {
    const row = this.rows.row(slot)
    this.rows.remove(slot)
    const changed = { ...row, ...changes }
    return this.#put(changed, changed, changed.position)
  }

  /** Ends the lease of a row and rewrites the row with its next progress. */
  continueClaimed(slot: number, { dueAt, attempt, occurrence, details }: ClaimProgress): void {
    const progress = { dueAt, attempt, occurrence, position: dueAt }
    this.rewrite(slot, details === undefined ? progress : { ...progress, details })
  }

  checkFence(fence: Fence): void {
    checkFence(this.#row, fence)
  }

  #apply(operation: Operation, now: number): OperationAnswer {
    if (operation.request === undefined) return this.#change(operation, now)
    const request = this.inbox.get(operation.request)
    if (request === undefined) return { outcome: 'answered-before' }
    const isLate = operation.type !== 'set' && request.deadline <= now
    const answer: OperationAnswer = isLate ? { outcome: 'expired' } : this.#change(operation, now)
    // After 'below-level' the owner tries again with a later position, so the request stays.
    if (answer.outcome !== 'below-level') this.inbox.answer(request, answer.outcome)
    return answer
  }

  #change(operation: Operation, now: number): OperationAnswer {
    const { counts } = this.#records
    if (operation.type === 'answer') return { outcome: operation.outcome }
    const slot = this.#find(operation)
    if (operation.type === 'set') return this.#set(operation, slot)
    const { rows } = this
    const isOther =
      operation.identity !== undefined && slot !== NONE && operation.identity !== rows.identity(slot)
    if (slot === NONE || isOther) return { outcome: 'unknown' }
    if (operation.ifRevision !== undefined && operation.ifRevision !== rows.revision(slot)) {
      return { outcome: 'conflict', current: this.#versionOf(slot) }
    }
    // Rows have leases only in the mode `claim`. In the mode `owned`, the owner knows what is firing.
    const lease = rows.leases.get(slot)
    const isKept = operation.type === 'move' && operation.whileFiring === true
    const isClaimed = lease !== undefined && lease.until > now
    if (isKept && !isClaimed) return { outcome: 'conflict', current: this.#versionOf(slot) }
    if (isClaimed && !isKept) return { outcome: 'firing' }
    const from = this.#versionOf(slot)
    if (operation.type === 'cancel') {
      rows.remove(slot)
      counts.cancelled++
      return { outcome: 'cancelled', removed: from }
    }
    if (this.#isBelow(operation.position)) return this.#belowLevel()
    const { dueAt, position } = operation
    const row = rows.row(slot)
    const { attempt = row.attempt, details = row.details } = operation
    const moved = this.rewrite(slot, { dueAt, position, attempt, details })
    if (isKept && lease !== undefined) rows.leases.set(moved, lease)
    return { outcome: 'moved', row: rows.row(moved), from }
  }

  #set(operation: SetOperation, slot: number): OperationAnswer {
    const { counts } = this.#records
    const current = slot === NONE ? undefined : this.#versionOf(slot)
    if (current?.identity === operation.identity) return { outcome: 'same', current }
    const isConflict =
      (operation.ifAbsent === true && current !== undefined) ||
      (operation.ifRevision !== undefined && operation.ifRevision !== current?.revision)
    if (isConflict) return { outcome: 'conflict', current }
    const { position } = operation
    if (this.#isBelow(position)) return this.#belowLevel()
    if (operation.fromDead !== undefined && !this.#records.removeDead(operation.fromDead)) {
      return { outcome: 'unknown' }
    }
    if (current !== undefined) {
      this.rows.remove(slot)
      counts.replaced++
    }
    counts.created++
    this.#put(operation, operation, position)
    return { outcome: 'set', place: { position, revision: this.#lastRevision }, replaced: current }
  }

  #isBelow(position: number): boolean {
    return position < this.#row.settledLevel.position
  }

  #belowLevel(): OperationAnswer {
    return { outcome: 'below-level', settledLevel: this.#row.settledLevel }
  }

  /** The slot of the unsettled row of this name. */
  #find(name: TimerName): number {
    const slot = this.rows.find(name)
    return slot === NONE || this.rows.isBefore(slot, this.#row.settledLevel) ? NONE : slot
  }

  #versionOf(slot: number): RowVersion {
    const { rows } = this
    return { position: rows.position(slot), revision: rows.revision(slot), identity: rows.identity(slot) }
  }

  /** Stores a row under a new revision. */
  #put(content: TimerContent, progress: TimerProgress, position: number): number {
    return this.rows.put(content, progress, position, ++this.#lastRevision)
  }

  /** Puts a removed row back with its next progress. */
  #putFollowUp(row: TimerRow, progress: Omit<FollowUp, 'row'>): TimerRow {
    const content = { ...row, details: progress.details ?? row.details }
    return this.rows.row(this.#put(content, progress, progress.position))
  }

  /** Removes a row if it still has the revision that the owner read. */
  #removeUnchanged(row: TimerName & Place): TimerRow | undefined {
    const slot = this.#find(row)
    if (slot === NONE || this.rows.revision(slot) !== row.revision) return undefined
    const current = this.rows.row(slot)
    this.rows.remove(slot)
    return current
  }
}
