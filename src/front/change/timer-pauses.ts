import type { CallLimit } from '../../async/index.js'
import type { TimerEngine } from '../../engine/index.js'
import type { HistoryNote } from '../../store/index.js'
import {
  decodeDetails,
  encodeDetails,
  type PauseView,
  type TimerDetails,
  type TimerRow,
} from '../../timer/index.js'
import { outcomeOf } from '../outcome.js'
import type { Records } from '../read/records.js'
import { isPausedRow, NEVER } from '../read/timer-view.js'
import type { Named } from '../kind/timer-names.js'

/** 'firing': an attempt is running, and nothing was changed. 'settled' and 'unknown': there is no such timer. */
export type PauseOutcome = 'paused' | 'firing' | 'settled' | 'unknown'
/** What became of a timer that was to be resumed. */
export type ResumeOutcome = 'resumed' | 'firing' | 'settled' | 'unknown'

type Noted = (
  event: 'paused' | 'resumed',
  facts: { readonly dueAt?: number },
) => { readonly note?: HistoryNote }

/**
 * Pauses single timers: moves the row to the last possible instant, and keeps the due time in its details. Any later
 * move ends the pause. Proven by test/front/verbs.test.ts.
 */
export class TimerPauses {
  readonly #engine: TimerEngine
  readonly #records: Records
  readonly #noted: Noted

  constructor(parts: { engine: TimerEngine; records: Records; noted: Noted }) {
    this.#engine = parts.engine
    this.#records = parts.records
    this.#noted = parts.noted
  }

  async pause(name: Named, pause: PauseView, limit: CallLimit): Promise<PauseOutcome> {
    for (;;) {
      const row = await this.#records.row(name)
      if (row === undefined) return 'unknown'
      if (isPausedRow(row)) return 'paused'
      const details = { ...decodeDetails(row.details), pausedDueAt: row.dueAt, pause }
      const outcome = await this.#rewrite(row, NEVER, details, this.#noted('paused', {}), limit)
      if (outcome === 'moved') return 'paused'
      if (outcome !== 'conflict') return outcome
    }
  }

  async resume(name: Named, limit: CallLimit): Promise<ResumeOutcome> {
    for (;;) {
      const row = await this.#records.row(name)
      if (row === undefined) return 'unknown'
      const { pausedDueAt, pause: _pause, ...details } = decodeDetails(row.details)
      if (!isPausedRow(row) || pausedDueAt === undefined) return 'resumed'
      const outcome = await this.#rewrite(
        row,
        pausedDueAt,
        details,
        this.#noted('resumed', { dueAt: pausedDueAt }),
        limit,
      )
      if (outcome === 'moved') return 'resumed'
      if (outcome !== 'conflict') return outcome
    }
  }

  /** Moves a row and changes its details, if it still has the same revision. */
  async #rewrite(
    { namespace, kind, key, revision }: TimerRow,
    dueAt: number,
    details: TimerDetails,
    noted: { readonly note?: HistoryNote },
    limit: CallLimit,
  ) {
    const name = { namespace, kind, key }
    const move = {
      type: 'move',
      ...name,
      ifRevision: revision,
      dueAt,
      details: encodeDetails(details),
      ...noted,
    } as const
    const [answer] = await limit.selfEnding(this.#engine.submit([move], limit))
    return outcomeOf(answer!, ['moved', 'firing', 'settled', 'unknown', 'conflict'])
  }
}
