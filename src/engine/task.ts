import type { Operation, PlainShare, PlainWrite, RequestedOperation } from '../store/index.js'
import type { TimerRow } from '../timer/index.js'
import type { Answer } from './answer.js'

/** Hears what became of operations that were submitted together. It may hear of one more than once. */
export interface AnswerListener {
  answered(index: number, answer: Answer): void
}

/** Hears what became of plain sets: of each, or that all of them are new timers. */
export interface ShareListener extends AnswerListener {
  /** The first has this revision; those of the others follow one by one. */
  areNew(newFrom: number): void
}

/** An operation that waits to be written, or is on its way to the store. */
export class Task {
  readonly asked: RequestedOperation
  /** The request it answers; undefined for one of this instance's own. */
  readonly request: string | undefined
  /** As it is sent to the store; undefined before. */
  operation: Operation | undefined = undefined
  /** The row that is held for it. */
  held: TimerRow | undefined = undefined
  /** What was in the inbox when it came has been carried out. */
  isNext: boolean
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
    this.isNext = request !== undefined
    this.#answered = answered
    this.#index = index
  }

  answer(answer: Answer): void {
    this.#answered.answered(this.#index, answer)
  }
}

/** A task on its way to the store. */
export interface Sent extends Task {
  operation: Operation
}

/** Plain sets of one call that wait to be written, or are on their way. Tasks are made of them only if they need looking at. */
export class PlainTask {
  readonly share: PlainShare
  readonly request = undefined
  isNext = false
  readonly #answered: ShareListener

  constructor(share: PlainShare, answered: ShareListener) {
    this.share = share
    this.#answered = answered
  }

  get length(): number {
    return this.share.indexes.length
  }

  /** The same answer to each. */
  answer(answer: Answer): void {
    for (let index = 0; index < this.length; index++) this.#answered.answered(index, answer)
  }

  areNew(newFrom: number): void {
    this.#answered.areNew(newFrom)
  }

  /** A task for each, as it waits. */
  tasks(): Task[] {
    const { sets, indexes } = this.share
    return sets.operations(indexes).map((operation, at) => this.#task(operation, at))
  }

  /** A task for each, as it was sent. */
  sent({ operations }: PlainWrite): Sent[] {
    return operations.map((operation, at) => {
      const task = this.#task(operation, at)
      task.operation = operation
      return task as Sent
    })
  }

  #task(asked: RequestedOperation, at: number): Task {
    const task = new Task(asked, undefined, this.#answered, at)
    task.isNext = this.isNext
    return task
  }
}
