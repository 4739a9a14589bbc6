import { recordLayout } from './record-layout.js'
import type { RecordTable } from './record-table.js'
import { slotLayout, type SlotTable } from './slot-table.js'

const { STATE, OVERDUE, WIDE, LAZY, ARMED, FLAGS } = recordLayout
const { FAR_SLOT, ENTRIES } = slotLayout

// A far timer is moved into the levels little by little from 2^30 ticks before it is due, and at the latest 2^29
// before.
const LEISURE = 2 ** 30
const LIMIT = 2 ** 29
const ALL = 0x7fff_ffff

/**
 * Timers that were due in 2^31 ticks or more when they were set or moved, in a slot of their own. They are visited a
 * few at a time. Those that have come near by then move into the wheel levels, long before they are due.
 * Proven by test/wheel/wheel.test.ts and test/wheel/wheel-differential.test.ts.
 */
export class FarList {
  /** A lower bound of the due ticks. */
  earliest = Infinity

  readonly #records: RecordTable
  readonly #slots: SlotTable
  // The pass under way: the chunks it still has to visit, and the earliest due tick that it left here.
  #left = 0
  #kept = Infinity

  constructor(records: RecordTable, slots: SlotTable) {
    this.#records = records
    this.#slots = slots
  }

  /** The last tick at which all must be visited. */
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

  /** Visits a few: enough to finish in time if it is called at every tick. */
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
