/** The main entry point of Carillon: what most programs need. Each part also has its own subpath. */
export * from './cache/index.js'
export {
  Dead,
  lease,
  type LeasedFiring,
  type LeaseOptions,
  type LeaseForm,
  type LeaseTarget,
  log,
  type LogForm,
  type LogTarget,
  RetryAfter,
  type Target,
  type TargetForm,
  type TargetView,
  type TimerFiring,
  type TransactionFiring,
  type HandleInTransaction,
  type SettlingConnection,
  type Webhook,
  type WebhookForm,
  webhook,
  type WebhookOptions,
  type GuardOptions,
} from './delivery/index.js'
export type { EngineEvent, EngineSettings, EngineStats } from './engine/index.js'
export {
  CarillonError,
  PartialError,
  type PartialRow,
  type ErrorCode,
  InvalidInputError,
  LimitError,
  RequestError,
  StateError,
  StoreError,
  WebhookError,
} from './error/index.js'
export * from './front/index.js'
export * from './schedule/index.js'
export {
  openStore,
  type OpenStoreOptions,
  type Store,
  type StoreUrl,
  type TransactionConnection,
} from './store/index.js'
export * from './time/index.js'
export type { RetryOptions, TimerHandle } from './timer/index.js'
export * from './wheel/index.js'
