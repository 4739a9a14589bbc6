import { type Duration, parseDuration } from '../time/index.js'

/** Throw it from a handler to turn a timer into a dead letter at once, whatever its retry policy. */
export class Dead extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'Dead'
  }
}

/** Throw it from a handler to choose the pause before the next attempt. */
export class RetryAfter extends Error {
  readonly delayMs: number

  constructor(delay: Duration, message?: string, options?: ErrorOptions) {
    const delayMs = Math.ceil(parseDuration(delay))
    super(message ?? `retry after ${delayMs} ms`, options)
    this.name = 'RetryAfter'
    this.delayMs = delayMs
  }
}
