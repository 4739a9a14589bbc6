/** The front door: `openTimers`, and the types of its calls. */
export type { Drained, DrainOptions } from './deliver/drain.js'
export type { HistoryPolicy, TimerEvent } from './read/history-policy.js'
export type { CallOptions } from './call/calls.js'
export { leftOutText, WarningLimit } from './event/warning-limit.js'
export {
  type AnyKind,
  type KindOptions,
  type StoredPayload,
  timer,
  type TimerKind,
  type UnknownKind,
} from './kind/kind.js'
export type {
  AckOptions,
  AckOutcome,
  ExtendOutcome,
  LeaseRequestOptions,
  ReleaseOptions,
  ReleaseOutcome,
} from './deliver/leases.js'
export { openTimers, type ServerUrl, type TimersOptions } from './open-timers.js'
export type { RemoteTimers } from './remote/remote-timers.js'
export type { ForecastOptions, ForecastSlice, Why } from './read/records.js'
export type { ListOrder } from './read/due-order.js'
export type { CountOptions, ListOptions, PageOptions } from './read/timer-lists.js'
export type { CountedTimers, ListedTimers, TimerQuery } from './read/timer-query.js'
export type { RedriveAnswer, Redriven, RedrivenBeside } from './change/redrives.js'
export type { StandardSchema } from './kind/schema.js'
export type { Many, WhichDead } from './change/selection.js'
export { firstTry } from './set/repeated-sets.js'
export type { SetManyRow, SetOptions } from './set/set-request.js'
export type { Paused, PauseOptions } from './change/pauses.js'
export type { PauseOutcome, ResumeOutcome } from './change/timer-pauses.js'
export type {
  DeadView,
  PauseView,
  QuotaLimits,
  QuotaView,
  SetTimer,
  SetTimers,
  TimerView,
} from '../timer/index.js'
export { type Cause, type CauseCode, instanceCauses } from './diagnose/causes.js'
export type { KindHere } from './deliver/firing-router.js'
export { eventLog } from './event/event-log.js'
export type { Logger, TimersEvent } from './event/timers-event.js'
export type { TimerChange } from './change/each-change.js'
export type { ManyOptions, ManyOutcome } from './change/many-changes.js'
export type { TransactionTimers } from './transaction/transaction-timers.js'
export type { TimersApi } from './front-door.js'
export { Timers } from './timers.js'
export type { TimersParts } from './timers-parts.js'
export type { DeliveryReport, KindDelivery } from './deliver/delivery-report.js'
export type { TimersStats } from './timers-stats.js'
export type { CancelOutcome, ChangeOptions, MoveOutcome } from './change/changes.js'
export type { Instant, When } from './when.js'
