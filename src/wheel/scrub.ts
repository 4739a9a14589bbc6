import { catchUp } from './catch-up.js'
import type { FarList } from './far-list.js'
import { recordLayout } from './record-layout.js'
import type { RecordTable } from './record-table.js'
import { slotLayout, type SlotTable } from './slot-table.js'

const { STATE, LAZY, ARMED, SEEN, FLAGS } = recordLayout
const { FAR_SLOT, SLOTS, ENTRIES, TAKEN_IS_MANY } = slotLayout

// Chunks to rewrite at a time: more than can be taken into use between two runs.
const BUDGET = 2 * TAKEN_IS_MANY
// Stale entries that are tolerated, in addition to half the number of timers.
const LITTER_ALLOWED = 1024
// Stale entries that may wait for the next advance, in addition to three times the number of timers.
const FLOOD_ALLOWED = 16_384

/**
 * Keeps the number of stale entries, which cancelled and moved timers leave behind, in proportion to the timers. It
 * visits the slots in turn, a few chunks at a time, and rewrites them without stale entries.
 * Proven by test/wheel/wheel.test.ts.
 */
export class Scrub {
  readonly #records: RecordTable
  readonly #slots: SlotTable
  readonly #far: FarList
  #slot = 0
  // The chunks of that slot that are still to be visited.
  #left = 0

  constructor(records: RecordTable, slots: SlotTable, far: FarList) {
    this.#records = records
    this.#slots = slots
    this.#far = far
  }

  /** Removes some stale entries after an advance, if there are too many. */
  afterAdvance(nowTick: number): void {
    if (this.#slots.entriesAtLeast > this.#records.size * 1.5 + LITTER_ALLOWED) this.#run(nowTick)
  }

  /** Limits stale entries while nobody advances the wheel. Do not call it in the middle of a move. */
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
      // Queue a timer that was moved later now: otherwise every entry that it left behind would have to stay.
      if ((state & FLAGS) === (ARMED | LAZY)) {
        catchUp(records, slots, index)
      } else if ((state & FLAGS) === ARMED && words[record] === due && (state & SEEN) === 0) {
        // A timer that was moved back and forth has an entry for each move. Keep one per chunk.
        words[record | STATE] = state | SEEN
        slots.push(slot, index, due)
      }
    }
    for (let at = chunk + ENTRIES; at < end; at += 2) words[(slots.pool[at]! << 1) | STATE]! &= ~SEEN
    slots.release(chunk)
  }
}
