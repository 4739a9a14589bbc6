import { CarillonError, InvalidInputError, LimitError, StateError, StoreError } from '../../error/index.js'
import type {
  CancelOperation,
  MoveOperation,
  Operation,
  OperationAnswer,
  RequestedOperation,
  Store,
} from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { endingDetails, isRecurring, shardOf, type TimerRow } from '../../timer/index.js'
import type { SubmitAnswer } from '../answer.js'
import type { EngineCounts } from '../counts.js'
import type { EngineSettings } from '../settings.js'
import { type CallLimit, Sleeper } from '../../async/index.js'

/** Operations that came together. */
interface Task {
  readonly operations: readonly RequestedOperation[]
  /** When it ends at the latest; undefined if that is for its limit to say. */
  readonly giveUpAt: number | undefined
  /** Only the first answer counts. */
  readonly answer: (answers: readonly SubmitAnswer[]) => void
  /** It is on its way to the store, or it is not known whether it has arrived there. */
  isSent: boolean
  /** Its call is over. It is never sent (again). */
  isGivenUp: boolean
}

/**
 * Writes timers that no instance owns: one write at a time, in the order in which operations came. Operations that come
 * during a write share the next one. If the store was unavailable, the write is sent again until the call is over, or
 * `requestTimeoutMs` if it has no limit. When a call is over, what was not sent is withdrawn (promise 21). A write of unknown outcome is not sent again, because the timer may have fired since: a `set` is looked up, and
 * anything else fails as unknown.
 *
 * Proven by test/engine/claim.test.ts.
 */
export class ClaimWriter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #counts: EngineCounts
  readonly #storeNow: () => number
  readonly #onDue: (dueAt: number) => void
  readonly #sleeper: Sleeper
  #queue: Task[] = []
  #queued = 0
  #running: Promise<void> | undefined
  #isDraining = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    counts: EngineCounts
    /** The store's time as far as it is known. */
    storeNow: () => number
    /** A row was written that is due at `dueAt`. */
    onDue: (dueAt: number) => void
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#counts = parts.counts
    this.#storeNow = parts.storeNow
    this.#onDue = parts.onDue
    this.#sleeper = new Sleeper(parts.clock)
  }

  get isIdle(): boolean {
    return this.#running === undefined
  }

  submit(operations: readonly RequestedOperation[], limit?: CallLimit): Promise<readonly SubmitAnswer[]> {
    const { maxQueued, requestTimeoutMs } = this.#settings
    if (this.#queued > 0 && this.#queued + operations.length > maxQueued) {
      const error = new LimitError(
        'engine-busy',
        `${this.#queued} operations already wait to be written; the limit is ${maxQueued}`,
      )
      return Promise.resolve(operations.map(() => failed(error)))
    }
    this.#queued += operations.length
    const giveUpAt = limit === undefined ? this.#clock.monotonic() + requestTimeoutMs : undefined
    return new Promise((answer) => {
      const task: Task = { operations, giveUpAt, answer, isSent: false, isGivenUp: false }
      this.#queue.push(task)
      limit?.onOver(() => {
        task.isGivenUp = true
        const error = task.isSent ? limit.unknownOutcome() : limit.notDone()
        answer(operations.map(() => failed(error)))
      })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when all queued operations are written, or could not be. */
  async drain(): Promise<void> {
    this.#isDraining = true
    this.#sleeper.cancelAll()
    await this.#running
  }

  async #run(): Promise<void> {
    // All operations of this turn of the event loop share a write.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const tasks = this.#take()
      await this.#writeTasks(tasks)
      for (const { operations } of tasks) this.#queued -= operations.length
    }
    this.#running = undefined
  }

  #take(): Task[] {
    let count = 0
    let operations = 0
    for (const task of this.#queue) {
      operations += task.operations.length
      if (count > 0 && operations > this.#settings.writeBatch) break
      count++
    }
    return this.#queue.splice(0, count)
  }

  /** Writes tasks together until each is answered or given up. */
  async #writeTasks(taken: readonly Task[]): Promise<void> {
    for (;;) {
      const tasks = taken.filter(({ isGivenUp }) => !isGivenUp)
      if (tasks.length === 0) return
      for (const task of tasks) task.isSent = true
      const answers = await this.#written(tasks.flatMap(({ operations }) => operations))
      if (!(answers instanceof StoreError)) {
        answerAll(tasks, answers)
        return
      }
      for (const task of tasks) task.isSent = false
      const now = this.#clock.monotonic()
      for (const task of tasks) {
        if (task.giveUpAt === undefined ? !this.#isDraining : now < task.giveUpAt) continue
        task.isGivenUp = true
        task.answer(task.operations.map(() => failed(answers)))
      }
      await this.#sleeper.sleep(this.#settings.retryMs)
    }
  }

  /** One answer each, or the error if the store was unavailable: then nothing happened. */
  async #written(operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[] | StoreError> {
    try {
      return await this.#write(operations)
    } catch (error) {
      if (error instanceof InvalidInputError || error instanceof LimitError)
        return await this.#singledOut(operations, error)
      if (error instanceof StateError) return operations.map(() => failed(error))
      if (!(error instanceof StoreError)) throw error
      if (error.code === 'store-unavailable') return error
      if (error.code === 'unknown-outcome') return await this.#lookedUp(operations, error)
      return operations.map(() => failed(error))
    }
  }

  /** The store has refused a batch because of one of its operations. Sending them one by one shows which. */
  async #singledOut(
    operations: readonly RequestedOperation[],
    error: CarillonError,
  ): Promise<readonly SubmitAnswer[]> {
    if (operations.length === 1) return [failed(error)]
    const answers: SubmitAnswer[] = []
    for (const operation of operations) {
      const written = await this.#written([operation])
      if (written instanceof StoreError) answers.push(failed(written))
      else answers.push(...written)
    }
    return answers
  }

  async #write(operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    const { answers } = await this.#store.write(undefined, { operations: operations.map(placed) })
    this.#counts.writes++
    this.#counts.operations += operations.length
    this.#wakeForDue(operations, answers)
    const given = answers.map(answerOf)
    await this.#endFiring(operations, given)
    return given
  }

  /**
   * Ends recurring timers whose cancel was answered 'firing': their rows get to know which attempt is the last one. If a
   * row has changed since, it is cancelled as it is now. An error is the answer of that cancel alone.
   */
  async #endFiring(operations: readonly RequestedOperation[], answers: SubmitAnswer[]): Promise<void> {
    for (let index = 0; index < operations.length; index++) {
      const operation = operations[index]!
      if (operation.type !== 'cancel') continue
      while (answers[index]!.outcome === 'firing') {
        const answer = await this.#end(operation)
        if (answer === undefined) break
        answers[index] = answer
      }
    }
  }

  /** Answers undefined if the timer fires only once: its cancel comes too late. */
  async #end(operation: CancelOperation): Promise<SubmitAnswer | undefined> {
    try {
      const [row] = await this.#store.find([operation])
      if (row !== undefined && !isRecurring(row)) return undefined
      if (row !== undefined) {
        const answer = await this.#writeOne(ending(operation, row))
        if (answer.outcome === 'moved') return { outcome: 'ending' }
        if (answer.outcome !== 'conflict') return answerOf(answer)
      }
      // The attempt has ended since.
      return answerOf(await this.#writeOne(operation))
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      return failed(error)
    }
  }

  async #writeOne(operation: Operation): Promise<OperationAnswer> {
    return (await this.#store.write(undefined, { operations: [operation] })).answers[0]!
  }

  /** Wakes the instances that fire if a row is due before they would ask the store. */
  #wakeForDue(operations: readonly RequestedOperation[], answers: readonly OperationAnswer[]): void {
    const soon = this.#storeNow() + this.#settings.pollMs
    const shards = new Set<number>()
    let earliest = Infinity
    for (const [index, operation] of operations.entries()) {
      const { outcome } = answers[index]!
      if (operation.type === 'cancel' || (outcome !== 'set' && outcome !== 'moved')) continue
      earliest = Math.min(earliest, operation.dueAt)
      if (operation.dueAt < soon) shards.add(shardOf(operation, this.#store.shardCount))
    }
    if (earliest !== Infinity) this.#onDue(earliest)
    for (const shard of shards) this.#store.wake(shard)
  }

  /** A row with the same identity proves that a `set` was stored. Nothing proves that it was not. */
  async #lookedUp(
    operations: readonly RequestedOperation[],
    error: StoreError,
  ): Promise<readonly SubmitAnswer[]> {
    try {
      const rows = await this.#store.find(operations)
      return operations.map((operation, index) => {
        const row = rows[index]
        if (operation.type !== 'set' || row?.identity !== operation.identity) return failed(error)
        this.#onDue(row.dueAt)
        return { outcome: 'set', revision: row.revision, replaced: undefined }
      })
    } catch {
      return operations.map(() => failed(error))
    }
  }
}

/** Cancels a recurring timer that is firing: its row says which attempt is the last one, and stays claimed. */
function ending(cancel: CancelOperation, row: TimerRow): MoveOperation {
  const { note, ...asked } = cancel
  const { dueAt, position, revision: ifRevision } = row
  return {
    ...asked,
    type: 'move',
    dueAt,
    position,
    details: endingDetails(row),
    ifRevision: asked.ifRevision ?? ifRevision,
    whileFiring: true,
    ...(note && { note: { ...note, event: 'ending' } }),
  }
}

/** The position of a row that nobody owns is its due time. */
function placed(operation: RequestedOperation): Operation {
  return operation.type === 'cancel' ? operation : { ...operation, position: operation.dueAt }
}

function answerAll(tasks: readonly Task[], answers: readonly SubmitAnswer[]): void {
  let from = 0
  for (const { operations, answer } of tasks) {
    answer(answers.slice(from, from + operations.length))
    from += operations.length
  }
}

function answerOf(answer: OperationAnswer): SubmitAnswer {
  switch (answer.outcome) {
    case 'set':
      return { outcome: 'set', revision: answer.place.revision, replaced: answer.replaced }
    case 'same':
      return { outcome: 'set', revision: answer.current.revision, replaced: undefined }
    case 'moved':
      return { outcome: 'moved', revision: answer.row.revision }
    case 'conflict':
      return { outcome: 'conflict', current: answer.current }
    case 'cancelled':
    case 'firing':
    case 'settled':
    case 'unknown':
      return { outcome: answer.outcome }
    case 'below-level':
    case 'answered-before':
    case 'expired':
      throw new Error(`a write without an owner is never answered by ${answer.outcome}`)
  }
}

function failed(error: CarillonError): SubmitAnswer {
  return { outcome: 'failed', error }
}
