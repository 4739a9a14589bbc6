import { nameText } from '../timer/index.js'
import { PlainTask, type Task } from './task.js'

type Waiting = Task | PlainTask

// So many plain sets are worth a write of their own; fewer share one with what waits behind them.
const LONG = 256

/** What waits to be written to a shard, in the order it came. */
export class TaskQueue {
  #waiting: Waiting[] = []
  #length = 0
  // How many plain tasks are among them.
  #plain = 0

  /** How many operations wait. */
  get length(): number {
    return this.#length
  }

  push(task: Waiting): void {
    this.#waiting.push(task)
    if (task instanceof PlainTask) {
      this.#plain++
      this.#length += task.length
    } else this.#length++
  }

  /** Puts tasks before all that wait. */
  putBack(tasks: readonly Task[]): void {
    this.#waiting = [...tasks, ...this.#waiting]
    this.#length += tasks.length
  }

  /** Takes all that wait. */
  takeAll(): Waiting[] {
    this.#length = 0
    this.#plain = 0
    return this.#waiting.splice(0)
  }

  /**
   * The next operations, up to `most`, or the next plain sets, if they are many or alone. What depends on the row that
   * stands shares no batch with its like, nor what may be written at once with what the inbox comes before.
   */
  take(most: number): readonly Task[] | PlainTask {
    const [first] = this.#waiting
    if (first instanceof PlainTask && first.length <= most) {
      if (first.length >= LONG || this.#waiting.length === 1) {
        this.#waiting.shift()
        this.#plain--
        this.#length -= first.length
        return first
      }
    }
    if (this.#plain > 0) this.#unfold(most)
    const count = this.#countOf(most)
    this.#length -= count
    return this.#waiting.splice(0, count) as Task[]
  }

  /** Makes tasks of the plain sets among the next operations, but for many that can go by themselves. */
  #unfold(most: number): void {
    const tasks: Waiting[] = []
    let next = 0
    for (; next < this.#waiting.length && tasks.length < most; next++) {
      const task = this.#waiting[next]!
      if (!(task instanceof PlainTask)) tasks.push(task)
      else if (next > 0 && task.length >= LONG) break
      else {
        for (const each of task.tasks()) tasks.push(each)
        this.#plain--
      }
    }
    this.#waiting = [...tasks, ...this.#waiting.slice(next)]
  }

  /** How many of the first go together. */
  #countOf(most: number): number {
    const isNext = this.#waiting[0]?.isNext
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

/** Whether what comes of it depends on the row of its name, so that it shares no batch with another. */
function needsOneName({ asked }: Task): boolean {
  if (asked.type !== 'set') return true
  return (asked.ifAbsent ?? asked.ifRevision ?? asked.fromDead) !== undefined
}
