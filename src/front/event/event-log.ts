import type { Clock } from '../../time/index.js'
import { CONSOLE_REPEAT_MS, MOST_WARNING_CAUSES, STORE_WARNING_REPEAT_MS } from '../defaults.js'
import { logEvent, type Logger, type TimersEvent } from './timers-event.js'

/**
 * Logs events. A logger gets all of them, but repeated warnings of a store that is down only now and then. Without a
 * logger, warnings go to the console, each cause once a minute at most. `false` logs nothing.
 *
 * Proven by test/front/warnings.test.ts.
 */
export function eventLog(
  logger: Logger | false | undefined,
  clock: Clock,
  consoleRepeatMs = CONSOLE_REPEAT_MS,
): (event: TimersEvent) => void {
  if (logger === false) return () => undefined
  if (logger === undefined) return consoleLog(new WarningLimit(clock, consoleRepeatMs))
  const limit = new WarningLimit(clock, STORE_WARNING_REPEAT_MS)
  return (event) => {
    if (event.type !== 'store-trouble') logEvent(logger, event)
    else limit.pass(causeOf(event), (leftOut) => logEvent(counted(logger, leftOut), event))
  }
}

function consoleLog(limit: WarningLimit): (event: TimersEvent) => void {
  return (event) => {
    const logger: Logger = {
      info: () => undefined,
      warn: (_, message) => {
        limit.pass(causeOf(event), (leftOut, isFirst) => {
          const stack =
            isFirst && 'error' in event && event.error instanceof Error ? event.error.stack : undefined
          console.warn([`carillon: ${message}${leftOutText(leftOut)}`, ...(stack ? [stack] : [])].join('\n'))
        })
      },
    }
    logEvent(logger, event)
  }
}

/** Lets a warning through, unless one of the same cause went through within `repeatMs`. Counts those it leaves out. */
class WarningLimit {
  readonly #clock: Clock
  readonly #repeatMs: number
  readonly #causes = new Map<string, { at: number; leftOut: number }>()

  constructor(clock: Clock, repeatMs: number) {
    this.#clock = clock
    this.#repeatMs = repeatMs
  }

  pass(cause: string, write: (leftOut: number, isFirst: boolean) => void): void {
    const now = this.#clock.monotonic()
    const last = this.#causes.get(cause)
    if (last !== undefined && now - last.at < this.#repeatMs) {
      last.leftOut++
      return
    }
    // Delete first: the oldest cause must be the first of the map.
    this.#causes.delete(cause)
    this.#causes.set(cause, { at: now, leftOut: 0 })
    for (const oldest of this.#causes.keys()) {
      if (this.#causes.size <= MOST_WARNING_CAUSES) break
      this.#causes.delete(oldest)
    }
    write(last?.leftOut ?? 0, last === undefined)
  }
}

/** Warnings with the same cause need not be read twice. Keys, shards and messages do not count: they vary. */
function causeOf(event: TimersEvent): string {
  const { type } = event
  if (type === 'failed') {
    return [type, event.firing.namespace, event.firing.kind, errorType(event.error)].join(' ')
  }
  if (type === 'store-trouble') return [type, event.call, errorType(event.error)].join(' ')
  if (type === 'target') return [type, event.kind, event.state].join(' ')
  return 'reason' in event ? `${type} ${event.reason}` : type
}

function errorType(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  return 'code' in error ? `${error.name} ${String(error.code)}` : error.name
}

/** A logger that adds the number of warnings that were left out. */
function counted(logger: Logger, leftOut: number): Logger {
  if (leftOut === 0) return logger
  return {
    info: (facts, message) => logger.info(facts, message),
    warn: (facts, message) => logger.warn({ ...facts, leftOut }, `${message}${leftOutText(leftOut)}`),
  }
}

function leftOutText(leftOut: number): string {
  return leftOut === 0 ? '' : ` (and ${leftOut} more like this since the last warning)`
}
