/** From firing to outcome: the functions that handle timers. */
export { Dead, RetryAfter } from './dead.js'
export { type Handle, type HandleMany, type Handler, Handlers, type OnFailure } from './handlers.js'
export { TimerFiring } from './timer-firing.js'
export {
  type HandleInTransaction,
  type SettlingConnection,
  type TransactionFiring,
} from './transaction-firing.js'
export type { BreakerState } from './webhook/breaker.js'
export type { GuardOptions } from './webhook/guard.js'
export { type Webhook, webhook, type WebhookOptions } from './webhook/webhook.js'
export { WebhookDelivery } from './webhook/webhook-delivery.js'
