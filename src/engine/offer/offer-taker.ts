import { Sleeper } from '../../async/index.js'
import { errorOf, StateError } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { holderOf } from '../../timer/index.js'
import type { Membership } from '../cluster/membership.js'
import { MESSAGES_AT_ONCE } from '../defaults.js'
import type { OnEvent } from '../event.js'
import type { EngineSettings } from '../settings.js'
import { type OfferedRow, parseMessage } from './offer-message.js'
import type { OfferedAttempts } from './offered-attempts.js'

interface OfferTakerParts {
  readonly store: Store
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly membership: Membership
  readonly onEvent: OnEvent
  readonly offeredAttempts: OfferedAttempts
  /** Another member has begun or ended to handle kinds. */
  readonly onMembersChanged: () => Promise<void>
}

/**
 * Reads the mailbox of this instance, and accepts the rows that owners have offered to it (rule 9). Each row is looked
 * up first: an offer counts only while the row itself names this process and this offer.
 *
 * One message batch is handled at a time. So between the lookup of a row and its acceptance no other lookup can accept
 * it, and an old answer cannot bring back an offer that has ended.
 *
 * Proven by test/engine/pools.test.ts and the mutant 'an offer is not checked against its row'.
 */
export class OfferTaker {
  readonly #parts: OfferTakerParts
  readonly #sleeper: Sleeper
  #offMail: () => void = () => undefined
  #isPoked = false
  #isOver = false

  constructor(parts: OfferTakerParts) {
    this.#parts = parts
    this.#sleeper = new Sleeper(parts.clock)
  }

  /** There may be mail. */
  poke(): void {
    this.#isPoked = true
    this.#sleeper.wakeAll()
  }

  stop(): void {
    this.#isOver = true
    this.#offMail()
    this.#sleeper.cancelAll()
  }

  /** Takes mail when it is woken, until it is stopped. It polls only if other members handle other kinds. */
  async run(): Promise<void> {
    const { store, clock, membership, settings, offeredAttempts } = this.#parts
    this.#offMail = store.onMail((member) => {
      if (member === membership.id) this.poke()
    })
    let givenBackAt = clock.monotonic()
    while (!this.#isOver) {
      if (!this.#isPoked) await this.#sleeper.sleep(settings.inboxPollMs)
      if (clock.monotonic() - givenBackAt >= settings.inboxPollMs) {
        offeredAttempts.giveBackLate()
        givenBackAt = clock.monotonic()
      }
      if (this.#isOver || (!this.#isPoked && !membership.isMixed)) continue
      this.#isPoked = false
      if (!(await this.#take())) await this.#sleeper.sleep(settings.retryMs)
    }
  }

  /** Takes all mail there is. Answers whether the store could be asked. */
  async #take(): Promise<boolean> {
    const { store, membership, onEvent } = this.#parts
    try {
      for (let count = MESSAGES_AT_ONCE; count === MESSAGES_AT_ONCE && !this.#isOver;) {
        const messages = await store.takeMail(membership.id, MESSAGES_AT_ONCE)
        count = messages.length
        await this.#receive(messages)
      }
      return true
    } catch (error) {
      if (!(error instanceof StateError))
        onEvent({ type: 'store-trouble', shard: undefined, call: 'takeMail', error: errorOf(error) })
      return false
    }
  }

  async #receive(messages: readonly string[]): Promise<void> {
    const { offeredAttempts, onMembersChanged } = this.#parts
    const offered = new Map<string, OfferedRow>()
    for (const text of messages) {
      const message = parseMessage(text)
      if (message?.type === 'members') void onMembersChanged()
      if (message?.type !== 'offers') continue
      for (const row of message.rows) {
        const name = offerName(row)
        if (!offeredAttempts.has(name)) offered.set(name, row)
      }
    }
    if (offered.size > 0) await this.#accept([...offered])
  }

  async #accept(offered: readonly (readonly [string, OfferedRow])[]): Promise<void> {
    const { store, clock, membership, offeredAttempts } = this.#parts
    const lookedUpAt = clock.monotonic()
    const rows = await store.find(offered.map(([, row]) => row))
    if (this.#isOver) return
    for (const [index, [name, { token }]] of offered.entries()) {
      const row = rows[index]
      const hold = row && holderOf(row)
      const isOurs = hold?.member === membership.id && hold.life === membership.life && hold.offer === token
      if (isOurs) offeredAttempts.accept(row!, { offerName: name, offerToken: token, lookedUpAt })
    }
    offeredAttempts.flush()
  }
}

function offerName({ namespace, kind, key, token }: OfferedRow): string {
  return JSON.stringify([namespace, kind, key, token])
}
