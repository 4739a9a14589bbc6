import type { Store } from '../../store/index.js'
import { StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type { Holder } from '../../timer/index.js'
import type { Membership, Taker } from '../cluster/membership.js'
import {
  CREDIT_STEP_MS,
  FIRST_CREDIT,
  MAX_CREDIT,
  MAX_HOLD_OFF_MS,
  MIN_HOLD_OFF_MS,
  NAMES_IN_MESSAGE,
} from '../defaults.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import type { OnEvent } from '../event.js'
import { formatOffers, membersChanged, type OfferedRow } from './offer-message.js'

interface OffersParts {
  readonly store: Store
  readonly clock: Clock
  readonly membership: Membership
  readonly policy: DeliveryPolicy
  readonly onEvent: OnEvent
}

/**
 * Decides for all shards of an instance which member gets a due timer that this instance does not handle (rule 9), and
 * writes to these members. Each member has a credit for each kind: how many of its timers may be offered there and not
 * be reported. It grows with each timer that starts, and shrinks when timers are given back. So a slow member gets
 * little, and the others get the rest.
 *
 * Proven by test/engine/pools.test.ts.
 */
export class Offers {
  readonly #parts: OffersParts
  #takers: readonly Taker[] = []
  // By process, namespace and kind.
  readonly #credits = new Map<string, OfferCredit>()
  // The credits of the members that handle a kind, until the members are read again.
  readonly #byKind = new Map<string, readonly OfferCredit[]>()

  constructor(parts: OffersParts) {
    this.#parts = parts
  }

  /** The members were read again. */
  onMembersRead(): void {
    const { membership } = this.#parts
    this.#takers = membership.isMixed ? membership.takers : []
    this.#byKind.clear()
    const lives = new Set(this.#takers.map(({ life }) => life))
    for (const [name, { holder, open }] of this.#credits)
      if (open === 0 && !lives.has(holder.life)) this.#credits.delete(name)
  }

  /** Whether any member handles other kinds than this instance. */
  get isAnyTaker(): boolean {
    return this.#takers.length > 0
  }

  /** Whether timers of this kind are to be offered: this instance does not handle it, and a member does. */
  isOffered(namespace: string, kind: string): boolean {
    if (this.#takers.length === 0 || this.#parts.policy.handles(namespace, kind)) return false
    return this.#creditsOf(namespace, kind).length > 0
  }

  isAlive(holder: Holder): boolean {
    return this.#parts.membership.isAlive(holder)
  }

  /** Whether an instance is known that handles this kind. */
  isHandled(namespace: string, kind: string): boolean {
    if (this.#parts.policy.handles(namespace, kind)) return true
    return this.#parts.membership.takers.some(({ kinds }) => kinds.has(namespace, kind))
  }

  /** The members that handle this kind, as far as they are known. */
  handlersOf(namespace: string, kind: string): readonly string[] {
    const { policy, membership } = this.#parts
    const others = membership.takers.filter(({ kinds }) => kinds.has(namespace, kind))
    const own = policy.handles(namespace, kind) ? [membership.id] : []
    return [...own, ...others.map(({ member }) => member)]
  }

  /** How many more timers of this kind may be offered now. */
  roomFor(namespace: string, kind: string): number {
    if (!this.isOffered(namespace, kind)) return 0
    const now = this.#parts.clock.monotonic()
    return this.#creditsOf(namespace, kind).reduce((sum, credit) => sum + credit.roomAt(now), 0)
  }

  /** The member that gets the next timer of this kind: the one with the fewest open offers. */
  choose(namespace: string, kind: string): OfferCredit | undefined {
    const now = this.#parts.clock.monotonic()
    let best: OfferCredit | undefined
    for (const credit of this.#creditsOf(namespace, kind)) {
      if (credit.roomAt(now) > 0 && (best === undefined || credit.isBefore(best))) best = credit
    }
    return best
  }

  /** The credit of an offer that an earlier owner has made. */
  creditOf(holder: Holder, namespace: string, kind: string): OfferCredit {
    const name = JSON.stringify([holder.member, holder.life, namespace, kind])
    let credit = this.#credits.get(name)
    if (credit === undefined) {
      const { member, life } = holder
      this.#credits.set(name, (credit = new OfferCredit({ member, life }, this.#parts.clock)))
    }
    return credit
  }

  /** Tells members of rows that they may start. A message that gets lost is repeated later. */
  notify(rows: readonly (OfferedRow & { readonly holder: Holder })[]): void {
    const byMember = new Map<string, OfferedRow[]>()
    for (const row of rows) {
      const theirs = byMember.get(row.holder.member)
      if (theirs === undefined) byMember.set(row.holder.member, [row])
      else theirs.push(row)
    }
    const messages: { readonly member: string; readonly text: string }[] = []
    for (const [member, theirs] of byMember) {
      for (let at = 0; at < theirs.length; at += NAMES_IN_MESSAGE)
        messages.push({ member, text: formatOffers(theirs.slice(at, at + NAMES_IN_MESSAGE)) })
    }
    if (messages.length > 0) void this.#post(messages)
  }

  /** Tells the other members that this instance has begun or ended to handle kinds, if that matters to any. */
  announce(): void {
    const { membership } = this.#parts
    if (!membership.isMixed) return
    void this.#post(membership.takers.map(({ member }) => ({ member, text: membersChanged })))
  }

  async #post(messages: readonly { readonly member: string; readonly text: string }[]): Promise<void> {
    try {
      await this.#parts.store.post(messages)
    } catch (error) {
      if (!(error instanceof StoreError)) return
      this.#parts.onEvent({ type: 'store-trouble', shard: undefined, call: 'post', error })
    }
  }

  #creditsOf(namespace: string, kind: string): readonly OfferCredit[] {
    const name = JSON.stringify([namespace, kind])
    let credits = this.#byKind.get(name)
    if (credits === undefined) {
      credits = this.#takers
        .filter(({ kinds }) => kinds.has(namespace, kind))
        .map((taker) => {
          const credit = this.creditOf(taker, namespace, kind)
          credit.term = taker.term
          credit.isOverdue = taker.isOverdue
          return credit
        })
      this.#byKind.set(name, credits)
    }
    return credits
  }
}

/** How many timers of one kind may be offered to one process. */
export class OfferCredit {
  readonly holder: Holder
  /** Offers that are not reported yet. */
  open = 0
  /** The term of the process, as its last known heartbeat says. */
  term = 0
  /** Whether its heartbeats are late: then nothing is offered. */
  isOverdue = false
  readonly #clock: Clock
  #limit = FIRST_CREDIT
  #offered = 0
  #loweredAt = -Infinity
  #holdOffMs = MIN_HOLD_OFF_MS
  #notBefore = -Infinity

  constructor(holder: Holder, clock: Clock) {
    this.holder = holder
    this.#clock = clock
  }

  roomAt(now: number): number {
    return this.isOverdue || now < this.#notBefore ? 0 : Math.max(0, this.#limit - this.open)
  }

  isBefore(other: OfferCredit): boolean {
    return this.open === other.open ? this.#offered < other.#offered : this.open < other.open
  }

  /** A timer is offered. */
  take(): void {
    this.open++
    this.#offered++
  }

  /** An offer was not stored, or its timer was replaced. */
  release(): void {
    this.open--
  }

  /** The attempt was started there and has ended. */
  started(): void {
    this.open--
    this.#limit = Math.min(MAX_CREDIT, this.#limit + 1)
    this.#holdOffMs = MIN_HOLD_OFF_MS
  }

  /** The timer was given back. */
  givenBack(): void {
    this.open--
    const now = this.#clock.monotonic()
    if (now - this.#loweredAt < CREDIT_STEP_MS) return
    this.#loweredAt = now
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
    this.#notBefore = now + this.#holdOffMs
    this.#holdOffMs = Math.min(MAX_HOLD_OFF_MS, this.#holdOffMs * 2)
  }
}
