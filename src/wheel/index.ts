/** In-memory timers: `Wheel`, pure, on integer ticks and handles, and `TimingWheel` on it, by key and clock. */
export type { Handle } from './record-table.js'
export { TimingWheel, type TimingWheelOptions } from './timing-wheel.js'
export { type Fire, type Near, Wheel, type WheelOptions, type WheelStats } from './wheel.js'
