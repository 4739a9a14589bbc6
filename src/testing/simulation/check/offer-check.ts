import { decodePayload, type Firing, holderOf } from '../../../timer/index.js'
import type { StoreTime } from '../world/store-time.js'
import { type Attempt, type Life, lifeText } from '../world/life.js'
import type { Commit } from './commit.js'
import type { Firer } from './firing-check.js'
import type { Heartbeats } from './heartbeats.js'
import type { Journal } from './journal.js'
import type { PromiseName } from './violation.js'

/** An offer of one attempt to one process, as a settlement has stored it. */
export interface StoredOffer {
  readonly token: string
  readonly member: string
  readonly life: string
  /** In true milliseconds since the run began. */
  readonly at: number
  readonly occurrence: number
  readonly number: number
  isStarted: boolean
}

const endings: Readonly<Record<'settled' | 'dead' | 'cancelled', PromiseName>> = {
  settled: 3,
  dead: 3,
  cancelled: 4,
}

/**
 * What must hold for attempts that an owner has offered to another process (rule 9): each offer starts at most once, at
 * the process that it names, and not after it was taken back. An owner takes back only what was given back, or what its
 * holder can no longer report.
 */
export class OfferCheck {
  readonly #journal: Journal
  readonly #time: StoreTime
  readonly #heartbeats: Heartbeats
  readonly #byIdentity = new Map<number, StoredOffer[]>()
  // The life that each process names in its heartbeats.
  readonly #lives = new Map<number, string>()
  #ttlMs = 0

  constructor(journal: Journal, time: StoreTime, heartbeats: Heartbeats) {
    this.#journal = journal
    this.#time = time
    this.#heartbeats = heartbeats
  }

  note(commit: Commit, process: number): void {
    if (commit.name === 'heartbeat') {
      this.#ttlMs = commit.args[1]
      const life = /"life":"(\w+)"/.exec(commit.args[0].details)?.[1]
      if (life !== undefined) this.#lives.set(process, life)
    }
    if (commit.name !== 'settle') return
    for (const row of commit.answer.followUps) {
      const hold = row && holderOf(row)
      if (row === undefined || hold?.offer === undefined) continue
      const offers = this.#byIdentity.get(row.identity) ?? []
      if (offers.some(({ token }) => token === hold.offer)) continue
      this.#journal.count('offered')
      const { member, life, offer: token, occurrence } = hold
      const number = hold.attempt + 1
      offers.push({ token, member, life, at: this.#journal.at, occurrence, number, isStarted: false })
      this.#byIdentity.set(row.identity, offers)
    }
  }

  /** The last offer of this attempt to this process that has not started; undefined if there is none. */
  openOffer({ row, attempt }: Firing, { number }: Firer): StoredOffer | undefined {
    const life = this.#lives.get(number)
    return this.#byIdentity
      .get(row.identity)
      ?.findLast(
        (offer) =>
          offer.life === life &&
          offer.occurrence === row.occurrence &&
          offer.number === attempt &&
          !offer.isStarted,
      )
  }

  /** An offered attempt starts. */
  started(life: Life, { row }: Firing, offer: StoredOffer): void {
    offer.isStarted = true
    this.#journal.count('fired by offer')
    // The store's clock was set forward: the heartbeats of the process may have ended without its knowledge.
    if (this.#time.isAheadSince(offer.at - this.#ttlMs)) return
    // A set replaces an offered timer at any time. The offered attempt counts as begun.
    if (life.state === 'replaced') return
    if (life.state !== 'standing') {
      this.#journal.violated(endings[life.state], `${lifeText(life)} was fired by an offer afterwards`)
      return
    }
    if (life.version.held?.offer !== offer.token) {
      this.#journal.violated(19, `${lifeText(life)} was fired although its offer had been taken back`)
    }
    if (row.occurrence !== life.version.occurrence || decodePayload(row.payload) !== life.identity) {
      this.#journal.violated(11, `${lifeText(life)} was fired by an offer with the content of another`)
    }
  }

  /** Whether an offered attempt still runs in a process that all members can see. */
  isRunning({ offer, outcome, firer, startedAt }: Attempt): boolean {
    if (offer === undefined || outcome !== undefined || !firer.isAlive || firer.isStopping) return false
    return this.#heartbeats.isHeardSince(offer, Math.min(offer.at, startedAt), this.#journal.at)
  }

  /** The row of an offered attempt was rewritten without its holder, and counts the attempt without an outcome. */
  takenBack(life: Life, attempt: Attempt): void {
    if (!this.isRunning(attempt)) return
    this.#journal.violated(
      19,
      `${lifeText(life)} was taken back while its attempt ${attempt.number} ran at ${attempt.firer.member}`,
    )
  }
}
