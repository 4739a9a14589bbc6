import type { Logger } from 'pino'
import type { Timers, TimersEvent } from '../front/index.js'
import type { Events } from './events.js'

type Failed = Extract<TimersEvent, { readonly type: 'failed' }>

/** Writes firings of kinds that have no target to the log, and tells of them as events. */
export class FiringLog {
  readonly #logger: Logger | undefined
  readonly #events: Events

  constructor(logger: Logger | undefined, events: Events) {
    this.#logger = logger
    this.#events = events
  }

  /** Takes the firings of these timers that nobody else gets. */
  take(timers: Timers): void {
    timers.handleOthers((firing) => {
      const { namespace, id, kind, key, attempt, dueAt, lateness, payload } = firing
      const facts = { id, kind, key, attempt, dueAt, latenessMs: lateness }
      this.#logger?.info(
        { type: 'fired', namespace, ...facts, ...(payload !== undefined && { payload }) },
        `fired: ${kind} ${key}`,
      )
      this.#events.tell('fired', namespace, facts)
    })
  }

  failed({ firing, error, outcome }: Failed): void {
    const { namespace, id, kind, key, attempt, dueAt } = firing
    const reason = error instanceof Error ? error.message : String(error)
    this.#events.tell('failed', namespace, { id, kind, key, attempt, dueAt, outcome: outcome.type, reason })
  }
}
