import type { Operation, ShardSetColumns, SetColumnsWrite, RequestedOperation } from '../../store/index.js'
import type { TimerRow } from '../../timer/index.js'
import type { CallLimit, OverListener } from '../../async/index.js'
import { type Answer, failed } from '../answer.js'

/** Receives the answers to operations that were submitted together. One operation may be answered more than once. */
export interface AnswerListener {
  answered(index: number, answer: Answer): void
}

/** Receives the answers to plain sets: one for each, or one that says that all of them are new timers. */
export interface ColumnsListener extends AnswerListener {
  /** The first has this revision, the next has the next, and so on. */
  areNew(newFrom: number): void
}

/** A queue that tasks wait in. */
interface WaitingLine {
  /** A task with this number of operations was given up. */
  onGivenUp(count: number): void
}

/** An operation that waits to be written, or is on its way to the store. */
export class Task implements OverListener {
  readonly asked: RequestedOperation
  /** The id of the inbox request that it comes from; undefined for an operation of this instance. */
  readonly request: string | undefined
  /** The operation as it is sent to the store; undefined until it is prepared. */
  operation: Operation | undefined = undefined
  /** The row that must not start until this is answered. */
  held: TimerRow | undefined = undefined
  /** It need not wait for an empty inbox: it is a request itself, or the inbox was applied for it. */
  mayPassInbox: boolean
  /** It was sent to the store, and its outcome is not known yet. */
  isSent = false
  /** Its call is over, and its caller was answered without it. It is never sent (again). */
  isGivenUp = false
  /** The queue that it was put into. */
  queue: WaitingLine | undefined = undefined
  readonly #answered: AnswerListener
  readonly #index: number

  constructor(
    asked: RequestedOperation,
    request: string | undefined,
    answered: AnswerListener,
    index: number,
  ) {
    this.asked = asked
    this.request = request
    this.mayPassInbox = request !== undefined
    this.#answered = answered
    this.#index = index
  }

  answer(answer: Answer): void {
    this.#answered.answered(this.#index, answer)
  }

  /** Its call is over. If it has been answered, this has no effect. */
  giveUp(limit: CallLimit): void {
    this.isGivenUp = true
    this.answer(failed(this.isSent ? limit.unknownOutcome() : limit.notDone()))
    this.queue?.onGivenUp(1)
  }
}

/** The tasks of one call in one shard. */
export class TasksOfCall implements OverListener {
  readonly #tasks: Task[] = []

  add(task: Task): void {
    this.#tasks.push(task)
  }

  giveUp(limit: CallLimit): void {
    for (const task of this.#tasks) task.giveUp(limit)
  }
}

/** A task on its way to the store. */
export interface Sent extends Task {
  operation: Operation
}

/** Plain sets of one call that wait to be written, or are on their way. They become tasks only if that is needed. */
export class PlainTask implements OverListener {
  readonly columns: ShardSetColumns
  readonly request = undefined
  mayPassInbox = false
  isSent = false
  isGivenUp = false
  queue: WaitingLine | undefined = undefined
  readonly #answered: ColumnsListener
  // The tasks that it has become.
  #tasks: readonly Task[] | undefined

  constructor(columns: ShardSetColumns, answered: ColumnsListener) {
    this.columns = columns
    this.#answered = answered
  }

  get length(): number {
    return this.columns.indexes.length
  }

  /** Gives each of them the same answer. */
  answer(answer: Answer): void {
    for (let index = 0; index < this.length; index++) this.#answered.answered(index, answer)
  }

  /** Its call is over. */
  giveUp(limit: CallLimit): void {
    this.isGivenUp = true
    if (this.#tasks !== undefined) for (const task of this.#tasks) task.giveUp(limit)
    else this.answer(failed(this.isSent ? limit.unknownOutcome() : limit.notDone()))
    this.queue?.onGivenUp(this.length)
  }

  areNew(newFrom: number): void {
    this.#answered.areNew(newFrom)
  }

  /** A task for each, not prepared yet. */
  tasks(): Task[] {
    const { sets, indexes } = this.columns
    const tasks = sets.operations(indexes).map((operation, at) => this.#task(operation, at))
    this.#tasks = tasks
    return tasks
  }

  /** A task for each, with the operation that was sent. */
  sent({ operations }: SetColumnsWrite): Sent[] {
    const tasks = operations.map((operation, at) => {
      const task = this.#task(operation, at)
      task.operation = operation
      return task as Sent
    })
    this.#tasks = tasks
    return tasks
  }

  #task(asked: RequestedOperation, at: number): Task {
    const task = new Task(asked, undefined, this.#answered, at)
    task.mayPassInbox = this.mayPassInbox
    task.isSent = this.isSent
    task.isGivenUp = this.isGivenUp
    return task
  }
}
