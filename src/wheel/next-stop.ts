import { slotLayout, type SlotTable } from './slot-table.js'

const { LEVEL_SLOTS } = slotLayout

/**
 * The number of ticks to the wheel's next stop: where entries fire, or where a block of coarser slots begins that must
 * be spread to finer ones. Infinity if there is neither. It only reads the bitmap of used slots, so an hour without
 * timers costs as little as a millisecond.
 */
export function ticksToNextStop(slots: SlotTable): number {
  const { low } = slots
  for (let level = 0; level < 3; level++) {
    const shift = level * 8
    const base = level * LEVEL_SLOTS
    const block = low >>> shift
    const here = block & 511
    const end = (here & 256) + 256
    const found = slots.firstUsed(base + here + 1, base + end)
    if (found >= 0) return ticksTo(found - base - here, shift, low)
    // The other half is the next block of the parent level. The wheel stops at its start.
    const next = base + (end & 511)
    if (slots.firstUsed(next, next + 256) >= 0) return ticksTo(end - here, shift, low)
  }
  // The coarsest level is a ring of 256 slots. Fewer than half of them can be in use.
  const here = low >>> 24
  const base = 3 * LEVEL_SLOTS
  const found = slots.firstUsed(base + here + 1, base + 256)
  if (found >= 0) return ticksTo(found - base - here, 24, low)
  const wrapped = slots.firstUsed(base, base + here)
  return wrapped >= 0 ? ticksTo(wrapped - base + 256 - here, 24, low) : Infinity
}

function ticksTo(blocksAhead: number, shift: number, low: number): number {
  return blocksAhead * (1 << shift) - (low & ((1 << shift) - 1))
}
