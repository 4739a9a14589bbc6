import { nameKey } from '../../timer/index.js'
import { PlainTask, type Task } from './task.js'

type Waiting = Task | PlainTask

// This many plain sets get a write of their own. Fewer share one with the operations behind them.
const WORTH_OWN_WRITE = 256

/** The operations that wait to be written to a shard, in the order in which they came. */
export class TaskQueue {
  #waiting: Waiting[] = []
  #length = 0
  #plainTasks = 0
  // How many operations were given up since the queue last dropped such. Some of them may be elsewhere by now.
  #givenUp = 0

  /** How many operations wait. */
  get length(): number {
    return this.#length
  }

  push(task: Waiting): void {
    task.queue = this
    this.#waiting.push(task)
    if (task instanceof PlainTask) {
      this.#plainTasks++
      this.#length += task.length
    } else this.#length++
  }

  /** Puts tasks in front. */
  putBack(tasks: readonly Task[]): void {
    this.#waiting = [...tasks, ...this.#waiting]
    this.#length += tasks.length
  }

  /** Takes the single operations that `isWanted`, in their order. */
  takeWhere(isWanted: (task: Task) => boolean): readonly Task[] {
    const taken = this.#waiting.filter((task): task is Task => !(task instanceof PlainTask) && isWanted(task))
    if (taken.length === 0) return taken
    const left = new Set<Waiting>(taken)
    this.#waiting = this.#waiting.filter((task) => !left.has(task))
    this.#length -= taken.length
    return taken
  }

  /** Takes everything. */
  takeAll(): Waiting[] {
    this.#length = 0
    this.#plainTasks = 0
    return this.#waiting.splice(0)
  }

  /** Operations were given up. They are dropped before the next batch is taken, or once they could be half of all. */
  onGivenUp(count: number): void {
    this.#givenUp += count
    if (this.#givenUp * 2 >= this.#length) this.#dropGivenUp()
  }

  #dropGivenUp(): void {
    this.#givenUp = 0
    const waiting = this.#waiting
    this.#waiting = []
    this.#length = 0
    this.#plainTasks = 0
    for (const task of waiting) if (!task.isGivenUp) this.push(task)
  }

  /**
   * Takes the next operations, up to `most`, or the next plain sets if they are many or alone. Two operations that depend
   * on the same timer's current row never share a batch (rule 8). Neither do operations that must wait for the inbox and
   * operations that need not (rule 3).
   */
  takeBatch(most: number): readonly Task[] | PlainTask {
    if (this.#givenUp > 0) this.#dropGivenUp()
    const [first] = this.#waiting
    if (first instanceof PlainTask && first.length <= most) {
      if (first.length >= WORTH_OWN_WRITE || this.#waiting.length === 1) {
        this.#waiting.shift()
        this.#plainTasks--
        this.#length -= first.length
        return first
      }
    }
    if (this.#plainTasks > 0) this.#unfold(most)
    const count = this.#countOf(most)
    this.#length -= count
    return this.#waiting.splice(0, count) as Task[]
  }

  /** Turns the plain sets among the next operations into tasks, except those that get a write of their own. */
  #unfold(most: number): void {
    const tasks: Waiting[] = []
    let next = 0
    for (; next < this.#waiting.length && tasks.length < most; next++) {
      const task = this.#waiting[next]!
      if (!(task instanceof PlainTask)) tasks.push(task)
      else if (next > 0 && task.length >= WORTH_OWN_WRITE) break
      else {
        for (const each of task.tasks()) tasks.push(each)
        this.#plainTasks--
      }
    }
    this.#waiting = [...tasks, ...this.#waiting.slice(next)]
  }

  /** How many of the first tasks may share a batch. */
  #countOf(most: number): number {
    const mayPassInbox = this.#waiting[0]?.mayPassInbox
    const limit = Math.min(most, this.#waiting.length)
    let names: Set<string> | undefined
    for (let count = 0; count < limit; count++) {
      const task = this.#waiting[count]!
      if (task instanceof PlainTask || task.mayPassInbox !== mayPassInbox) return count
      if (names === undefined && needsOneName(task)) {
        names = new Set(this.#waiting.slice(0, count).map((before) => nameKey((before as Task).asked)))
      }
      if (names === undefined) continue
      const name = nameKey(task.asked)
      if (names.has(name)) return count
      names.add(name)
    }
    return limit
  }
}

/** Whether its outcome depends on the current row of its name. */
function needsOneName({ asked }: Task): boolean {
  if (asked.type !== 'set') return true
  return (asked.ifAbsent ?? asked.ifRevision ?? asked.fromDead) !== undefined
}
