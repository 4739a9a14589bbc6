import type { RowPage } from '../../store/index.js'
import { isBefore, type Place, type TimerRow } from '../../timer/index.js'
import type { Attempt } from '../fire/attempt.js'
import { WINDOW_ROW_BYTES } from '../defaults.js'

/** The states of a row in memory. */
export const entryState = Object.freeze({
  /** In the wheel. */
  WAITING: 0,
  /** Due, waiting to be started. */
  READY: 1,
  /** An attempt is under way. */
  STARTED: 2,
  /** Its attempt ended, or has to be recorded first: the next settlement writes what follows. */
  REPORTED: 3,
  /** Finished: it is counted when the level passes it. */
  DONE: 4,
  /** Nothing more to do with this version of the row. */
  GONE: 5,
  /** A settlement that rewrites the row is on its way. The row was `STARTED`, `READY`, `REPORTED` or `HELD` before. */
  LEAVING: 6,
  /** Its attempt was handed over with the shard: another process runs it. */
  HELD: 7,
})

const { WAITING, DONE, GONE, HELD } = entryState

/** Rows in memory that came together. Their states say which of them still hold the settled level back. */
export class WindowPage {
  readonly size: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly states: Uint8Array
  /** The wheel's entry ids of rows that wait. */
  readonly wheelEntries: Float64Array
  readonly attempts: (Attempt | undefined)[] = []
  readonly isSorted: boolean
  /** Entries that are not gone. */
  live: number
  /** Only entries before this index are found by place: later ones were dropped, and may be in another page by now. */
  reach: number
  readonly #page: RowPage
  readonly #bytesEach: number
  // No entry before this index holds the level back; only for sorted pages.
  #clear = 0
  // No entry before this index is anything but gone; only for sorted pages.
  #settled = 0
  // The entry that holds the level back in an unsorted page; -1 if it must be searched.
  #lowest = -1

  constructor(page: RowPage, isSorted: boolean) {
    this.#page = page
    this.#bytesEach = Math.ceil(page.bytes / Math.max(1, page.size))
    this.size = page.size
    this.live = page.size
    this.reach = page.size
    this.positions = page.positions
    this.revisions = page.revisions
    this.states = new Uint8Array(page.size)
    this.wheelEntries = new Float64Array(page.size)
    this.isSorted = isSorted
  }

  row(index: number): TimerRow {
    return this.#page.row(index)
  }

  place(index: number): Place {
    return { position: this.positions[index]!, revision: this.revisions[index]! }
  }

  /** Whether its position is later than its due time. */
  isLate(index: number): boolean {
    return this.positions[index]! > this.#page.dueAts[index]!
  }

  isBefore(index: number, level: Place): boolean {
    const position = this.positions[index]!
    return (
      position < level.position || (position === level.position && this.revisions[index]! < level.revision)
    )
  }

  /** An entry that was to be removed stays: it may hold the level back before the entries found so far. */
  rewind(): void {
    this.#clear = this.#settled
    this.#lowest = -1
  }

  /** The first entry in place order that holds the level back; -1 when none does. */
  firstHolding(): number {
    const { states, size } = this
    if (this.isSorted) {
      while (this.#clear < size && !holds(states[this.#clear]!)) this.#clear++
      return this.#clear < size ? this.#clear : -1
    }
    if (this.#lowest >= 0 && holds(states[this.#lowest]!)) return this.#lowest
    let lowest = -1
    for (let index = 0; index < size; index++) {
      if (holds(states[index]!) && (lowest < 0 || isBefore(this.place(index), this.place(lowest))))
        lowest = index
    }
    this.#lowest = lowest
    return lowest
  }

  /** Calls `visit` for every entry before `level` that is not gone. */
  eachBefore(level: Place, visit: (index: number) => void): void {
    const { states, size } = this
    for (let index = this.isSorted ? this.#settled : 0; index < size; index++) {
      if (!this.isBefore(index, level)) {
        if (this.isSorted) return
        continue
      }
      if (states[index] !== GONE) visit(index)
    }
  }

  /** How many entries before `level` are done. */
  countDone(level: Place): number {
    let count = 0
    this.eachBefore(level, (index) => {
      if (this.states[index] === DONE) count++
    })
    return count
  }

  /** Drops entries before `level` that are done: they are settled now. */
  settle(level: Place): void {
    this.eachBefore(level, (index) => {
      if (this.states[index] === DONE) this.remove(index)
    })
    while (this.isSorted && this.#settled < this.size && this.states[this.#settled] === GONE) this.#settled++
  }

  /** Marks an entry as gone. */
  remove(index: number): void {
    if (this.states[index] === GONE) return
    this.states[index] = GONE
    this.live--
    if (this.attempts.length > 0) this.attempts[index] = undefined
  }

  /** The index of the entry at this place; -1 when the page has none. Only for sorted pages. */
  indexOf(place: Place): number {
    const low = this.firstNotBefore(place)
    return low < this.reach &&
      this.revisions[low] === place.revision &&
      this.positions[low] === place.position
      ? low
      : -1
  }

  /** The index of the first entry at or after `level`. Only for sorted pages. */
  firstNotBefore(level: Place): number {
    let low = 0
    let high = this.reach
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.isBefore(middle, level)) low = middle + 1
      else high = middle
    }
    return low
  }

  /** About how many bytes an entry takes in memory. */
  bytesAt(index: number): number {
    return WINDOW_ROW_BYTES + (this.isSorted ? this.#bytesEach : this.#page.row(index).payload.length)
  }

  isWaiting(index: number): boolean {
    return this.states[index] === WAITING
  }
}

function holds(state: number): boolean {
  return state < DONE || state === HELD
}
