/** The front door: openTimers, and what goes through it. */
export type { Drained, DrainOptions } from './drain.js'
export type { HistoryPolicy, TimerEvent } from './history-policy.js'
export { type AnyKind, type KindOptions, timer, type TimerKind } from './kind.js'
export type {
  AckOptions,
  AckOutcome,
  ExtendOutcome,
  LeaseRequestOptions,
  ReleaseOptions,
  ReleaseOutcome,
} from './leases.js'
export { openTimers, type TimersOptions } from './open-timers.js'
export type { RemoteTimers } from './remote/remote-timers.js'
export type { ForecastOptions, ForecastSlice, PageOptions, TimerQuery, Why } from './records.js'
export type { RedriveAnswer, Redriven, RedrivenBeside } from './redrives.js'
export type { StandardSchema } from './schema.js'
export type { Many, WhichDead } from './selection.js'
export type { SetManyRow, SetOptions } from './set-request.js'
export type { PauseOutcome, ResumeOutcome } from './timer-pauses.js'
export type { DeadView, QuotaLimits, QuotaView, SetTimer, SetTimers, TimerView } from '../timer/index.js'
export type { Logger, TimersEvent } from './timers-event.js'
export type { ManyOptions, ManyOutcome } from './many-changes.js'
export type { TransactionSets } from './transaction-sets.js'
export {
  type CancelOutcome,
  type ChangeOptions,
  type MoveOutcome,
  Timers,
  type TimersApi,
  type TimersParts,
  type TimersStats,
} from './timers.js'
export type { Instant, When } from './when.js'
