import { nameKey, type TimerName } from '../timer/index.js'
import type { InboxRequest } from './store.js'

/** The name of the timer that a request may store; undefined if it is not a set. */
export function nameOfSet({ operation }: InboxRequest): TimerName | undefined {
  return operation.type === 'set' ? operation : undefined
}

/** How many sets of an inbox wait for each name. */
export class RequestNames {
  readonly #counts = new Map<string, number>()

  add(request: InboxRequest): void {
    this.#change(request, 1)
  }

  remove(request: InboxRequest): void {
    this.#change(request, -1)
  }

  countOf(name: TimerName): number {
    return this.#counts.get(nameKey(name)) ?? 0
  }

  #change(request: InboxRequest, by: number): void {
    const name = nameOfSet(request)
    if (name === undefined) return
    const key = nameKey(name)
    const count = (this.#counts.get(key) ?? 0) + by
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }
}
