import type { Clock } from '../../time/index.js'
import { CONSOLE_REPEAT_MS, STORE_WARNING_REPEAT_MS } from '../defaults.js'
import { logEvent, type Logger, type TimersEvent } from './timers-event.js'
import { leftOutText, WarningLimit } from './warning-limit.js'

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
    if (!repeated.has(event.type)) logEvent(logger, event)
    else limit.pass(causeOf(event), (leftOut) => logEvent(counted(logger, leftOut), event))
  }
}

/** While a store is down, each shard has these again and again. */
const repeated: ReadonlySet<TimersEvent['type']> = new Set(['store-trouble', 'stalled', 'unowned'])

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
