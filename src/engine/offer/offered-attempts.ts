import { StateError } from '../../error/index.js'
import type { ReportOperation } from '../../store/index.js'
import type { Clock, Wake } from '../../time/index.js'
import {
  type Deliver,
  type FiringTransaction,
  freeDetails,
  type Outcome,
  type TimerRow,
} from '../../timer/index.js'
import type { Membership } from '../cluster/membership.js'
import { EngineCounts } from '../counts.js'
import { OFFER_PATIENCE_MS } from '../defaults.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import type { Attempt, AttemptListener } from '../fire/attempt.js'
import type { Lane } from '../fire/lane.js'
import { Lanes, type StartGuard } from '../fire/lanes.js'
import type { StartBudget } from '../fire/start-budget.js'
import type { Throttles } from '../fire/throttles.js'
import type { HandedOverAttempts } from '../own/handed-over-attempts.js'
import type { ReportSender } from '../own/report-sender.js'
import { termOf } from './offer-message.js'
import { type AcceptedOffer, OfferedAttempt } from './offered-attempt.js'

interface OfferedAttemptsParts {
  /** The store's clock as far as it is known. */
  readonly clock: Clock
  readonly deliver: Deliver
  readonly policy: DeliveryPolicy
  readonly throttles: Throttles
  readonly startBudget: StartBudget
  readonly membership: Membership
  readonly reportSender: ReportSender
  readonly handedAttempts: HandedOverAttempts
}

/**
 * Attempts that owners of other shards have offered to this instance (rule 9). They pass through lanes and throttles
 * like the attempts of its own shards, and their outcomes are reported through the inbox. Nothing starts unless owners
 * can see this instance by its heartbeats. What cannot start soon is given back.
 *
 * Proven by test/engine/pools.test.ts and the mutants 'a second notification of an offer starts a second attempt', 'an offered timer starts although the heartbeats have ended', 'an offer from before a gap in the heartbeats still counts'.
 */
export class OfferedAttempts implements AttemptListener, StartGuard {
  readonly counts = new EngineCounts()
  readonly #parts: OfferedAttemptsParts
  readonly #clock: Clock
  readonly #lanes: Lanes
  // Every attempt that was accepted, until its row no longer waits for the report on it.
  readonly #accepted = new Map<string, OfferedAttempt>()
  readonly #unstarted = new Set<OfferedAttempt>()
  readonly #early = new Set<Wake>()
  #isOpen = false

  constructor(parts: OfferedAttemptsParts) {
    this.#parts = parts
    this.#clock = parts.clock
    this.#lanes = new Lanes({ ...parts, counts: this.counts, guard: this })
  }

  /** How many attempts are under way. */
  get running(): number {
    return this.#lanes.running
  }

  /** Whether nothing waits and nothing runs. */
  get isIdle(): boolean {
    return this.#unstarted.size === 0 && this.running === 0
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get isHeard(): boolean {
    return this.#parts.membership.isHeard
  }

  /** From now on offers are accepted. */
  open(): void {
    this.#isOpen = true
  }

  /** From now on nothing is started. What has not started is given back. */
  close(): void {
    this.#isOpen = false
    for (const attempt of this.#unstarted) this.#giveBack(attempt)
  }

  /** Whether this offer was accepted before: a notification may come twice. */
  has(offerName: string): boolean {
    return this.#accepted.has(offerName)
  }

  /** Takes a row that was offered to this process, and that still said so when it was looked up. */
  accept(row: TimerRow, offer: AcceptedOffer): void {
    const { offerName } = offer
    if (this.#accepted.has(offerName)) return
    const free = { ...row, details: freeDetails(row.details) }
    const attempt = new OfferedAttempt(free, this.#clock.now(), this, offer)
    attempt.handed = this.#parts.handedAttempts
    this.#accepted.set(offerName, attempt)
    this.#unstarted.add(attempt)
    if (this.#isOpen && this.#parts.policy.handles(row.namespace, row.kind)) this.#lanes.enqueue(attempt)
    else this.#giveBack(attempt)
  }

  /** Starts what may start. To be called after `accept`, and when more may start than before. */
  flush(): void {
    this.#lanes.markAll()
    this.#lanes.flush()
  }

  /** Gives back what has waited too long. To be called about every second. */
  giveBackLate(): void {
    const before = this.#clock.monotonic() - OFFER_PATIENCE_MS
    for (const attempt of this.#unstarted) if (attempt.lookedUpAt <= before) this.#giveBack(attempt)
    // The lane of a kind that cannot start would keep them.
    for (const lane of this.#lanes) while (lane.peek()?.isSuperseded === true) lane.shift()
  }

  /** Tells handlers that their attempts no longer count if owners cannot see this instance. */
  abandonIfUnheard(): void {
    if (this.isHeard) return
    this.abandonAll()
  }

  abandonAll(): void {
    for (const attempt of this.#lanes.started) attempt.abandon()
  }

  /** The instance ends: lanes and alarms are no longer needed. */
  detach(): void {
    this.#isOpen = false
    this.abandonAll()
    this.#lanes.detach()
    for (const wake of this.#early) wake.cancel()
  }

  // ---- for the lanes

  mayStart(_lane: Lane): boolean {
    // A lane that must wait is tried again with the next heartbeat.
    return this.#mayStart
  }

  admits(attempt: Attempt, now: number): boolean {
    if (!(attempt instanceof OfferedAttempt && this.#unstarted.has(attempt))) return false
    if (this.#isOutdated(attempt)) {
      this.#giveBack(attempt)
      return false
    }
    if (attempt.row.dueAt > now) {
      this.#waitUntilDue(attempt)
      return false
    }
    this.#unstarted.delete(attempt)
    return true
  }

  get #mayStart(): boolean {
    const { membership } = this.#parts
    return this.#isOpen && membership.isHeard && membership.isClockRight
  }

  /** It was offered before a gap in the heartbeats: the owner may take it back at any time. */
  #isOutdated({ offerToken }: OfferedAttempt): boolean {
    return termOf(offerToken) !== this.#parts.membership.term
  }

  /** The owner knows the store's clock better, or it was set back since. */
  #waitUntilDue(attempt: OfferedAttempt): void {
    const wake = this.#clock.wakeAt(
      attempt.row.dueAt,
      () => {
        this.#early.delete(wake)
        if (!this.#unstarted.has(attempt)) return
        this.#lanes.enqueue(attempt)
        this.#lanes.flush()
      },
      { keepAlive: false },
    )
    this.#early.add(wake)
  }

  // ---- for the attempts

  confirmStart(attempt: Attempt): boolean {
    if (attempt.outcome !== undefined || !(attempt instanceof OfferedAttempt)) return false
    if (!this.#isOpen || this.#isOutdated(attempt)) {
      this.#lanes.removeEnded(attempt)
      this.#giveBack(attempt)
      this.#lanes.startWaiting(attempt)
      return false
    }
    if (this.#mayStart && attempt.row.dueAt <= this.#clock.now()) return true
    this.#takeBack(attempt)
    return false
  }

  postponed(attempt: Attempt): void {
    if (!this.confirmStart(attempt)) return
    this.#takeBack(attempt as OfferedAttempt)
  }

  #takeBack(attempt: OfferedAttempt): void {
    this.#unstarted.add(attempt)
    this.#lanes.takeBack(attempt)
    // If it may not start now, the next heartbeat tries again.
    if (this.#mayStart) this.#lanes.resumeLater(attempt.lane!)
  }

  begin(): Promise<FiringTransaction> {
    return Promise.reject(
      new StateError('attempt-lost', 'an attempt for another owner cannot be settled in a transaction'),
    )
  }

  ended(attempt: Attempt, outcome: Outcome): void {
    const { policy } = this.#parts
    this.#lanes.removeEnded(attempt)
    this.counts.ended(attempt, outcome)
    const at = this.#clock.now()
    const notes = policy.notesOf(attempt, {
      type: 'ended',
      outcome,
      at,
      isFollowed: true,
      ownerChange: undefined,
    })
    this.#report(attempt as OfferedAttempt, outcome, notes)
    this.#lanes.startWaiting(attempt)
  }

  #giveBack(attempt: OfferedAttempt): void {
    this.#unstarted.delete(attempt)
    // The lane still has it, and passes it over.
    attempt.isSuperseded = true
    this.#report(attempt, { type: 'unstarted' }, [])
  }

  #report(
    { row, attempt, offerName, offerToken }: OfferedAttempt,
    result: ReportOperation['result'],
    notes: ReportOperation['notes'],
  ): void {
    const { namespace, kind, key, identity, occurrence } = row
    this.#parts.reportSender.send(
      {
        type: 'report',
        namespace,
        kind,
        key,
        identity,
        occurrence,
        attempt,
        offer: offerToken,
        result,
        notes,
      },
      () => this.#accepted.delete(offerName),
    )
  }
}
