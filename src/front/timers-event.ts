import type { TimerFiring } from '../delivery/index.js'
import type { EngineEvent } from '../engine/index.js'
import type { Outcome } from '../timer/index.js'
import type { LoggedEvent, TargetEvent } from './targets.js'

/** What timers tell whoever listens: what the engine does, and attempts that fail. */
export type TimersEvent =
  | EngineEvent
  | TargetEvent
  | LoggedEvent
  | {
      readonly type: 'failed'
      readonly firing: TimerFiring
      readonly error: unknown
      readonly outcome: Outcome
    }

/** Takes what is worth a line; pino's and the console's will do. */
export interface Logger {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}

const calmStates: ReadonlySet<TargetEvent['state']> = new Set(['closed', 'set', 'removed'])

const MOST_LOGGED = 2000

const targetStates = Object.freeze({
  closed: 'is back',
  set: 'was set',
  removed: 'was removed',
  open: 'fails and is left alone for a while',
  trying: 'is tried again',
  gone: 'is gone: its timers wait until the kind is resumed',
  refused: 'cannot be used here: its timers wait',
})

/**
 * Writes an event to a logger, if it is worth a line. Payloads are never written, but of timers whose target is the
 * log.
 */
export function logEvent(logger: Logger, event: TimersEvent): void {
  switch (event.type) {
    case 'acquired':
    case 'released':
      logger.info(event, `shard ${event.shard} was ${event.type}`)
      return
    case 'lost':
      logger.warn(event, `shard ${event.shard} was lost: ${event.reason}`)
      return
    case 'stalled':
      logger.warn(event, `timers are due and do not start, for ${event.overdueMs} ms: ${event.reason}`)
      return
    case 'lease-lost': {
      const { kind, key, attempt } = event
      logger.warn(event, `attempt ${attempt} at ${kind} ${key} was not followed: its lease was lost`)
      return
    }
    case 'store-trouble':
      logger.warn(
        { type: event.type, shard: event.shard, call: event.call, error: event.error.message },
        `${event.call} failed and is tried again: ${event.error.message}`,
      )
      return
    case 'clock-off':
      logger.warn(event, `this machine's clock is ${event.offsetMs} ms off the store's: nothing fires here`)
      return
    case 'failed': {
      const { kind, key, attempt } = event.firing
      const error = event.error instanceof Error ? event.error.message : String(event.error)
      logger.warn(
        { type: event.type, kind, key, attempt, outcome: event.outcome.type, error },
        `attempt ${attempt} at ${kind} ${key} failed: ${error}`,
      )
      return
    }
    case 'target':
      if (calmStates.has(event.state)) logger.info(event, targetLine(event))
      else logger.warn(event, targetLine(event))
      return
    case 'logged': {
      const { id, kind, key, attempt, occurrence, dueAt, lateness } = event.firing
      const facts = { type: event.type, id, kind, key, attempt, occurrence, dueAt, lateness }
      logger.info({ ...facts, payload: loggedPayload(event.firing) }, `${kind} ${key} fired`)
      return
    }
    case 'loaded':
    case 'settled':
    case 'swept':
    case 'window':
      return
  }
}

function targetLine({ kind, state }: TargetEvent): string {
  return `the target of ${kind} ${targetStates[state]}`
}

/** The payload, unless it is too long for a log. */
function loggedPayload({ payload }: TimerFiring): unknown {
  const { length } = JSON.stringify(payload) ?? ''
  return length <= MOST_LOGGED ? payload : `${length} characters of JSON`
}
