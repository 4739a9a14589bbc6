/** The timers of a Carillon server, over HTTP. This folder needs no Node API, so it also runs in browsers. */
export { Client } from './client.js'
export type { ClientOptions } from './client-options.js'
export type {
  AckOptions,
  CancelAnswer,
  ChangeOptions,
  ForecastQuery,
  HistoryQuery,
  KindGiven,
  LeaseAnswer,
  LeaseAnswered,
  LeasedTimer,
  LeaseOptions,
  MoveAnswer,
  Page,
  PageQuery,
  Redriven,
  ReleaseOptions,
  SetInput,
  SetManyInput,
  Target,
  TimersCount,
  TimersOrder,
  TimersPage,
  TimersQuery,
  WhenGiven,
} from './wire.js'
export type { DeadView, PauseView, QuotaLimits, QuotaView, SetTimer, TimerView } from '../timer/index.js'
export type { Operator } from './operator.js'
export type * from './operator-wire.js'
