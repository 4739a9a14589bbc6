/** The part of a logger that is used here. */
interface ErrorLog {
  error(details: object, message: string): void
}

/**
 * Keeps an unexpected error from ending a process that holds shards. A rejection that nobody handles is logged, and the
 * process goes on: what the rejected call changed is guarded by the store's fences. After an exception that nobody
 * caught, memory may be half changed: the answered promise resolves, and `serve` stops cleanly. A second exception
 * while it stops ends the process. docs/decisions/2026-11-18-last-resort.md has the reasons.
 *
 * Proven by test/cli/last-resort.test.ts.
 */
export function lastResort(log: ErrorLog): Promise<'failed'> {
  process.on('unhandledRejection', (reason) => {
    log.error({ err: reason }, 'a rejection was not handled: please report this; the server goes on')
  })
  return new Promise((resolve) => {
    process.once('uncaughtException', (error) => {
      log.error({ err: error }, 'an exception was not caught: please report this; the server stops')
      resolve('failed')
    })
  })
}
