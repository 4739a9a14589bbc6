/** The front door: openTimers, and what goes through it. */
export type { HistoryPolicy, TimerEvent } from './history-policy.js'
export { type KindOptions, timer, type TimerKind } from './kind.js'
export { openTimers, type TimersOptions } from './open-timers.js'
export type { ForecastOptions, ForecastSlice, PageOptions, TimerQuery, Why } from './records.js'
export type { StandardSchema } from './schema.js'
export type { SetManyRow, SetOptions } from './set-request.js'
export type { DeadView, TimerView } from './timer-view.js'
export type { Logger, TimersEvent } from './timers-event.js'
export {
  type CancelOutcome,
  type DrainOptions,
  type Many,
  type ManyOptions,
  type ManyOutcome,
  type MoveOutcome,
  type SetTimer,
  Timers,
  type TimersStats,
} from './timers.js'
export type { Instant, When } from './when.js'
