/** The in-memory timing wheel: `Wheel` on integer ticks. */
export type { Handle } from './record-table.js'
export { type Fire, Wheel, type WheelOptions, type WheelStats } from './wheel.js'
