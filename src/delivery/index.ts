/** From firing to outcome: the functions that handle timers. */
export { ATTEMPT_SECONDS, AttemptTimes, type KindTimes } from './attempt-times.js'
export { Dead, RetryAfter } from './dead.js'
export { type Handle, type HandleMany, type Handler, Handlers, type OnFailure } from './handlers.js'
export { lease, leaseMsOf, type LeaseOptions, type LeaseTarget } from './lease/lease.js'
export { LeaseBroker } from './lease/lease-broker.js'
export type { LeasedFiring } from './lease/leased-firing.js'
export { log, type LogTarget, type Target } from './target.js'
export {
  decodeTargetForm,
  encodeTargetForm,
  type LeaseForm,
  type LogForm,
  type ParsedTarget,
  parseTargetForm,
  type TargetForm,
  type TargetView,
  viewOfTarget,
  withEarlierSecrets,
  type WebhookForm,
} from './target-form.js'
export { TimerFiring } from './timer-firing.js'
export {
  HandlerThreads,
  type HandlerThreadsStats,
  type HandlerThreadStats,
} from './thread/handler-threads.js'
export {
  type HandleInTransaction,
  type SettlingConnection,
  type TransactionFiring,
} from './transaction-firing.js'
export type { BreakerState } from './webhook/breaker.js'
export { Guard, type GuardOptions } from './webhook/guard.js'
export { keyMissing, newSealKey, TargetSeal } from './webhook/target-seal.js'
export { guarded, type Webhook, webhook, type WebhookOptions } from './webhook/webhook.js'
export { WebhookDelivery } from './webhook/webhook-delivery.js'
