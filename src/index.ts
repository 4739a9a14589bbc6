/** The front door of Carillon: what most programs need. Each part has a subpath of its own as well. */
export { CarillonError, type ErrorCode, InvalidInputError, LimitError, StateError } from './error/index.js'
export * from './schedule/index.js'
export * from './time/index.js'
