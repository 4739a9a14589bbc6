import {
  earlierOf,
  isBefore,
  levelAfter,
  levelAt,
  nameKey,
  type Place,
  type TimerName,
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
  SettleAnswer,
  Settlement,
  AcquireRequest,
  ShardRow,
  Swept,
  WriteAnswer,
} from '../store.js'
import { ListIndex } from './list-index.js'
import { MemoryInbox } from './memory-inbox.js'
import { pageOf } from './memory-page.js'
import { bytesOf, type MemoryRow, rowOf, versionOf } from './memory-row.js'
import { OrderedRows } from './ordered-rows.js'

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
  readonly rows = new OrderedRows<MemoryRow>()
  readonly listIndex = new ListIndex()
  readonly inbox = new MemoryInbox()
  readonly #byName = new Map<string, MemoryRow>()
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
    const rows: MemoryRow[] = []
    let bytes = 0
    let readLevel = this.#row.readLevel
    let nextPosition: number | undefined
    for (const row of this.rows.from(readLevel)) {
      const isFull = rows.length >= request.limit || (rows.length > 0 && bytes >= request.limitBytes)
      if (isFull || row.position >= request.untilExclusive) {
        nextPosition = row.position
        break
      }
      rows.push(row)
      bytes += bytesOf(row)
      readLevel = levelAfter(row)
    }
    if (nextPosition === undefined || nextPosition >= request.untilExclusive) {
      if (readLevel.position < request.untilExclusive) readLevel = levelAt(request.untilExclusive)
    }
    this.#row = { ...this.#row, readLevel }
    return { page: pageOf(rows), readLevel, nextPosition }
  }

  lower(fence: Fence, from: Place, to: Place): void {
    this.#row = lowered(this.#row, fence, from, to)
  }

  write(fence: Fence | undefined, write: OwnerWrite, now: number): WriteAnswer {
    if (fence !== undefined) this.checkFence(fence)
    if (write.ifInboxEmpty === true) checkInbox(this.#row, this.inbox.isEmpty)
    const answers = write.operations.map((operation) => this.#apply(operation, now))
    return { answers, newFrom: newFromOf(answers), readLevel: this.#row.readLevel }
  }

  /** Whether a set waits, while no other of its name does and no timer has its name. */
  isFree({ id, operation }: InboxRequest<RequestedOperation>): boolean {
    const isAlone = this.inbox.get(id) !== undefined && this.inbox.countOf(operation) === 1
    return isAlone && this.find(operation) === undefined
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
      if (position >= 0) this.#put(rowOf(row, row, position, ++this.#lastRevision))
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
    for (const row of removed) {
      this.listIndex.remove(row)
      const name = nameKey(row)
      if (this.#byName.get(name) === row) this.#byName.delete(name)
    }
    return { removed: removed.length, more: false }
  }

  /** The unsettled row of this name. */
  find(name: TimerName): MemoryRow | undefined {
    const row = this.#byName.get(nameKey(name))
    return row === undefined || isBefore(row, this.#row.settledLevel) ? undefined : row
  }

  /** The finished row of this name. */
  findSettled(name: TimerName): MemoryRow | undefined {
    const row = this.#byName.get(nameKey(name))
    return row !== undefined && isBefore(row, this.#row.settledLevel) ? row : undefined
  }

  /** Replaces a row with a changed copy under a new revision. */
  rewrite(
    row: MemoryRow,
    changes: Partial<Pick<MemoryRow, 'dueAt' | 'attempt' | 'occurrence' | 'position' | 'details'>>,
  ): MemoryRow {
    this.remove(row)
    const progress = { ...row, ...changes }
    return this.#put(
      rowOf({ ...row, details: progress.details }, progress, progress.position, ++this.#lastRevision),
    )
  }

  /** Ends the lease of a row and rewrites the row with its next progress. */
  continueClaimed(
    row: MemoryRow,
    { dueAt, attempt, occurrence, details = row.details }: ClaimProgress,
  ): void {
    this.rewrite(row, { dueAt, attempt, occurrence, details, position: dueAt })
  }

  remove(row: MemoryRow): void {
    if (this.rows.remove(row)) this.listIndex.remove(row)
    this.#byName.delete(nameKey(row))
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
    const row = this.find(operation)
    if (operation.type === 'set') {
      if (row?.identity === operation.identity) return { outcome: 'same', current: versionOf(row) }
      const isConflict =
        (operation.ifAbsent === true && row !== undefined) ||
        (operation.ifRevision !== undefined && operation.ifRevision !== row?.revision)
      if (isConflict) return { outcome: 'conflict', current: row && versionOf(row) }
      if (this.#isBelow(operation.position)) return this.#belowLevel()
      if (operation.fromDead !== undefined && !this.#records.removeDead(operation.fromDead)) {
        return { outcome: 'unknown' }
      }
      if (row !== undefined) {
        this.remove(row)
        counts.replaced++
      }
      counts.created++
      const place = this.#put(rowOf(operation, operation, operation.position, ++this.#lastRevision))
      return { outcome: 'set', place: versionOf(place), replaced: row && versionOf(row) }
    }
    if (row === undefined || (operation.identity !== undefined && operation.identity !== row.identity)) {
      return { outcome: 'unknown' }
    }
    if (operation.ifRevision !== undefined && operation.ifRevision !== row.revision) {
      return { outcome: 'conflict', current: versionOf(row) }
    }
    // Rows have leases only in the mode `claim`. In the mode `owned`, the owner knows what is firing.
    const isKept = operation.type === 'move' && operation.whileFiring === true
    const isClaimed = row.lease !== undefined && row.lease.until > now
    if (isKept && !isClaimed) return { outcome: 'conflict', current: versionOf(row) }
    if (isClaimed && !isKept) return { outcome: 'firing' }
    if (operation.type === 'cancel') {
      this.remove(row)
      counts.cancelled++
      return { outcome: 'cancelled', removed: versionOf(row) }
    }
    if (this.#isBelow(operation.position)) return this.#belowLevel()
    const { dueAt, position, attempt = row.attempt, details = row.details } = operation
    const moved = this.rewrite(row, { dueAt, position, attempt, details })
    if (isKept) moved.lease = row.lease
    return { outcome: 'moved', row: moved, from: versionOf(row) }
  }

  #isBelow(position: number): boolean {
    return position < this.#row.settledLevel.position
  }

  #belowLevel(): OperationAnswer {
    return { outcome: 'below-level', settledLevel: this.#row.settledLevel }
  }

  #put(row: MemoryRow): MemoryRow {
    this.rows.add(row)
    this.listIndex.add(row)
    this.#byName.set(nameKey(row), row)
    return row
  }

  /** Puts a removed row back with its next progress. */
  #putFollowUp(row: MemoryRow, progress: Omit<FollowUp, 'row'>): MemoryRow {
    const content = { ...row, details: progress.details ?? row.details }
    return this.#put(rowOf(content, progress, progress.position, ++this.#lastRevision))
  }

  /** Removes a row if it still has the revision that the owner read. */
  #removeUnchanged(row: TimerName & Place): MemoryRow | undefined {
    const current = this.find(row)
    if (current === undefined || current.revision !== row.revision) return undefined
    this.remove(current)
    return current
  }
}
