/** The front door: openTimers, and what goes through it. */
export { type KindOptions, timer, type TimerKind } from './kind.js'
export { openTimers, type TimersOptions } from './open-timers.js'
export {
  type CancelOutcome,
  type MoveOutcome,
  type SetManyRow,
  type SetOptions,
  type SetTimer,
  Timers,
  type TimersStats,
  type TimerView,
} from './timers.js'
export type { Instant, When } from './when.js'
