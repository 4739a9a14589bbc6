/** Timers of a Carillon server, over HTTP. Nothing in this room needs Node: it runs in browsers, too. */
export { Client } from './client.js'
export type { ClientOptions } from './client-options.js'
export type {
  AckOptions,
  CancelAnswer,
  ChangeOptions,
  DeadTimer,
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
  SetAnswer,
  SetInput,
  SetManyInput,
  Target,
  TimerState,
  TimersQuery,
  WhenGiven,
} from './wire.js'
