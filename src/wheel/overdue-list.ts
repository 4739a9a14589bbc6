import { recordLayout } from './record-layout.js'
import type { RecordTable } from './record-table.js'

const { STATE, OVERDUE, WIDE, LAZY, ARMED, FLAGS } = recordLayout

/**
 * Timers that were set or moved to a tick at or before the wheel's, with their exact due ticks. The due word of an
 * OVERDUE record is the mark of its place in this list. Marks are never reused, so at most one place refers to a
 * record, and a list that was taken can tell which of its timers were moved or cancelled since.
 * Proven by test/wheel/wheel.test.ts and test/wheel/wheel-differential.test.ts.
 */
export class OverdueList {
  /** A lower bound of the due ticks. */
  earliest = Infinity

  readonly #records: RecordTable
  #indices: Int32Array = new Int32Array(FIRST_PLACES)
  #dueTicks: Float64Array = new Float64Array(FIRST_PLACES)
  #count = 0
  #firstMark = 0

  constructor(records: RecordTable) {
    this.#records = records
  }

  /** The number of places, including those of timers that were moved or cancelled since. */
  get places(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#indices.byteLength + this.#dueTicks.byteLength
  }

  add(index: number, dueTick: number): void {
    if (this.#count === this.#indices.length) this.#makeRoom()
    const { words } = this.#records
    const at = index << 1
    words[at | STATE] = (words[at | STATE]! & ~(LAZY | WIDE)) | OVERDUE
    this.#put(index, dueTick)
    if (dueTick < this.earliest) this.earliest = dueTick
  }

  dueTickOf(index: number): number {
    return this.#dueTicks[(this.#records.words[index << 1]! - this.#firstMark) | 0]!
  }

  /** Takes all current timers, by due tick. Those of one tick are in the order in which they were added. */
  take(): TakenList {
    const live = this.#compact()
    const taken: TakenList = {
      indices: this.#indices.slice(0, live),
      dueTicks: this.#dueTicks.slice(0, live),
      marks: new Int32Array(live),
    }
    const order = inDueOrder(taken.dueTicks)
    for (let k = 0; k < live; k++) {
      const place = order === undefined ? k : order[k]!
      taken.indices[k] = this.#indices[place]!
      taken.dueTicks[k] = this.#dueTicks[place]!
      taken.marks[k] = (this.#firstMark + place) | 0
    }
    this.clear()
    return taken
  }

  /** Whether a timer is unchanged since its list was taken: neither moved nor cancelled. */
  isCurrent(index: number, mark: number): boolean {
    const { words } = this.#records
    const at = index << 1
    return (words[at | STATE]! & FLAGS) === (ARMED | OVERDUE) && words[at] === mark
  }

  clear(): void {
    this.#firstMark = (this.#firstMark + this.#count) | 0
    this.#count = 0
    this.earliest = Infinity
  }

  #put(index: number, dueTick: number): void {
    const place = this.#count++
    this.#indices[place] = index
    this.#dueTicks[place] = dueTick
    this.#records.words[index << 1] = (this.#firstMark + place) | 0
  }

  /** Closes the gaps that cancelled and moved timers left. Returns how many timers remain. */
  #compact(): number {
    const count = this.#count
    const firstMark = this.#firstMark
    // Use new marks, so that a place that is not rewritten yet cannot be confused with one that is.
    this.clear()
    for (let place = 0; place < count; place++) {
      const index = this.#indices[place]!
      if (this.isCurrent(index, (firstMark + place) | 0)) this.#put(index, this.#dueTicks[place]!)
    }
    return this.#count
  }

  #makeRoom(): void {
    const { earliest } = this
    const live = this.#compact()
    this.earliest = earliest
    if (live * 2 < this.#indices.length) return
    const [indices, dueTicks] = [this.#indices, this.#dueTicks]
    this.#indices = new Int32Array(indices.length * 2)
    this.#indices.set(indices)
    this.#dueTicks = new Float64Array(indices.length * 2)
    this.#dueTicks.set(dueTicks)
  }
}

export interface TakenList {
  readonly indices: Int32Array
  readonly dueTicks: Float64Array
  readonly marks: Int32Array
}

const FIRST_PLACES = 64

/**
 * The indices of the due ticks in ascending order; undefined if they are sorted already. The native sort of numbers is
 * many times faster than one with a comparison function. So due tick and index are packed into one number if the two
 * fit into its 53 bits.
 */
function inDueOrder(dueTicks: Float64Array): Float64Array | undefined {
  const count = dueTicks.length
  let earliest = Infinity
  let latest = -Infinity
  let isSorted = true
  for (let i = 0; i < count; i++) {
    const dueTick = dueTicks[i]!
    if (dueTick < latest) isSorted = false
    if (dueTick < earliest) earliest = dueTick
    if (dueTick > latest) latest = dueTick
  }
  if (isSorted) return undefined
  const span = 2 ** Math.ceil(Math.log2(count))
  const order = new Float64Array(count)
  if ((latest - earliest + 1) * span <= 2 ** 53) {
    for (let i = 0; i < count; i++) order[i] = (dueTicks[i]! - earliest) * span + i
    order.sort()
    for (let i = 0; i < count; i++) order[i] = order[i]! % span
    return order
  }
  for (let i = 0; i < count; i++) order[i] = i
  return order.sort((a, b) => dueTicks[a]! - dueTicks[b]! || a - b)
}
