import { InvalidInputError, shown } from '../../error/index.js'
import type { TaskPayload } from '../memory/task-payload.js'
import type { TimerHandle } from '../memory/timer-handle.js'

/** A function that a pool's module exports. A promise that it returns is awaited. */
export type Task = (payload: TaskPayload, handle: TimerHandle) => unknown

/** The names of a pool's tasks. Each has a number: its place among the functions that the module exports. */
export class TaskNames {
  #names: readonly string[] = []
  #numbers: ReadonlyMap<string, number> = new Map()
  // Timers are mostly set for the same task as the one before.
  #lastName: string | undefined
  #lastNumber = 0

  /** The module is loaded, and these are its functions. */
  define(names: readonly string[]): void {
    this.#names = names
    this.#lastName = undefined
    this.#numbers = new Map(names.map((name, number) => [name, number]))
  }

  nameOf(number: number): string {
    return this.#names[number] ?? `task ${number}`
  }

  numberOf(name: string): number {
    if (name === this.#lastName) return this.#lastNumber
    const number = this.#numbers.get(name)
    if (number !== undefined) {
      this.#lastName = name
      return (this.#lastNumber = number)
    }
    const known = this.#names.length > 0 ? `its functions: ${this.#names.join(', ')}` : 'it is not loaded yet'
    throw new InvalidInputError('task-unknown', `the module has no function ${shown(name)}; ${known}`)
  }
}

/** The functions that a module exports, in the order of their names. */
export function tasksOf(exported: Readonly<Record<string, unknown>>): ReadonlyMap<string, Task> {
  return new Map(
    Object.entries(exported)
      .filter((entry): entry is [string, Task] => typeof entry[1] === 'function')
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}
