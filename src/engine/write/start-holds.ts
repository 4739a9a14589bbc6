import { nameKey, type TimerName, type TimerRow } from '../../timer/index.js'

interface Hold {
  /** How many reasons there are to hold the row. */
  count: number
  readonly parked: number[]
}

/**
 * Rows that must not start yet, by their revision or by their name: a write that may change them is not applied
 * yet (rules 3 and 8).
 */
export class StartHolds {
  readonly #holds = new Map<number | string, Hold>()

  /** From now on the row with this revision does not start, until it is released as often as it was held. */
  hold(revision: number): void {
    this.#hold(revision)
  }

  /** The same for all rows of a name. */
  holdName(name: TimerName): void {
    this.#hold(nameKey(name))
  }

  /** Ends a hold. Answers the tokens of rows that were parked meanwhile, if no other hold is left. */
  release(revision: number): readonly number[] {
    return this.#release(revision)
  }

  releaseName(name: TimerName): readonly number[] {
    return this.#release(nameKey(name))
  }

  #hold(key: number | string): void {
    const hold = this.#holds.get(key)
    if (hold === undefined) this.#holds.set(key, { count: 1, parked: [] })
    else hold.count++
  }

  #release(key: number | string): readonly number[] {
    const hold = this.#holds.get(key)
    if (hold === undefined || --hold.count > 0) return []
    this.#holds.delete(key)
    return hold.parked
  }

  /** Whether all rows of a name are held. */
  isNameHeld(name: TimerName): boolean {
    return this.#holds.size > 0 && this.#holds.has(nameKey(name))
  }

  /** Parks a row that is held. Answers false if it may start. */
  park(row: TimerRow, token: number): boolean {
    if (this.#holds.size === 0) return false
    const hold = this.#holds.get(row.revision) ?? this.#holds.get(nameKey(row))
    if (hold === undefined) return false
    hold.parked.push(token)
    return true
  }
}
