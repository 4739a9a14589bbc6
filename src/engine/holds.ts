import type { TimerName, TimerRow } from '../timer/index.js'

/**
 * What must not start, or not yet: rows whose move or cancel is on its way to the store, and rows that a `set`
 * of unknown outcome turned out to have replaced.
 */
export class Holds {
  readonly #parked = new Map<number, number[]>()
  readonly #replaced = new Map<string, { readonly revision: number; readonly until: number }>()

  /** From now on the row of this revision does not start. */
  hold(revision: number): void {
    this.#parked.set(revision, [])
  }

  /** Ends a hold and answers the tokens that wanted to start meanwhile. */
  release(revision: number): readonly number[] {
    const parked = this.#parked.get(revision) ?? []
    this.#parked.delete(revision)
    return parked
  }

  isHeld(revision: number): boolean {
    return this.#parked.size > 0 && this.#parked.has(revision)
  }

  /** Parks a row that is held; false when it is free to start. */
  park(revision: number, token: number): boolean {
    if (this.#parked.size === 0) return false
    const parked = this.#parked.get(revision)
    if (parked === undefined) return false
    parked.push(token)
    return true
  }

  /** Rows of this name before `revision` were replaced, whichever they are; forgotten once `until` is settled. */
  replacedBefore(name: TimerName, revision: number, until: number): void {
    this.#replaced.set(nameOf(name), { revision, until })
  }

  /** Whether the row is known to have been replaced. */
  isStale(row: TimerRow): boolean {
    if (this.#replaced.size === 0) return false
    const replaced = this.#replaced.get(nameOf(row))
    return replaced !== undefined && row.revision < replaced.revision
  }

  /** Everything before `position` is settled. */
  settledTo(position: number): void {
    for (const [name, { until }] of this.#replaced) {
      if (until < position) this.#replaced.delete(name)
    }
  }
}

function nameOf(name: TimerName): string {
  return `${name.namespace}\0${name.kind}\0${name.key}`
}
