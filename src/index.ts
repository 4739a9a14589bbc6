/** The front door of Carillon: what most programs need. Each part has a subpath of its own as well. */
export * from './cache/index.js'
export { Dead, RetryAfter, TimerFiring } from './delivery/index.js'
export { CarillonError, type ErrorCode, InvalidInputError, LimitError, StateError } from './error/index.js'
export * from './front/index.js'
export * from './schedule/index.js'
export * from './time/index.js'
export * from './wheel/index.js'
