import { type CarillonError, InvalidInputError, LimitError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type { RequestedOperation, ShardSetColumns, Store } from '../../store/index.js'
import type { TimerRow } from '../../timer/index.js'
import type { Attempts } from '../fire/attempts.js'
import type { InboxHolds } from './inbox-holds.js'
import type { StartHolds } from './start-holds.js'
import type { Loader } from '../load/loader.js'
import { LostShardError } from '../own/call-errors.js'
import type { Ownership } from '../own/ownership.js'
import { BatchSender } from './batch-sender.js'
import { MemoryUpdater } from './memory-updater.js'
import { OperationPlanner } from './operation-planner.js'
import { type AnswerListener, PlainTask, type Sent, type ColumnsListener, Task, TasksOfCall } from './task.js'
import { TaskQueue } from './task-queue.js'
import { type CallLimit, type Mutex, Sleeper } from '../../async/index.js'
import type { EngineSettings } from '../settings.js'
import type { Settler } from '../settle/settler.js'
import type { SweepPlanner } from '../settle/sweep-planner.js'
import type { EngineCounts } from '../counts.js'
import type { Window } from '../load/window.js'

// This many operations are written at once, without waiting for others that may come in the same turn.
const WORTH_A_WRITE = 32
// How long a batch waits at most before it looks for room in memory again.
const ROOM_POLL_MS = 50
// A batch is at most this part of `maxTimers`, so that it fits between a tight window and a full one.
const BATCH_PART = 1 / 20

interface WriterParts {
  readonly store: Store
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly ownership: Ownership
  readonly window: Window
  readonly attempts: Attempts
  readonly startHolds: StartHolds
  readonly inboxHolds: InboxHolds
  readonly settler: Settler
  readonly loader: Loader
  readonly counts: EngineCounts
  readonly mutex: Mutex
  readonly sweepPlanner: SweepPlanner
  /** Applies all requests that are in the inbox now, through this writer. Answers false if the inbox ended before that. */
  readonly applyInbox: () => Promise<boolean>
}

/**
 * Writes the timers of a shard for its owner: one write at a time, in the order in which operations came. So the
 * operations of one key take effect one after the other (rule 8). No settlement is on its way meanwhile, so no row
 * changes between the lookup and the write, and no set goes below the settled level (rule 4).
 *
 * The owner's own operations come after every request that is in the inbox: the store refuses them while one waits
 * there (rule 3). They then queue behind the inbox.
 *
 * Proven by test/engine/engine.test.ts, test/engine/set-columns.test.ts and the mutants 'operations on one key overlap', 'writes and settlements overlap', 'a too-late answer is given before the inbox is read'.
 */
export class Writer {
  readonly #parts: WriterParts
  readonly #planner: OperationPlanner
  readonly #sender: BatchSender
  readonly #sleeper: Sleeper
  readonly #queue = new TaskQueue()
  // Operations of this instance that wait until the inbox is applied.
  readonly #behindInbox = new TaskQueue()
  #isRunning = false
  #isOver = false
  // This many of the next operations are sent one by one.
  #oneByOne = 0

  constructor(parts: WriterParts) {
    const { window, loader, startHolds } = parts
    this.#parts = parts
    this.#planner = new OperationPlanner(window, loader, startHolds)
    const memory = new MemoryUpdater(parts)
    this.#sender = new BatchSender({
      ...parts,
      memory,
      onInboxFirst: (tasks) => void this.#queueBehindInbox(tasks),
    })
    this.#sleeper = new Sleeper(parts.clock)
  }

  get queued(): number {
    return this.#queue.length + this.#behindInbox.length
  }

  get isIdle(): boolean {
    return !this.#isRunning && this.#behindInbox.length === 0
  }

  /**
   * Takes operations. `requests` are the ids of the requests that they come from; none for operations of this instance.
   * When the call of such operations is over, those that were not sent are withdrawn.
   */
  submit(
    operations: readonly RequestedOperation[],
    answered: AnswerListener,
    requests: readonly string[] = [],
    limit?: CallLimit,
  ): void {
    const tasks = limit === undefined || operations.length === 1 ? undefined : new TasksOfCall()
    for (let i = 0; i < operations.length; i++) {
      const task = new Task(operations[i]!, requests[i], answered, i)
      this.#enqueue(task)
      if (tasks !== undefined) tasks.add(task)
      else limit?.addListener(task)
    }
    if (tasks !== undefined) limit?.addListener(tasks)
    this.#start()
  }

  /** Takes the plain sets of one call. */
  submitPlain(columns: ShardSetColumns, answered: ColumnsListener, limit?: CallLimit): void {
    const task = new PlainTask(columns, answered)
    this.#enqueue(task)
    limit?.addListener(task)
    this.#start()
  }

  #enqueue(task: Task | PlainTask): void {
    if (task.mayPassInbox || this.#behindInbox.length === 0) this.#queue.push(task)
    else this.#behindInbox.push(task)
  }

  #start(): void {
    if (this.#isRunning || this.#isOver) return
    this.#isRunning = true
    void this.#run()
  }

  /** Applies the inbox before these operations of this instance, and before all that came after them. */
  async #queueBehindInbox(tasks: readonly (Task | PlainTask)[]): Promise<void> {
    const queued = this.#queue.takeAll()
    for (const task of queued) if (task.request !== undefined) this.#queue.push(task)
    const waiting = [...tasks, ...queued.filter(({ request }) => request === undefined)]
    for (const task of waiting) this.#behindInbox.push(task)
    const isApplied = await this.#parts.applyInbox()
    const behind = this.#behindInbox.takeAll()
    if (isApplied) {
      for (const task of waiting) task.mayPassInbox = true
      for (const task of behind) this.#queue.push(task)
      this.#start()
    } else {
      for (const task of behind) task.answer({ outcome: 'lost' })
    }
  }

  /** Forgets requests that are not on their way to the store. They stay in the inbox for the next owner. */
  leaveRequests(): void {
    const requests = this.#queue.takeWhere(({ request }) => request !== undefined)
    for (const task of requests) task.answer({ outcome: 'lost' })
  }

  /** Ends it. Operations that were not written yet are answered `lost`. */
  stop(): void {
    this.#isOver = true
    this.#sleeper.cancelAll()
    this.#sender.stop()
    if (!this.#isRunning) this.#abandonQueued()
  }

  #abandonQueued(): void {
    const queued = [...this.#queue.takeAll(), ...this.#behindInbox.takeAll()]
    for (const task of queued) task.answer({ outcome: 'lost' })
  }

  async #run(): Promise<void> {
    // Calls over many connections come one by one, so all that come in this turn share a batch. A large call goes at
    // once: otherwise large calls that run together would share every write from then on, and the store would be idle
    // while both are prepared.
    if (this.#queue.length < WORTH_A_WRITE) await this.#parts.clock.turnEnd()
    while (this.#queue.length > 0 && !this.#isOver) {
      const batch = this.#takeBatch()
      try {
        await this.#write(batch)
      } catch (error) {
        if (error instanceof InvalidInputError || error instanceof LimitError) {
          await this.#singleOut(batch, error)
          continue
        }
        // Tasks that were answered ignore this answer. The others may have been written or not.
        const isLost = error instanceof LostShardError
        for (const task of tasksOf(batch)) task.answer({ outcome: isLost ? 'unsure' : 'lost' })
        if (!isLost) this.#parts.ownership.lose(String(error))
      }
    }
    this.#isRunning = false
    if (this.#isOver) this.#abandonQueued()
  }

  /** The store has refused a batch because of one of its operations. Sending them one by one shows which. */
  async #singleOut(batch: readonly Task[] | PlainTask, error: CarillonError): Promise<void> {
    const tasks = batch instanceof PlainTask ? batch.tasks() : batch
    const [task] = tasks
    if (tasks.length > 1 || task === undefined) {
      this.#queue.putBack(tasks)
      this.#oneByOne = tasks.length
      return
    }
    task.answer({ outcome: 'failed', error })
    if (task.request === undefined) return
    // A request that cannot be carried out leaves the inbox, or it would block the others.
    const operation = { type: 'answer', request: task.request, outcome: 'unknown' } as const
    const finish = await this.#parts.mutex.lock()
    try {
      task.operation = operation
      await this.#sender.send([task as Sent])
    } finally {
      finish()
    }
  }

  #takeBatch(): readonly Task[] | PlainTask {
    const { maxTimers, writeBatch } = this.#parts.settings
    const fitting = Math.max(1, Math.floor(maxTimers * BATCH_PART))
    const most = this.#oneByOne > 0 ? 1 : writeBatch
    if (this.#oneByOne > 0) this.#oneByOne--
    return this.#queue.takeBatch(Math.min(most, fitting))
  }

  /** Whether memory has room for the rows of a batch that may have to be kept there. */
  #hasRoomFor(batch: readonly Task[] | PlainTask): boolean {
    const { loader } = this.#parts
    const near = loader.readLevel.position
    const count =
      batch instanceof PlainTask
        ? countBefore(batch.columns, near)
        : batch.reduce((sum, { asked }) => sum + (isNear(asked, near) ? 1 : 0), 0)
    return count === 0 || loader.hasRoomFor(count)
  }

  /**
   * Writes requests for timers that may not start before these are applied. They replace what is in memory, so they need
   * no room; without them there may never be any. Answers the rest of the batch.
   */
  async #writeForHeld(batch: readonly Task[] | PlainTask): Promise<readonly Task[] | PlainTask> {
    const { inboxHolds } = this.#parts
    const isForHeld = (task: Task): boolean => task.request !== undefined && inboxHolds.isHeld(task.asked)
    const tasks = batch instanceof PlainTask ? [] : batch
    const urgent = tasks.filter(isForHeld)
    const rest = batch instanceof PlainTask ? batch : tasks.filter((task) => !urgent.includes(task))
    // One by one: a batch has at most one operation on each timer.
    for (const task of [...urgent, ...this.#queue.takeWhere(isForHeld)]) await this.#write([task], true)
    return rest
  }

  async #write(given: readonly Task[] | PlainTask, needsNoRoom = false): Promise<void> {
    const { mutex, settings, settler, sweepPlanner } = this.#parts
    let batch = given
    let isShort = false
    for (;;) {
      if (isShort) {
        isShort = false
        sweepPlanner.sweepSoon()
        batch = await this.#writeForHeld(batch)
        if (batch.length === 0) return
        await this.#sleeper.sleep(Math.min(ROOM_POLL_MS, settings.settleMs))
      }
      const finish = await mutex.lock()
      try {
        if (this.#isOver) throw new LostShardError()
        if (tasksOf(batch).every(({ isGivenUp }) => isGivenUp)) return
        if (!needsNoRoom && !this.#hasRoomFor(batch)) {
          isShort = true
          continue
        }
        if (batch instanceof PlainTask) {
          await this.#sender.send(await this.#sender.sendColumns(batch))
          return
        }
        if (!batch.some(needsLookUp)) {
          await this.#sender.send(this.#planner.planSets(batch))
          return
        }
        const rows = await this.#lookUp(batch)
        const isAnyTooLate = batch.some(
          (task, index) => this.#planner.tooLate(task, rows[index]) !== undefined,
        )
        if (isAnyTooLate && !batch[0]!.mayPassInbox) {
          // The inbox may set a new timer of that name, for which it is not too late.
          void this.#queueBehindInbox(batch)
          return
        }
        if (!batch.some((task, index) => this.#planner.isReported(task, rows[index]))) {
          const sent = this.#planner.plan(batch, rows)
          if (sent.length > 0) await this.#sender.send(sent)
          return
        }
      } finally {
        finish()
      }
      // The follow-up of the last attempt is written first, so that no attempt is forgotten.
      await settler.settle()
      if (this.#isOver) throw new LostShardError()
    }
  }

  /** The current rows of the moves, the cancels and the sets with a revision in a batch. */
  async #lookUp(batch: readonly Task[]): Promise<readonly (TimerRow | undefined)[]> {
    const found = await this.#sender.find(batch.filter(needsLookUp).map(({ asked }) => asked))
    let next = 0
    return batch.map((task) => (needsLookUp(task) ? found[next++] : undefined))
  }
}

/** Whether its row has to be read first. A set needs it only to check the revision that its caller knows. */
function needsLookUp({ asked }: Task): boolean {
  return asked.type !== 'set' || asked.ifRevision !== undefined
}

function tasksOf(batch: readonly Task[] | PlainTask): readonly (Task | PlainTask)[] {
  return batch instanceof PlainTask ? [batch] : batch
}

function isNear(operation: RequestedOperation, position: number): boolean {
  return operation.type !== 'cancel' && operation.dueAt < position
}

/** How many of the sets are due before a position. */
function countBefore({ sets, indexes }: ShardSetColumns, position: number): number {
  let count = 0
  for (const index of indexes) if (sets.dueAts[index]! < position) count++
  return count
}
