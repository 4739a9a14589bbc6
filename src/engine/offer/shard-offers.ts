import type { FollowUp } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { heldDetails, keptDetails, type Holder, holderOf, type Place } from '../../timer/index.js'
import { MAX_RENOTIFY_MS, RENOTIFY_MS } from '../defaults.js'
import type { Attempt } from '../fire/attempt.js'
import type { Lane } from '../fire/lane.js'
import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'
import { type OfferedRow, tokenOf } from './offer-message.js'
import type { OfferCredit, Offers } from './offers.js'

interface ShardOffersParts {
  readonly clock: Clock
  readonly window: Window
  /** Shared with the other shards of the instance. */
  readonly offers: Offers
}

/** A due timer that a settlement offers to a member, in the term that the member has published. */
export interface NewOffer {
  readonly attempt: Attempt
  readonly credit: OfferCredit
  readonly term: number
}

/**
 * The due timers of one shard that this instance does not handle and that other members do (rule 9). A settlement
 * rewrites such a row as held by a member, and the member is notified. As long as the member lives and has not
 * reported, the notification is repeated: it may have got lost.
 *
 * Proven by test/engine/pools.test.ts and the mutants 'a timer that was offered stays in its lane', 'a notification of an offer is not repeated'.
 */
export class ShardOffers {
  readonly #parts: ShardOffersParts
  readonly #open = new Map<Attempt, OpenOffer>()
  #toNotify: (OfferedRow & { readonly holder: Holder })[] = []

  constructor(parts: ShardOffersParts) {
    this.#parts = parts
  }

  /** Whether a due timer waits in one of these lanes that a member could start. */
  isAnyWaiting(lanes: Iterable<Lane>): boolean {
    if (!this.#parts.offers.isAnyTaker) return false
    for (const lane of lanes) if (lane.waiting > 0 && this.roomFor(lane) > 0) return true
    return false
  }

  /** How many timers of a lane may be offered now. */
  roomFor({ throttle, namespace, kind }: Lane): number {
    return throttle.isOpen ? 0 : this.#parts.offers.roomFor(namespace, kind)
  }

  /** Takes at most `limit` timers out of their lanes, to be offered by the next settlement. */
  take(lanes: Iterable<Lane>, limit: number): NewOffer[] {
    const { offers } = this.#parts
    const taken: NewOffer[] = []
    if (!offers.isAnyTaker) return taken
    for (const lane of lanes) {
      if (lane.waiting === 0 || this.roomFor(lane) === 0) continue
      const { namespace, kind } = lane
      while (taken.length < limit && lane.waiting > 0) {
        const credit = offers.choose(namespace, kind)
        if (credit === undefined) break
        const attempt = lane.shift()!
        if (!this.#isReady(attempt)) continue
        credit.take()
        taken.push({ attempt, credit, term: credit.term })
      }
    }
    return taken
  }

  /** The settlement with this id, which offers a timer, was written. */
  stored(offer: NewOffer, settlementId: number): void {
    const { attempt, credit } = offer
    const token = tokenOf(settlementId, offer.term)
    this.#open.set(attempt, {
      credit,
      token,
      notifiedAt: this.#parts.clock.monotonic(),
      everyMs: RENOTIFY_MS,
    })
    this.#toNotify.push(offeredRow(attempt, token, credit.holder))
    attempt.lane!.started++
  }

  /** The settlement that offers a timer was not written, or its row was replaced. */
  dropped({ credit }: NewOffer): void {
    credit.release()
  }

  /** Notifies the members of the offers that were stored since the last call. */
  notify(): void {
    const rows = this.#toNotify
    if (rows.length === 0) return
    this.#toNotify = []
    this.#parts.offers.notify(rows)
  }

  /** A row was loaded that an earlier owner has offered. Its notification may have got lost with that owner. */
  loaded(attempt: Attempt): void {
    const hold = holderOf(attempt.row)
    if (hold?.offer === undefined) return
    const { namespace, kind } = attempt.row
    const credit = this.#parts.offers.creditOf(hold, namespace, kind)
    credit.take()
    this.#open.set(attempt, { credit, token: hold.offer, notifiedAt: -Infinity, everyMs: RENOTIFY_MS })
  }

  /** The holder has reported on an attempt. */
  reported(attempt: Attempt, isStarted: boolean): void {
    const offer = this.#open.get(attempt)
    if (offer === undefined) return
    this.#open.delete(attempt)
    if (isStarted) offer.credit.started()
    else offer.credit.givenBack()
  }

  /** Nobody will report on an attempt, or nobody waits for it any more. */
  ended(attempt: Attempt): void {
    this.#open.get(attempt)?.credit.release()
    this.#open.delete(attempt)
  }

  /** Notifies the members again that are alive and have not reported yet. Call it about every second. */
  notifyAgain(): void {
    if (this.#open.size === 0) return
    const { offers } = this.#parts
    const now = this.#parts.clock.monotonic()
    const rows: (OfferedRow & { readonly holder: Holder })[] = []
    for (const [attempt, offer] of this.#open) {
      if (attempt.isSuperseded) this.ended(attempt)
      if (attempt.isSuperseded || now - offer.notifiedAt < offer.everyMs) continue
      if (!offers.isAlive(offer.credit.holder)) continue
      offer.notifiedAt = now
      offer.everyMs = Math.min(MAX_RENOTIFY_MS, offer.everyMs * 2)
      rows.push(offeredRow(attempt, offer.token, offer.credit.holder))
    }
    if (rows.length > 0) offers.notify(rows)
  }

  /** The shard is no longer here. */
  stop(): void {
    for (const { credit } of this.#open.values()) credit.release()
    this.#open.clear()
  }

  #isReady(attempt: Attempt): boolean {
    const { window } = this.#parts
    const { token, isSuperseded } = attempt
    if (isSuperseded || window.page(token)?.attempts[window.index(token)] !== attempt) return false
    return window.state(token) === entryState.READY
  }
}

/** The row as it is while a member has it. */
export function offeredFollowUp(
  { attempt: { row }, credit, term }: NewOffer,
  settlementId: number,
  level: Place,
): FollowUp {
  const token = tokenOf(settlementId, term)
  const { dueAt, attempt, occurrence } = row
  const position = Math.max(row.position, level.position)
  const details = heldDetails({ ...row, details: keptDetails(row) }, credit.holder, token)
  return { row, dueAt, attempt, occurrence, position, details }
}

function offeredRow(
  { row: { namespace, kind, key } }: Attempt,
  token: string,
  holder: Holder,
): OfferedRow & { readonly holder: Holder } {
  return { namespace, kind, key, token, holder }
}

interface OpenOffer {
  readonly credit: OfferCredit
  readonly token: string
  /** By the monotonic clock. */
  notifiedAt: number
  /** How long until the next notification. */
  everyMs: number
}
