/** Timers of a Carillon server, over HTTP. Nothing in this room needs Node: it runs in browsers, too. */
export { Client } from './client.js'
export type { ClientOptions } from './client-options.js'
export type {
  AckOptions,
  CancelAnswer,
  ChangeOptions,
  ForecastQuery,
  HistoryQuery,
  KindGiven,
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
  TimersQuery,
  WhenGiven,
} from './wire.js'
export type { DeadView, QuotaLimits, QuotaView, SetTimer, TimerView } from '../timer/index.js'
