import { nameText } from '../timer/index.js'
import { PlainTask, type Task } from './task.js'

type Waiting = Task | PlainTask

/** What waits to be written to a shard, in the order it came. */
export class TaskQueue {
  #waiting: Waiting[] = []
  #length = 0

  /** How many operations wait. */
  get length(): number {
    return this.#length
  }

  push(task: Waiting): void {
    this.#waiting.push(task)
    this.#length += lengthOf(task)
  }

  /** Puts tasks before all that wait. */
  putBack(tasks: readonly Task[]): void {
    this.#waiting = [...tasks, ...this.#waiting]
    this.#length += tasks.length
  }

  /** Takes all that wait. */
  takeAll(): Waiting[] {
    this.#length = 0
    return this.#waiting.splice(0)
  }

  /**
   * The next operations, up to `most`, or the next plain sets. What depends on the row that stands shares no batch
   * with its like, nor what may be written at once with what the inbox comes before.
   */
  take(most: number): readonly Task[] | PlainTask {
    let [first] = this.#waiting
    if (first instanceof PlainTask) {
      if (first.length <= most) {
        this.#waiting.shift()
        this.#length -= first.length
        return first
      }
      const tasks = first.tasks()
      this.#waiting = [...tasks, ...this.#waiting.slice(1)]
      first = tasks[0]
    }
    const count = this.#countOf(first?.isNext, most)
    this.#length -= count
    return this.#waiting.splice(0, count) as Task[]
  }

  /** How many of the first go together. */
  #countOf(isNext: boolean | undefined, most: number): number {
    const limit = Math.min(most, this.#waiting.length)
    let names: Set<string> | undefined
    for (let count = 0; count < limit; count++) {
      const task = this.#waiting[count]!
      if (task instanceof PlainTask || task.isNext !== isNext) return count
      if (names === undefined && needsOneName(task)) {
        names = new Set(this.#waiting.slice(0, count).map((before) => nameText((before as Task).asked)))
      }
      if (names === undefined) continue
      const name = nameText(task.asked)
      if (names.has(name)) return count
      names.add(name)
    }
    return limit
  }
}

function lengthOf(task: Waiting): number {
  return task instanceof PlainTask ? task.length : 1
}

/** Whether what comes of it depends on the row of its name, so that it shares no batch with another. */
function needsOneName({ asked }: Task): boolean {
  if (asked.type !== 'set') return true
  return (asked.ifAbsent ?? asked.ifRevision ?? asked.fromDead) !== undefined
}
