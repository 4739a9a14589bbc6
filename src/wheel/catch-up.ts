import { recordLayout } from './record-layout.js'
import type { RecordTable } from './record-table.js'
import type { SlotTable } from './slot-table.js'

const { STATE, LAZY } = recordLayout

/** Queues a timer that was moved later and has no entry at its new due tick yet. */
export function catchUp(records: RecordTable, slots: SlotTable, index: number): void {
  const { words } = records
  const at = index << 1
  words[at | STATE]! &= ~LAZY
  slots.enqueue(index, words[at]!)
}
