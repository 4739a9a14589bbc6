/** From firing to outcome: the functions that handle timers. */
export { Dead, RetryAfter } from './dead.js'
export { type Handle, type HandleMany, type Handler, Handlers, type OnFailure } from './handlers.js'
export { TimerFiring } from './timer-firing.js'
