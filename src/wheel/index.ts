/** In-memory timers: `Wheel`, with integer ticks and handles, and on top of it `TimingWheel`, with keys and a clock. */
export type { Handle } from './record-table.js'
export { TimingWheel, type TimingWheelOptions } from './timing-wheel.js'
export { type Fire, type Near, Wheel, type WheelOptions, type WheelStats } from './wheel.js'
