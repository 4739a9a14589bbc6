import { catchUp } from './catch-up.js'
import type { FarList } from './far-list.js'
import { recordLayout } from './record-layout.js'
import type { RecordTable } from './record-table.js'
import { slotLayout, type SlotTable } from './slot-table.js'

const { STATE, LAZY, ARMED, SEEN, FLAGS } = recordLayout
const { FAR_SLOT, SLOTS, ENTRIES, TAKEN_IS_MANY } = slotLayout

// Chunks rewritten at a time: more than are taken into use between two times.
const BUDGET = 2 * TAKEN_IS_MANY
// Stale entries nobody minds, beside half as many as there are timers.
const LITTER_ALLOWED = 1024
// Stale entries that are let be until the next advance, beside three times as many as there are timers.
const FLOOD_ALLOWED = 16_384

/**
 * Keeps the entries that cancelled and moved timers left behind in proportion to the timers: it goes round the
 * slots, a few chunks at a time, and rewrites them without their stale entries.
 */
export class Scrub {
  readonly #records: RecordTable
  readonly #slots: SlotTable
  readonly #far: FarList
  #slot = 0
  // Chunks of that slot it has still to visit.
  #left = 0

  constructor(records: RecordTable, slots: SlotTable, far: FarList) {
    this.#records = records
    this.#slots = slots
    this.#far = far
  }

  /** Does a little at an advance, if there is need. */
  afterAdvance(nowTick: number): void {
    if (this.#slots.entriesAtLeast > this.#records.size * 1.5 + LITTER_ALLOWED) this.#run(nowTick)
  }

  /** Keeps stale entries in bounds while nobody advances the wheel. No record may be half moved. */
  betweenAdvances(nowTick: number): void {
    const slots = this.#slots
    if (slots.taken <= TAKEN_IS_MANY) return
    slots.taken = 0
    if (slots.entriesAtLeast > this.#records.size * 4 + FLOOD_ALLOWED) this.#run(nowTick)
  }

  clear(): void {
    this.#left = 0
  }

  #run(nowTick: number): void {
    const slots = this.#slots
    for (let left = BUDGET; left > 0; left--) {
      if (this.#left === 0 || slots.tails[this.#slot] === 0) {
        const next = slots.firstUsed(this.#slot + 1, SLOTS)
        const slot = next >= 0 ? next : slots.firstUsed(0, SLOTS)
        if (slot < 0) return
        this.#slot = slot
        this.#left = slots.chunks[slot]!
      }
      this.#left--
      if (this.#slot === FAR_SLOT) this.#far.visit(1, nowTick)
      else this.#rewrite(this.#slot)
    }
  }

  #rewrite(slot: number): void {
    const records = this.#records
    const slots = this.#slots
    const { words } = records
    const end = slots.frontEnd(slot)
    const chunk = slots.shift(slot)
    for (let at = chunk + ENTRIES; at < end; at += 2) {
      const index = slots.pool[at]!
      const due = slots.pool[at | 1]!
      const record = index << 1
      const state = words[record | STATE]!
      // One that was moved later is queued now: else each entry it left behind would have to be kept.
      if ((state & FLAGS) === (ARMED | LAZY)) {
        catchUp(records, slots, index)
      } else if ((state & FLAGS) === ARMED && words[record] === due && (state & SEEN) === 0) {
        // One that was moved back and forth has an entry for every time: one of a chunk is enough.
        words[record | STATE] = state | SEEN
        slots.push(slot, index, due)
      }
    }
    for (let at = chunk + ENTRIES; at < end; at += 2) words[(slots.pool[at]! << 1) | STATE]! &= ~SEEN
    slots.release(chunk)
  }
}
