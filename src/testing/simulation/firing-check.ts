import { decodePayload, type Firing, firingIdOf } from '../../timer/index.js'
import type { Clock } from '../../time/index.js'
import type { Journal } from './journal.js'
import type { Ledger } from './ledger.js'
import { type Attempt, type Life, lifeText } from './life.js'
import type { LeaseBook } from './lease-book.js'
import type { PromiseName } from './violation.js'

/** The process that fires. */
export interface Firer {
  readonly number: number
  readonly member: string
  readonly clock: Clock
  readonly leases: LeaseBook
}

const endings: Readonly<Record<Exclude<Life['state'], 'standing'>, PromiseName>> = {
  settled: 3,
  dead: 3,
  cancelled: 4,
  replaced: 3,
}

/**
 * What must hold at the start of every attempt: it is not early by its own process's clock, its timer stands
 * in the store just as it is fired, nobody else owns the shard, the process's lease is not over by its own
 * reckoning, and its number is the next that what happened so far explains.
 */
export class FiringCheck {
  readonly #journal: Journal
  readonly #ledger: Ledger
  readonly #ownerOf: (shard: number) => string
  readonly #maxClockOffsetMs: number

  constructor(
    journal: Journal,
    ledger: Ledger,
    ownerOf: (shard: number) => string,
    maxClockOffsetMs: number,
  ) {
    this.#journal = journal
    this.#ledger = ledger
    this.#ownerOf = ownerOf
    this.#maxClockOffsetMs = maxClockOffsetMs
  }

  /** Checks and notes the start of an attempt; undefined for a timer that never was. */
  start(firing: Firing, firer: Firer): Attempt | undefined {
    const { row } = firing
    const life = this.#ledger.life(row.identity)
    if (life === undefined) {
      this.#journal.broken(3, `timer ${row.identity} was fired and never stored`)
      return undefined
    }
    const now = firer.clock.now()
    if (now < row.dueAt || now < life.version.dueAt) {
      this.#journal.broken(2, `${lifeText(life)} was fired ${life.version.dueAt - now} ms early`)
    }
    this.#checkStanding(life, firing, firer)
    this.#checkOwner(life, firer)
    this.#checkNumber(life, firing)
    const attempt: Attempt = {
      process: firer.number,
      claim: this.#ledger.claims[life.shard]!,
      revision: row.revision,
      occurrence: row.occurrence,
      number: firing.attempt,
      outcome: undefined,
    }
    life.attempts.push(attempt)
    return attempt
  }

  #checkStanding(life: Life, { row }: Firing, { number }: Firer): void {
    if (life.replacedBy === number) return
    if (life.state !== 'standing') {
      this.#journal.broken(endings[life.state], `${lifeText(life)} was fired at revision ${row.revision}`)
      return
    }
    const { version } = life
    if (row.revision !== version.revision) {
      const what = life.movedAtRevision > row.revision ? 'after it was moved' : 'from an old version'
      this.#journal.broken(3, `${lifeText(life)} was fired ${what}, at revision ${row.revision}`)
    }
    if (row.occurrence !== version.occurrence || decodePayload(row.payload) !== life.identity) {
      this.#journal.broken(11, `${lifeText(life)} was fired with the content of another`)
    }
  }

  #checkOwner(life: Life, { member, leases }: Firer): void {
    const owner = this.#ownerOf(life.shard)
    if (owner !== member) {
      this.#journal.broken(7, `${lifeText(life)} was fired by ${member}, its owner is ${owner || 'nobody'}`)
    }
    const objection = leases.objection(life.shard)
    if (objection !== undefined) {
      this.#journal.broken(7, `${lifeText(life)} was fired by ${member}: ${objection}`)
    }
  }

  #checkNumber(life: Life, firing: Firing): void {
    const { occurrence } = firing.row
    if (firing.id !== firingIdOf(firing.row)) {
      this.#journal.broken(11, `${lifeText(life)} was fired under the id ${firing.id}`)
    }
    const sofar = life.attempts.filter((attempt) => attempt.occurrence === occurrence)
    const last = Math.max(0, ...sofar.map((attempt) => attempt.number))
    // An owner whose clock had just been set far ahead may have attempted what was not due by the store's for
    // long when it was replaced.
    const suspectedUntil = this.#ledger.lastTakeoverAt[life.shard]! + this.#maxClockOffsetMs
    const isUnsuspected = firing.row.dueAt > suspectedUntil
    const claim = this.#ledger.claims[life.shard]!
    const isByAnother = sofar.at(-1)?.claim !== claim
    if (firing.attempt <= last && !(isUnsuspected && isByAnother && firing.attempt === last)) {
      this.#journal.broken(
        11,
        `${lifeText(life)} was fired as attempt ${firing.attempt} after attempt ${last}`,
      )
    }
    const takeovers = this.#ledger.takeovers[life.shard]! - life.takeoversAtBirth
    if (firing.attempt > sofar.length + 1 + takeovers) {
      this.#journal.broken(
        11,
        `${lifeText(life)} was fired as attempt ${firing.attempt} after ${sofar.length} attempts and ${takeovers} takeovers`,
      )
    }
    if (sofar.some((attempt) => attempt.claim === claim && attempt.outcome === undefined)) {
      this.#journal.broken(11, `${lifeText(life)} was fired while its last attempt was under way`)
    }
  }
}
