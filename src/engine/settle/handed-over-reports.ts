import type { ReportOperation, InboxRequest, Store } from '../../store/index.js'
import { holderOf, type TimerRow } from '../../timer/index.js'
import type { HeldAttempts } from '../fire/held-attempts.js'
import type { Ownership } from '../own/ownership.js'
import type { Settler } from './settler.js'
import type { Mutex } from '../../async/index.js'

interface HandedOverReportsParts {
  readonly store: Store
  readonly ownership: Ownership
  readonly heldAttempts: HeldAttempts
  readonly settler: Settler
  readonly mutex: Mutex
}

/**
 * The last step of a hand-over, at the new owner: `HandedOverAttempts` sends reports, `HeldAttempts` matches them.
 * Settles what holders report on attempts that were handed over with this shard. A report stays in the inbox until the
 * store shows that its row no longer records the attempt as handed over: it was settled, replaced or cancelled. So a
 * report may be read twice without harm, by this owner or the next, after a crash or an unknown outcome.
 *
 * Proven by test/engine/handed-over-reports.test.ts.
 */
export class HandedOverReports {
  readonly #parts: HandedOverReportsParts

  constructor(parts: HandedOverReportsParts) {
    this.#parts = parts
  }

  /**
   * Settles what can be settled, and removes the reports that are finished. `allReadAt` is given if these were all in
   * the inbox, and says when they were asked for. Answers how many are left: they wait for their rows to be loaded.
   */
  async settle(
    requests: readonly InboxRequest<ReportOperation>[],
    allReadAt: number | undefined,
  ): Promise<number> {
    const { heldAttempts, settler } = this.#parts
    const isAny = heldAttempts.addReports(
      requests.map(({ operation }) => operation),
      allReadAt,
    )
    if (requests.length === 0) return 0
    if (isAny) await settler.settle()
    return await this.#answerSettled(requests)
  }

  async #answerSettled(requests: readonly InboxRequest<ReportOperation>[]): Promise<number> {
    const { store, ownership, mutex } = this.#parts
    const finish = await mutex.lock()
    try {
      const rows = await ownership.call('find', () => store.find(requests.map(({ operation }) => operation)))
      const over = requests.filter(({ operation }, index) => !isMeant(operation, rows[index]))
      if (over.length === 0) return requests.length
      const operations = over.map(({ id }) => ({ type: 'answer', request: id, outcome: 'settled' }) as const)
      await ownership.call('write', (fence) => store.write(fence, { operations }))
      return requests.length - over.length
    } finally {
      finish()
    }
  }
}

/** What names one attempt at a timer. */
export type NamedAttempt = Pick<ReportOperation, 'identity' | 'occurrence' | 'attempt' | 'offer'>

/** Whether the row still waits for a report on this attempt. */
export function isMeant(named: NamedAttempt, row: TimerRow | undefined): boolean {
  const { identity, occurrence, attempt, offer } = named
  if (row?.identity !== identity || row.occurrence !== occurrence || row.attempt !== attempt - 1) return false
  const hold = holderOf(row)
  // An attempt that was given back may be offered again under the same number.
  return hold !== undefined && hold.offer === offer
}
