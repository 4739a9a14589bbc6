import { type CarillonError, InvalidInputError, LimitError, StoreError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import {
  type Operation,
  type OperationAnswer,
  type OwnerWrite,
  type PlainShare,
  PlainWrite,
  type RequestedOperation,
  type SetOperation,
  type Standing,
  type Store,
  type WriteAnswer,
} from '../store/index.js'
import { isBefore, nameText, ownBytes, type Place, type TimerRow } from '../timer/index.js'
import type { Attempts } from './attempts.js'
import type { Holds } from './holds.js'
import type { Loader } from './loader.js'
import { LostShard, Outdated, type Ownership, Unresolved, Untaken } from './ownership.js'
import { type AnswerListener, PlainTask, type Sent, type ShareListener, Task } from './task.js'
import { TaskQueue } from './task-queue.js'
import { Waits } from './waits.js'
import type { EngineSettings } from './settings.js'
import type { Settler } from './settler.js'
import type { Sweeping } from './sweeping.js'
import type { EngineCounts } from './engine-counts.js'
import type { Turns } from './turns.js'
import type { Window } from './window.js'
import { entryState } from './window-page.js'

const { WAITING, STARTED, REPORTED, DONE } = entryState

// So many are worth a write of their own.
const WORTH_A_WRITE = 32

/**
 * The owner's way of writing timers: one write at a time, in the order the operations came, which is what
 * serialises the operations of one key (rule 8), and none while a settlement is on its way. An operation of its own
 * comes after every request that others were told is in the inbox: the store refuses it while one waits there. So a `set` never
 * goes below a level (rule 4), and no row is rewritten between the look at it and the write. A
 * move or cancel first looks the row up and keeps it from starting, or answers that it is too late; so what
 * was cancelled never starts. A write of unknown outcome is looked up and completed before the next (rule 5).
 */
export class Writer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #ownership: Ownership
  readonly #window: Window
  readonly #attempts: Attempts
  readonly #holds: Holds
  readonly #settler: Settler
  readonly #loader: Loader
  readonly #counts: EngineCounts
  readonly #turns: Turns
  readonly #sweeping: Sweeping
  readonly #waits: Waits
  readonly #hearInbox: () => Promise<boolean>
  readonly #queue = new TaskQueue()
  // Operations of its own that wait for what is in the inbox.
  readonly #behind = new TaskQueue()
  #isRunning = false
  #isOver = false
  // How many of the next operations are sent one by one.
  #alone = 0

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    ownership: Ownership
    window: Window
    attempts: Attempts
    holds: Holds
    settler: Settler
    loader: Loader
    counts: EngineCounts
    turns: Turns
    sweeping: Sweeping
    /** Has all that is in the inbox now carried out by this writer; false when it ended before that. */
    hearInbox: () => Promise<boolean>
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#ownership = parts.ownership
    this.#window = parts.window
    this.#attempts = parts.attempts
    this.#holds = parts.holds
    this.#settler = parts.settler
    this.#loader = parts.loader
    this.#counts = parts.counts
    this.#turns = parts.turns
    this.#sweeping = parts.sweeping
    this.#waits = new Waits(parts.clock)
    this.#hearInbox = parts.hearInbox
  }

  get queued(): number {
    return this.#queue.length + this.#behind.length
  }

  get isIdle(): boolean {
    return !this.#isRunning && this.#behind.length === 0
  }

  /** Takes operations, and the requests they answer where they do. */
  submit(
    operations: readonly RequestedOperation[],
    answered: AnswerListener,
    requests: readonly string[] = [],
  ): void {
    for (let i = 0; i < operations.length; i++) {
      this.#enqueue(new Task(operations[i]!, requests[i], answered, i))
    }
    this.#start()
  }

  /** Takes plain sets of one call. */
  submitPlain(share: PlainShare, answered: ShareListener): void {
    this.#enqueue(new PlainTask(share, answered))
    this.#start()
  }

  #enqueue(task: Task | PlainTask): void {
    if (task.isNext || this.#behind.length === 0) this.#queue.push(task)
    else this.#behind.push(task)
  }

  #start(): void {
    if (this.#isRunning || this.#isOver) return
    this.#isRunning = true
    void this.#run()
  }

  /** Puts operations of its own, and all of its own that came after them, behind what is in the inbox. */
  async #fallBehind(tasks: readonly (Task | PlainTask)[]): Promise<void> {
    const queued = this.#queue.takeAll()
    for (const task of queued) if (task.request !== undefined) this.#queue.push(task)
    const waited = [...tasks, ...queued.filter(({ request }) => request === undefined)]
    for (const task of waited) this.#behind.push(task)
    const isHeard = await this.#hearInbox()
    const behind = this.#behind.takeAll()
    if (isHeard) {
      for (const task of waited) task.isNext = true
      for (const task of behind) this.#queue.push(task)
      this.#start()
    } else {
      for (const task of behind) task.answer({ outcome: 'lost' })
    }
  }

  /** Ends it; what was not written yet is answered by `lost`. */
  end(): void {
    this.#isOver = true
    this.#waits.end()
    if (!this.#isRunning) this.#abandon()
  }

  #abandon(): void {
    const queued = [...this.#queue.takeAll(), ...this.#behind.takeAll()]
    for (const task of queued) task.answer({ outcome: 'lost' })
  }

  async #run(): Promise<void> {
    // Whatever comes in this turn goes into one batch: calls over many connections come one by one. What is much
    // already goes at once: large calls under way together would else share every write from then on, and the store
    // wait while both are prepared.
    if (this.#queue.length < WORTH_A_WRITE) await this.#clock.turnEnd()
    while (this.#queue.length > 0 && !this.#isOver) {
      const batch = this.#take()
      try {
        await this.#write(batch)
      } catch (error) {
        if (error instanceof InvalidInputError || error instanceof LimitError) {
          await this.#singleOut(batch, error)
          continue
        }
        // Those that were answered know already; the others may have been written or not.
        const isLost = error instanceof LostShard
        for (const task of tasksOf(batch)) task.answer({ outcome: isLost ? 'unsure' : 'lost' })
        if (!isLost) this.#ownership.lose(String(error))
      }
    }
    this.#isRunning = false
    if (this.#isOver) this.#abandon()
  }

  /** The store refused a batch for something in it: what that is shows when they are sent one by one. */
  async #singleOut(batch: readonly Task[] | PlainTask, error: CarillonError): Promise<void> {
    const tasks = batch instanceof PlainTask ? batch.tasks() : batch
    const [task] = tasks
    if (tasks.length > 1 || task === undefined) {
      this.#queue.putBack(tasks)
      this.#alone = tasks.length
      return
    }
    task.answer({ outcome: 'failed', error })
    if (task.request === undefined) return
    // A request that nobody can carry out must not stand in the way of the others.
    const operation = { type: 'answer', request: task.request, outcome: 'unknown' } as const
    const finish = await this.#turns.take()
    try {
      task.operation = operation
      await this.#send([task as Sent])
    } finally {
      finish()
    }
  }

  /** The next operations, up to a batch. */
  #take(): readonly Task[] | PlainTask {
    // Small enough to fit between a tight window and a full one.
    const fitting = Math.max(1, Math.floor(this.#settings.maxTimers / 20))
    const most = this.#alone > 0 ? 1 : this.#settings.writeBatch
    if (this.#alone > 0) this.#alone--
    return this.#queue.take(Math.min(most, fitting))
  }

  /** Whether there is room in memory for what may have to be kept there. */
  #hasRoomFor(batch: readonly Task[] | PlainTask): boolean {
    const near = this.#loader.readLevel.position
    const count =
      batch instanceof PlainTask
        ? countBefore(batch.share, near)
        : batch.reduce((sum, { asked }) => sum + (isNear(asked, near) ? 1 : 0), 0)
    return count === 0 || this.#loader.hasRoomFor(count)
  }

  async #write(batch: readonly Task[] | PlainTask): Promise<void> {
    let isShort = false
    for (;;) {
      if (isShort) {
        isShort = false
        this.#settler.relieve()
        await this.#waits.wait(Math.min(50, this.#settings.settleMs))
      }
      const finish = await this.#turns.take()
      try {
        if (this.#isOver) throw new LostShard()
        if (!this.#hasRoomFor(batch)) {
          isShort = true
          continue
        }
        if (batch instanceof PlainTask) {
          await this.#send(await this.#sendPlain(batch))
          return
        }
        if (!batch.some(needsLookUp)) {
          this.#place(batch)
          await this.#send(batch as readonly Sent[])
          return
        }
        const rows = await this.#lookUp(batch)
        const isAnyTooLate = batch.some((task, index) => this.#tooLate(task, rows[index]) !== undefined)
        if (isAnyTooLate && !batch[0]!.isNext) {
          // What is in the inbox may be a timer of that name that is not too late.
          void this.#fallBehind(batch)
          return
        }
        if (!rows.some((row) => row !== undefined && this.#stateOf(row) === REPORTED)) {
          const sent: Sent[] = []
          for (let index = 0; index < batch.length; index++) this.#prepare(batch[index]!, rows[index], sent)
          if (sent.length > 0) await this.#send(sent)
          return
        }
      } finally {
        finish()
      }
      // What follows from its last attempt is written first, so that no attempt is forgotten.
      await this.#settler.settle()
      if (this.#isOver) throw new LostShard()
    }
  }

  /** The rows of moves and cancels. */
  async #lookUp(batch: readonly Task[]): Promise<readonly (TimerRow | undefined)[]> {
    const moved = batch.filter(needsLookUp)
    const found = await this.#find(moved.map(({ asked }) => asked))
    let next = 0
    return batch.map((task) => (needsLookUp(task) ? found[next++] : undefined))
  }

  /** Makes sets ready to be sent. */
  #place(batch: readonly Task[]): void {
    const floor = this.#floor
    for (const task of batch) {
      const { asked, request } = task
      if (asked.type === 'set') task.operation = placed(asked, Math.max(asked.dueAt, floor), request)
    }
  }

  /** Makes a task ready to be sent, and keeps its row from starting; or answers it. */
  #prepare(task: Task, row: TimerRow | undefined, sent: Sent[]): void {
    task.operation = this.#operationFor(task, row)
    if (task.operation === undefined) return
    task.held = row
    if (row !== undefined) this.#holds.hold(row.revision)
    sent.push(task as Sent)
  }

  /**
   * Where a row may stand at the earliest: not below the settled level, and an overdue one not before now. At its due
   * time it would hold the level back, and a stream of such rows would do so for good.
   */
  get #floor(): number {
    return Math.max(this.#ownership.settledLevel.position, this.#loader.soonest)
  }

  /** What to send for a task; undefined when it is answered without a change. */
  #operationFor(task: Task, row: TimerRow | undefined): Operation | undefined {
    const { asked, request } = task
    if (asked.type === 'set') return placed(asked, Math.max(asked.dueAt, this.#floor), request)
    const named = request === undefined ? {} : { request }
    const tooLate = this.#tooLate(task, row)
    if (tooLate !== undefined) {
      if (request !== undefined) return { type: 'answer', request, outcome: tooLate }
      task.answer({ outcome: tooLate })
      return undefined
    }
    return asked.type === 'cancel'
      ? { ...asked, ...named }
      : { ...asked, ...named, ...this.#suspicion(row), position: Math.max(asked.dueAt, this.#floor) }
  }

  /** An attempt that an owner before may have made is not forgotten by moving the row. */
  #suspicion(row: TimerRow | undefined): { readonly attempt?: number } {
    const isSuspect = row !== undefined && this.#window.find(row) < 0 && this.#loader.isSuspect(row)
    return isSuspect ? { attempt: row.attempt + 1 } : {}
  }

  /** What a move or cancel is answered whose row has started, or is done. */
  #tooLate({ asked }: Task, row: TimerRow | undefined): 'firing' | 'settled' | undefined {
    if (row === undefined || !isMeant(asked, row)) return undefined
    switch (this.#stateOf(row)) {
      case STARTED:
        return 'firing'
      case DONE:
        return 'settled'
      default:
        return undefined
    }
  }

  #stateOf(row: Place): number {
    const token = this.#window.find(row)
    return token < 0 ? WAITING : this.#window.state(token)
  }

  async #send(batch: readonly Sent[]): Promise<void> {
    let left = batch
    try {
      while (left.length > 0) left = await this.#sendOnce(left)
    } finally {
      for (const { held } of batch) {
        if (held !== undefined) this.#attempts.unpark(this.#holds.release(held.revision))
      }
      this.#attempts.setAlarm()
      this.#loader.noticed()
    }
  }

  /** Sends plain sets and applies what is answered. Answers what has to be sent again. */
  async #sendPlain(task: PlainTask): Promise<readonly Sent[]> {
    const write = new PlainWrite(task.share, this.#floor, !task.isNext)
    try {
      const answer = await this.#call(write, write.length)
      if (answer.newFrom === undefined) return this.#applyEach(task.sent(write), answer)
      this.#keepNew(write, answer.newFrom, answer.readLevel)
      task.areNew(answer.newFrom)
      return []
    } catch (error) {
      return await this.#recover(() => task.sent(write), error)
    }
  }

  /** Sends a batch and applies the answers. Answers what has to be sent again. */
  async #sendOnce(batch: readonly Sent[]): Promise<readonly Sent[]> {
    const operations = batch.map(({ operation }) => operation)
    const ifInboxEmpty = !batch[0]!.isNext
    try {
      const answer = await this.#call({ operations, ifInboxEmpty }, operations.length)
      if (answer.newFrom === undefined) return this.#applyEach(batch, answer)
      this.#applyNew(batch, answer.newFrom, answer.readLevel)
      return []
    } catch (error) {
      return await this.#recover(() => batch, error)
    }
  }

  async #call(write: OwnerWrite, count: number): Promise<WriteAnswer> {
    const answer = await this.#ownership.call('write', (fence) => this.#store.write(fence, write))
    this.#counts.writes++
    this.#counts.operations += count
    return answer
  }

  /** Goes on after a write that was not answered. Answers what has to be sent again. */
  async #recover(batch: () => readonly Sent[], error: unknown): Promise<readonly Sent[]> {
    if (error instanceof Unresolved) return await this.#resolve(batch())
    if (error instanceof StoreError && error.code === 'inbox-first') {
      void this.#fallBehind(batch())
      return []
    }
    if (!(error instanceof Outdated || error instanceof Untaken)) throw error
    await this.#waits.wait(this.#settings.retryMs)
    return batch().map((sent) => this.#refloored(sent, this.#ownership.settledLevel))
  }

  /** Finds out what came of a write; the epoch is raised, so it is final. Answers what was not written. */
  async #resolve(batch: readonly Sent[]): Promise<readonly Sent[]> {
    const rows = await this.#find(batch.map(({ asked }) => asked))
    const again: Sent[] = []
    const { readLevel } = this.#ownership.row
    const written = new Set(
      batch.flatMap((sent, index) => (resultOf(sent, rows[index]) ? [nameText(sent.asked)] : [])),
    )
    for (const [index, sent] of batch.entries()) {
      const result = resultOf(sent, rows[index])
      if (result === undefined && written.has(nameText(sent.asked))) {
        // A later set of the same write replaced it: one that is there says that all of it was written.
        sent.answer({ outcome: 'set', revision: undefined, replaced: undefined })
        continue
      }
      if (result === undefined) {
        again.push(this.#refloored(sent, this.#ownership.settledLevel))
        continue
      }
      if (result.outcome === 'set') {
        // Which row it replaced is not known: whatever older one is here is stale.
        for (const place of this.#window.versionsOf(sent.asked, result.place.revision)) this.#drop(place)
      }
      this.#apply(sent, result, readLevel)
    }
    return again
  }

  async #find(names: readonly RequestedOperation[]): Promise<readonly (TimerRow | undefined)[]> {
    for (;;) {
      try {
        return await this.#ownership.call('find', () => this.#store.find(names))
      } catch (error) {
        if (!(error instanceof Outdated || error instanceof Untaken || error instanceof Unresolved))
          throw error
        await this.#waits.wait(this.#settings.retryMs)
      }
    }
  }

  #refloored(sent: Sent, level: Place): Sent {
    const { operation } = sent
    if (operation.type !== 'set' && operation.type !== 'move') return sent
    const floor = Math.max(level.position, this.#ownership.settledLevel.position)
    sent.operation = { ...operation, position: Math.max(operation.dueAt, floor) }
    return sent
  }

  /** Applies the answer to each. Answers what has to be sent again. */
  #applyEach(batch: readonly Sent[], { answers, readLevel }: WriteAnswer): readonly Sent[] {
    const again: Sent[] = []
    for (let index = 0; index < batch.length; index++) {
      const sent = batch[index]!
      const result = answers[index]!
      if (result.outcome === 'below-level') again.push(this.#refloored(sent, result.settledLevel))
      else this.#apply(sent, result, readLevel)
    }
    return again
  }

  /** Brings memory in line with plain sets that were all new. */
  #keepNew({ sets, indexes, positions, leastPosition }: PlainWrite, newFrom: number, readLevel: Place): void {
    if (leastPosition > readLevel.position) {
      this.#loader.demand(leastPosition)
      return
    }
    for (let at = 0; at < indexes.length; at++) {
      const place = { position: positions[at]!, revision: newFrom + at }
      if (isBefore(place, readLevel)) this.#window.addRow(sets.row(indexes[at]!, place))
      else this.#loader.demand(place.position)
    }
  }

  /** As `#apply`, of sets that were all new: of few of a large batch there is anything to keep. */
  #applyNew(batch: readonly Sent[], newFrom: number, readLevel: Place): void {
    for (let index = 0; index < batch.length; index++) {
      const task = batch[index]!
      const revision = newFrom + index
      const set = task.operation as SetOperation
      if (set.position > readLevel.position) this.#loader.demand(set.position)
      else this.#takeInSet(set, { position: set.position, revision }, readLevel)
      task.answer({ outcome: 'set', revision, replaced: undefined })
    }
  }

  /** Brings memory in line with what was written, and answers. */
  #apply(task: Sent, result: OperationAnswer, readLevel: Place): void {
    const { operation } = task
    switch (result.outcome) {
      case 'set':
        if (result.replaced !== undefined) this.#leave(result.replaced, payloadBytesOf(operation))
        if (operation.type === 'set') this.#takeInSet(operation, result.place, readLevel)
        task.answer({ outcome: 'set', revision: result.place.revision, replaced: result.replaced })
        return
      case 'same':
        if (operation.type === 'set') this.#takeInSet(operation, result.standing, readLevel)
        task.answer({ outcome: 'set', revision: result.standing.revision, replaced: undefined })
        return
      case 'moved':
        this.#leave(result.from, result.row.payload.length)
        this.#takeIn(result.row, readLevel)
        task.answer({ outcome: 'moved', revision: result.row.revision })
        return
      case 'cancelled':
        this.#leave(result.removed, 0)
        task.answer({ outcome: 'cancelled' })
        return
      case 'conflict':
        task.answer({ outcome: 'conflict', standing: result.standing })
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

  #takeInSet(set: SetOperation, place: Place, readLevel: Place): void {
    if (isBefore(place, readLevel)) this.#window.addRow(rowOf(set, place))
    else this.#loader.demand(place.position)
  }

  #takeIn(row: TimerRow, readLevel: Place): void {
    if (isBefore(row, readLevel)) this.#window.addRow(row)
    else this.#loader.demand(row.position)
  }

  /** A row stands no more where it stood, with about such a payload. */
  #leave(standing: Place, payloadBytes: number): void {
    this.#sweeping.leftBehind(payloadBytes)
    this.#drop(standing)
  }

  /** A version of a row is no more. An attempt at it that is under way goes on, and is not followed. */
  #drop(standing: Place): void {
    const token = this.#window.find(standing)
    if (token < 0) return
    const page = this.#window.page(token)
    const index = this.#window.index(token)
    const attempt = page.attempts[index]
    if (attempt !== undefined) attempt.isSuperseded = true
    this.#window.leave(token)
  }
}

function payloadBytesOf(operation: Operation): number {
  return operation.type === 'set' ? operation.payload.length : 0
}

function needsLookUp({ asked }: Task): boolean {
  return asked.type !== 'set'
}

function tasksOf(batch: readonly Task[] | PlainTask): readonly (Task | PlainTask)[] {
  return batch instanceof PlainTask ? [batch] : batch
}

function isMeant(operation: RequestedOperation, row: TimerRow): boolean {
  const { identity, ifRevision } = operation
  return (
    (identity === undefined || identity === row.identity) &&
    (ifRevision === undefined || ifRevision === row.revision)
  )
}

function isNear(operation: RequestedOperation, position: number): boolean {
  return operation.type !== 'cancel' && operation.dueAt < position
}

/** How many of plain sets are due before a position. */
function countBefore({ sets, indexes }: PlainShare, position: number): number {
  let count = 0
  for (const index of indexes) if (sets.dueAts[index]! < position) count++
  return count
}

/** What came of an operation, judged by the row that stands now; undefined when it was not carried out. */
function resultOf({ operation, held }: Sent, row: TimerRow | undefined): OperationAnswer | undefined {
  switch (operation.type) {
    case 'answer':
      return undefined
    case 'set':
      return row?.identity === operation.identity
        ? { outcome: 'set', place: row, replaced: undefined }
        : undefined
    case 'cancel':
      if (held === undefined || row?.identity === held.identity) return undefined
      return { outcome: 'cancelled', removed: held satisfies Standing }
    case 'move': {
      if (held === undefined || row?.identity !== held.identity || row.revision === held.revision)
        return undefined
      const isOurs = row.dueAt === operation.dueAt && row.position === operation.position
      return isOurs ? { outcome: 'moved', row, from: held } : undefined
    }
  }
}

/** A set at the place it gets. One that asked for just that place is sent as it came. */
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

// Written out field by field: copying by spread costs several times as much.
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
