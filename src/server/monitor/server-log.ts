import type { Logger } from 'pino'
import { CarillonError } from '../../error/index.js'
import { leftOutText, WarningLimit } from '../../front/index.js'
import type { Clock } from '../../time/index.js'
import type { Job } from '../jobs/job.js'
import { LOG_REPEAT_MS } from '../defaults.js'

/**
 * The server's own warnings and errors. Each cause is logged at most once in `LOG_REPEAT_MS`, with the number of those
 * left out, so that an outage does not fill the log. The metrics count every failed request.
 *
 * Proven by test/server/outages/log.test.ts.
 */
export class ServerLog {
  readonly #logger: Logger | undefined
  readonly #limit: WarningLimit

  constructor(logger: Logger | undefined, clock: Clock) {
    this.#logger = logger
    this.#limit = new WarningLimit(clock, LOG_REPEAT_MS)
  }

  /** Something that the server does by itself failed, and is tried again. */
  warn(error: unknown, what: string): void {
    this.#write('warn', `${what} ${codeOf(error)}`, { err: error }, what)
  }

  /** A request failed because of the server or its store. */
  failedRequest(error: unknown, known: CarillonError, route: string, requestId: string): void {
    const cause = `${route} ${known.code === 'internal' ? codeOf(error) : known.code}`
    this.#write('error', cause, { err: error, requestId, route }, known.message)
  }

  /** A job has ended. */
  job(job: Job, error: unknown): void {
    const { id, action, by, state, found, processed, outcomes } = job
    const facts = { id, action, by, state, found, processed, outcomes }
    if (error === undefined) this.#logger?.info(facts, `job ${action}: ${state}`)
    else this.#logger?.error({ ...facts, err: error }, `job ${action}: failed`)
  }

  #write(level: 'warn' | 'error', cause: string, facts: object, message: string): void {
    const logger = this.#logger
    if (logger === undefined) return
    this.#limit.pass(cause, (leftOut) => {
      logger[level](leftOut === 0 ? facts : { ...facts, leftOut }, `${message}${leftOutText(leftOut)}`)
    })
  }
}

/** What distinguishes causes. Unexpected errors have no code, so their message counts. */
function codeOf(error: unknown): string {
  if (error instanceof CarillonError) return error.code
  return error instanceof Error ? `${error.name} ${error.message}` : String(error)
}
