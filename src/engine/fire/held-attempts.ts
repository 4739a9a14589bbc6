import type { ReportOperation } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { freeDetails, type Holder, holderOf, isEnding, lastUnknown, type Outcome } from '../../timer/index.js'
import type { Window } from '../load/window.js'
import type { ShardOffers } from '../offer/shard-offers.js'
import { entryState } from '../load/window-page.js'
import type { OutcomeQueue, ReportedOutcome } from '../settle/outcome-queue.js'
import { Attempt, type AttemptListener } from './attempt.js'

const { REPORTED, DONE, HELD } = entryState

interface HeldAttemptsParts {
  readonly window: Window
  readonly clock: Clock
  readonly outcomes: OutcomeQueue
  readonly offers: ShardOffers
  /** A row was loaded whose attempt another process runs. */
  readonly onHeld: () => void
}

/**
 * The owner's list of attempts elsewhere. Their holders run them, and `HandedOverReports` settles what these report.
 * The attempts of this shard that another process has, because they were handed over with the shard (rule 7) or offered
 * to it (rule 9). Their holder reports how they end through the inbox. An attempt whose holder is gone counts as one of
 * unknown outcome, but only after the inbox was read once more: its report may wait there.
 *
 * Proven by test/engine/handed-over-reports.test.ts and the mutants 'a held row is started by its new owner', 'a living holder counts as gone', 'a holder counts as gone before the inbox is read again'.
 */
export class HeldAttempts {
  readonly #parts: HeldAttemptsParts
  readonly #window: Window
  // Since when each is known here, by the monotonic clock.
  readonly #heldSince = new Map<Attempt, number>()
  // Attempts whose holder is gone, and when this instance learned of that.
  readonly #orphans = new Map<Attempt, number>()

  constructor(parts: HeldAttemptsParts) {
    this.#parts = parts
    this.#window = parts.window
  }

  [Symbol.iterator](): Iterator<Attempt> {
    return this.#heldSince.keys()
  }

  /** A row is due whose attempt another process runs. */
  add(token: number, listener: AttemptListener): void {
    const { clock, onHeld } = this.#parts
    const page = this.#window.page(token)
    const index = this.#window.index(token)
    const row = page.row(index)
    page.states[index] = HELD
    const attempt = new Attempt(row, token, clock.now(), listener)
    attempt.isElsewhere = true
    attempt.startedAt = clock.monotonic()
    page.attempts[index] = attempt
    this.#heldSince.set(attempt, attempt.startedAt)
    this.#parts.offers.loaded(attempt)
    onHeld()
  }

  /** A settlement has offered this attempt to another process. */
  addOffered(attempt: Attempt): void {
    attempt.isElsewhere = true
    attempt.startedAt = this.#parts.clock.monotonic()
    this.#heldSince.set(attempt, attempt.startedAt)
  }

  /**
   * Takes reports that were found in the inbox. `allReadAt` is given if these were all of them, and says when the inbox
   * was asked for them. Answers whether the next settlement has to write any of it.
   */
  addReports(reports: readonly ReportOperation[], allReadAt: number | undefined): boolean {
    let isAny = false
    if (reports.length > 0) {
      const byAttempt = new Map(
        reports.map((report) => [attemptName(report, report.attempt, report.offer), report]),
      )
      for (const attempt of this.#heldSince.keys()) {
        const report = byAttempt.get(attemptName(attempt.row, attempt.attempt, holderOf(attempt.row)?.offer))
        if (report === undefined || !this.#isHeldHere(attempt)) continue
        this.#addReport(attempt, report)
        isAny = true
      }
    }
    if (allReadAt !== undefined && this.#orphans.size > 0) isAny = this.#giveUpOrphans(allReadAt) || isAny
    return isAny
  }

  #addReport(attempt: Attempt, { result, notes }: ReportOperation): void {
    const { outcomes } = this.#parts
    outcomes.addNotes(attempt, notes)
    this.#heldSince.delete(attempt)
    this.#parts.offers.reported(attempt, result.type !== 'unstarted')
    if (result.type === 'unstarted') {
      this.#window.setState(attempt.token, REPORTED)
      outcomes.addReport(attempt, result)
      return
    }
    attempt.outcome = result
    if (result.type === 'done') {
      this.#window.setState(attempt.token, DONE)
      this.#window.page(attempt.token).attempts[this.#window.index(attempt.token)] = undefined
      outcomes.addDone()
    } else {
      this.#window.setState(attempt.token, REPORTED)
      outcomes.addReport(attempt, freed(result, attempt.row.details))
    }
  }

  /**
   * The members were read from the store; `readAt` is when they were asked for. Answers whether an attempt has lost its
   * holder. The holder may have reported before it went, so the inbox has to be read before the attempt is given up.
   */
  findOrphans(readAt: number, isAlive: (holder: Holder) => boolean): boolean {
    for (const [attempt, since] of this.#heldSince) {
      if (since > readAt) continue
      if (attempt.isSuperseded) {
        this.#heldSince.delete(attempt)
        this.#parts.offers.ended(attempt)
        continue
      }
      const holder = holderOf(attempt.row)
      if (holder !== undefined && isAlive(holder)) this.#orphans.delete(attempt)
      else if (!this.#orphans.has(attempt)) this.#orphans.set(attempt, this.#parts.clock.monotonic())
    }
    return this.#orphans.size > 0
  }

  /** The holder was gone before the inbox was read, and had not reported there: the outcome is unknown. */
  #giveUpOrphans(allReadAt: number): boolean {
    const { outcomes } = this.#parts
    let isAny = false
    for (const [attempt, goneAt] of this.#orphans) {
      if (!this.#heldSince.has(attempt)) this.#orphans.delete(attempt)
      if (goneAt > allReadAt || !this.#orphans.has(attempt) || !this.#isHeldHere(attempt)) continue
      this.#orphans.delete(attempt)
      this.#heldSince.delete(attempt)
      this.#parts.offers.ended(attempt)
      this.#window.setState(attempt.token, REPORTED)
      outcomes.noteUnknown(attempt)
      if (isEnding(attempt.row)) {
        outcomes.noteGivenUp(attempt, lastUnknown.reason)
        outcomes.addReport(attempt, lastUnknown)
      } else outcomes.addReport(attempt, { type: 'unheld' })
      isAny = true
    }
    return isAny
  }

  /** False while a settlement that carries its row is on its way. */
  #isHeldHere({ token, isSuperseded }: Attempt): boolean {
    return !isSuperseded && this.#window.state(token) === HELD
  }
}

function attemptName(
  { identity, occurrence }: Pick<ReportOperation, 'identity' | 'occurrence'>,
  attempt: number,
  offer: string | undefined,
): string {
  return `${identity}/${occurrence}/${attempt}/${offer ?? ''}`
}

/** The outcome, with details for its follow-up that no longer name the holder. */
function freed(outcome: Exclude<Outcome, { readonly type: 'done' }>, held: string): ReportedOutcome {
  const details = freeDetails(held)
  switch (outcome.type) {
    case 'next':
    case 'retry':
      return { details, ...outcome }
    case 'dead':
      return outcome.next === undefined ? outcome : { ...outcome, next: { details, ...outcome.next } }
  }
}
