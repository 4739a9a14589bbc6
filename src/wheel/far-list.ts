import { recordLayout } from './record-layout.js'
import type { RecordTable } from './record-table.js'
import { slotLayout, type SlotTable } from './slot-table.js'

const { STATE, OVERDUE, WIDE, LAZY, ARMED, FLAGS } = recordLayout
const { FAR_SLOT, ENTRIES } = slotLayout

// A far timer is brought near when it is within 2^30 ticks, at leisure, and at the latest at half of that.
const LEISURE = 2 ** 30
const LIMIT = 2 ** 29
const ALL = 0x7fff_ffff

/**
 * The timers due 2^31 ticks or more from when they were set or moved, in a slot of their own. They are visited
 * a little at a time, and those that have come near by then go into the levels, long before they are due.
 */
export class FarList {
  /** A lower bound of the due ticks. */
  earliest = Infinity

  readonly #records: RecordTable
  readonly #slots: SlotTable
  // A pass under way: chunks it has still to visit, earliest of those it left here.
  #left = 0
  #kept = Infinity

  constructor(records: RecordTable, slots: SlotTable) {
    this.#records = records
    this.#slots = slots
  }

  /** The tick at which all must be visited, if they are not until then. */
  get lastCall(): number {
    return this.earliest - LIMIT - 1
  }

  /** Gives an armed record a due tick that is far. */
  add(index: number, dueTick: number): void {
    const { words, wideDues } = this.#records
    const state = words[(index << 1) | STATE]!
    const isUnmoved = (state & WIDE) !== 0 && wideDues[index] === dueTick
    if (!isUnmoved) this.#put(index, dueTick)
  }

  visitAll(nowTick: number): void {
    this.visit(ALL, nowTick)
  }

  /** Visits as many as make it in time if this is called at every tick. */
  visitAtLeisure(nowTick: number): void {
    const until = this.earliest - nowTick
    if (until < LEISURE)
      this.visit(1 + Math.trunc(this.#slots.chunks[FAR_SLOT]! / Math.max(until - LIMIT, 1)), nowTick)
  }

  /** Visits up to `budget` chunks. */
  visit(budget: number, nowTick: number): void {
    const slots = this.#slots
    if (this.#left === 0) {
      this.#left = slots.chunks[FAR_SLOT]!
      this.#kept = Infinity
    }
    for (let left = budget; left > 0 && this.#left > 0; left--) {
      this.#left--
      const end = slots.frontEnd(FAR_SLOT)
      const chunk = slots.shift(FAR_SLOT)
      for (let at = chunk + ENTRIES; at < end; at += 2) {
        this.#visitEntry(slots.pool[at]!, slots.pool[at | 1]!, nowTick)
      }
      slots.release(chunk)
    }
    if (this.#left === 0) this.earliest = this.#kept
  }

  clear(): void {
    this.earliest = Infinity
    this.#left = 0
  }

  #visitEntry(index: number, due: number, nowTick: number): void {
    const { words, wideDues } = this.#records
    const at = index << 1
    const state = words[at | STATE]!
    if ((state & FLAGS) !== (ARMED | WIDE) || words[at] !== due) return
    const dueTick = wideDues[index]!
    const distance = dueTick - nowTick
    if ((distance | 0) !== distance) {
      this.#put(index, dueTick)
    } else {
      words[at | STATE] = state & ~WIDE
      this.#slots.enqueue(index, due)
    }
  }

  #put(index: number, dueTick: number): void {
    const { words } = this.#records
    const at = index << 1
    const due = dueTick | 0
    words[at] = due
    words[at | STATE] = (words[at | STATE]! & ~(LAZY | OVERDUE)) | WIDE
    this.#records.keepWideDue(index, dueTick)
    this.earliest = Math.min(this.earliest, dueTick)
    this.#kept = Math.min(this.#kept, dueTick)
    this.#slots.push(FAR_SLOT, index, due)
  }
}
