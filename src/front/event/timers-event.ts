import type { TimerFiring } from '../../delivery/index.js'
import type { EngineEvent } from '../../engine/index.js'
import type { Outcome } from '../../timer/index.js'
import { MAX_LOGGED_CHARACTERS } from '../defaults.js'
import type { LoggedEvent, TargetEvent } from '../deliver/targets.js'

/** An event for listeners: from the engine, from a target, or a failed attempt. */
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

/** Where events are logged. pino and the console both fit. */
export interface Logger {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}

const normalStates: ReadonlySet<TargetEvent['state']> = new Set(['closed', 'set', 'removed'])

const targetStates = Object.freeze({
  closed: 'works again',
  set: 'was set',
  removed: 'was removed',
  open: 'failed too often and gets no requests for a while',
  trying: 'gets a test request',
  gone: 'is gone: the kind was paused, its timers wait until it is resumed',
  refused: 'cannot be used by this instance: its timers wait',
})

/** Logs an event, unless it is too frequent. Payloads are logged only for timers whose target is the log. */
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
      logger.warn(event, `due timers have not started for ${event.overdueMs} ms: ${event.reason}`)
      return
    case 'lease-lost': {
      const { kind, key, attempt } = event
      logger.warn(
        event,
        `the lease of ${kind} ${key} was lost: the outcome of attempt ${attempt} has no effect`,
      )
      return
    }
    case 'store-trouble':
      logger.warn(
        { type: event.type, shard: event.shard, call: event.call, error: event.error.message },
        `${event.call} failed and will be retried: ${event.error.message}`,
      )
      return
    case 'clock-off':
      logger.warn(
        event,
        `this machine's clock is ${offText(event.offsetMs)} the store's: it owns no shards until the clock is correct`,
      )
      return
    case 'unowned':
      logger.warn(
        event,
        `shard ${event.shard} has had no owner for ${event.forMs} ms: its timers do not fire`,
      )
      return
    case 'level-ahead':
      logger.warn(
        event,
        `the store's clock was ahead and needs ${event.aheadMs} ms to catch up: until then, timers of shard ${event.shard} fire on time but are settled one by one`,
      )
      return
    case 'lease-ahead':
      logger.warn(
        event,
        `the store's clock was ahead by up to ${event.aheadMs} ms, and the holders of ${event.count} timers claimed then are gone: other instances fire them`,
      )
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
      if (normalStates.has(event.state)) logger.info(event, targetLine(event))
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

/** For example '20 ms ahead of' or '20 ms behind'. */
function offText(offsetMs: number): string {
  return offsetMs < 0 ? `${-offsetMs} ms behind` : `${offsetMs} ms ahead of`
}

function targetLine({ kind, state }: TargetEvent): string {
  return `the target of ${kind} ${targetStates[state]}`
}

/** The payload, or its length if it is too long for a log. */
function loggedPayload({ payload }: TimerFiring): unknown {
  const { length } = JSON.stringify(payload) ?? ''
  return length <= MAX_LOGGED_CHARACTERS ? payload : `${length} characters of JSON`
}
