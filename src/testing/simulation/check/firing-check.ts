import { decodePayload, type Firing, firingIdOf } from '../../../timer/index.js'
import type { Clock } from '../../../time/index.js'
import type { Journal } from './journal.js'
import type { Ledger } from './ledger.js'
import { type Attempt, type Life, lifeText } from '../world/life.js'
import type { LeaseBook } from './lease-book.js'
import type { StoreTime } from '../world/store-time.js'
import type { PromiseName } from './violation.js'

/** The process that starts an attempt. */
export interface Firer {
  readonly number: number
  readonly member: string
  readonly clock: Clock
  readonly leases: LeaseBook
  readonly isAlive: boolean
  readonly isStopping: boolean
  /** How far it is ahead of true time because a handler keeps it busy. */
  readonly aheadMs: number
  /** Its last few measures of the store's clock, oldest first. */
  readonly measures: readonly Measured[]
  /** Whether it has a handler for a kind. */
  handles(kind: string): boolean
  /** Whether anything was wrong with it or its connection between two moments of the run. */
  isDisturbedBetween(from: number, to: number): boolean
}

/** What a process measured by one heartbeat. */
export interface Measured {
  /** When the store read its clock, in true time. */
  readonly at: number
  /** How long the heartbeat took, there and back. */
  readonly tookMs: number
  /** How far off the machine's clock was at least, however the time of the call was split. */
  readonly offByMs: number
}

const endings: Readonly<Record<Exclude<Life['state'], 'standing'>, PromiseName>> = {
  settled: 3,
  dead: 3,
  cancelled: 4,
  replaced: 3,
}

/**
 * What must hold at the start of every attempt:
 *
 * - It is not early by the store's clock, as far as its process could know that clock.
 * - The store has the timer exactly as it is fired.
 * - The process owns the shard, and its lease is not over by its own clocks.
 * - A new owner has applied what it found in the inbox about the timer.
 * - No other attempt at the occurrence runs elsewhere.
 * - The attempt number is explained by the attempts and takeovers so far.
 */
export class FiringCheck {
  readonly #journal: Journal
  readonly #ledger: Ledger
  readonly #time: StoreTime
  readonly #ownerOf: (shard: number) => string
  readonly #settings: { readonly maxClockOffsetMs: number; readonly leaseMs: number }

  constructor(parts: {
    readonly journal: Journal
    readonly ledger: Ledger
    readonly time: StoreTime
    readonly ownerOf: (shard: number) => string
    readonly settings: { readonly maxClockOffsetMs: number; readonly leaseMs: number }
  }) {
    this.#journal = parts.journal
    this.#ledger = parts.ledger
    this.#time = parts.time
    this.#ownerOf = parts.ownerOf
    this.#settings = parts.settings
  }

  /** A firing was delivered to its handler, which has not started it yet. */
  delivered({ row }: Firing): void {
    const life = this.#ledger.life(row.identity)
    if (life !== undefined) life.deliveries++
  }

  /** Checks and records the start of an attempt. Answers undefined for a timer that was never stored. */
  start(firing: Firing, firer: Firer): Attempt | undefined {
    const { row } = firing
    const life = this.#ledger.life(row.identity)
    if (life === undefined) {
      this.#journal.violated(3, `timer ${row.identity} was fired but never stored`)
      return undefined
    }
    if (!firer.handles(row.kind))
      this.#journal.violated(19, `${lifeText(life)} was fired by ${firer.member}, which does not handle it`)
    const isOwn = row.revision === life.version.revision && life.version.held === undefined
    const offer = isOwn ? undefined : this.#ledger.offers.openOffer(firing, firer)
    const isStray = offer === undefined && this.#isStray(life, firer)
    this.#checkTime(life, firing, firer, isStray)
    if (offer === undefined) this.#checkLease(life, firer)
    const attempt: Attempt = {
      process: firer.number,
      firer,
      startedAt: this.#journal.at + firer.aheadMs,
      claim: this.#ledger.claims[life.shard]!,
      revision: row.revision,
      occurrence: row.occurrence,
      number: firing.attempt,
      offer,
      outcome: undefined,
      sentAt: undefined,
      isSettled: false,
      mayRepeat: false,
    }
    if (isStray) {
      this.#journal.count('fired astray')
      return attempt
    }
    if (offer === undefined) {
      this.#checkStanding(life, firing, firer)
      this.#checkOwner(life, firer)
      this.#checkInbox(life)
    } else this.#ledger.offers.started(life, firing, offer)
    this.#checkLast(life, firing)
    this.#checkNumber(life, firing)
    life.attempts.push(attempt)
    return attempt
  }

  /** An occurrence becomes a dead letter because its attempts are used up: none of them may have succeeded. */
  checkUsedUp({ row }: Firing): void {
    const life = this.#ledger.life(row.identity)
    for (const attempt of life?.attempts ?? []) {
      if (attempt.occurrence !== row.occurrence || attempt.outcome?.type !== 'done') continue
      const ending = this.#ledger.endingOf(life!, attempt)
      const from = attempt.startedAt - this.#settings.leaseMs
      // An attempt that was handed over or offered is safe once its outcome is in the inbox.
      const isReported = attempt.offer !== undefined || ending?.how === 'released'
      const to = isReported ? attempt.sentAt : ending?.at
      if (attempt.firer.isDisturbedBetween(from, to ?? this.#journal.at)) continue
      this.#journal.violated(
        'success',
        `${lifeText(life!)} is given up although attempt ${attempt.number} by ${attempt.firer.member} was done and nothing was wrong there`,
      )
    }
  }

  #checkTime(life: Life, { row }: Firing, { measures, member, aheadMs }: Firer, isStray: boolean): void {
    const measured = measures.at(-1)
    // A stray process cannot know that the new owner moved or retried the timer.
    const isCurrent = life.state === 'standing' && !isStray
    const dueAt = Math.max(row.dueAt, isCurrent ? life.version.dueAt : 0)
    const earlyMs = dueAt - Math.floor(this.#time.clock.now() + aheadMs)
    const allowedMs = this.#time.errorOf(measures)
    if (earlyMs > allowedMs) {
      this.#journal.violated(
        2,
        `${lifeText(life)} was fired ${earlyMs} ms early by the store's clock; at most ${allowedMs} ms are allowed`,
      )
    }
    if (measured !== undefined && measured.offByMs > this.#settings.maxClockOffsetMs + 1) {
      this.#journal.violated(
        'fit',
        `${lifeText(life)} was fired by ${member}, whose clock is at least ${Math.round(measured.offByMs)} ms off`,
      )
    }
  }

  /**
   * Whether another process owns the shard and this one cannot know it: the store's clock was set forward after it got
   * its lease, so the lease ended early.
   */
  #isStray(life: Life, { member, leases }: Firer): boolean {
    if (this.#ownerOf(life.shard) === member) return false
    const grantedAt = leases.grantedAt(life.shard)
    return grantedAt !== undefined && this.#time.isAheadSince(grantedAt.at)
  }

  #checkStanding(life: Life, { row }: Firing, { number }: Firer): void {
    // Its owner has no answer yet to the write that replaced it. But the caller may have one.
    if (life.replacedBy === number && !this.#ledger.acknowledged.has(life.successor ?? 0)) return
    if (life.state !== 'standing') {
      this.#journal.violated(endings[life.state], `${lifeText(life)} was fired at revision ${row.revision}`)
      return
    }
    const { version } = life
    // The row was carried while the firing waited, and the process has no answer to that settlement yet.
    const isCarried = life.carried?.process === number && life.carried.revision === row.revision
    if (row.revision !== version.revision && !isCarried) {
      const what = life.movedAtRevision > row.revision ? 'after it was moved' : 'from an old version'
      this.#journal.violated(3, `${lifeText(life)} was fired ${what}, at revision ${row.revision}`)
    }
    if (row.occurrence !== version.occurrence || decodePayload(row.payload) !== life.identity) {
      this.#journal.violated(11, `${lifeText(life)} was fired with the content of another`)
    }
  }

  #checkLast(life: Life, { row, attempt }: Firing): void {
    const { lastAttempt } = life
    if (lastAttempt === undefined) return
    const isPast = row.occurrence > lastAttempt.occurrence || attempt > lastAttempt.attempt
    if (isPast) {
      this.#journal.violated(
        4,
        `${lifeText(life)} was cancelled while it fired, and attempt ${attempt} started`,
      )
    }
  }

  #checkInbox(life: Life): void {
    const found = this.#ledger.foundAtAcquisition(life)
    if (found !== undefined) {
      this.#journal.violated(
        16,
        `${lifeText(life)} started before its owner had applied the ${found.operation.type} that it found in the inbox`,
      )
    }
    const successor = this.#ledger.acknowledgedSuccessor(life)
    if (successor !== undefined) {
      this.#journal.violated(
        16,
        `${lifeText(life)} started although the set ${successor.id}, which replaces it, was acknowledged`,
      )
    }
  }

  #checkOwner(life: Life, { member }: Firer): void {
    const owner = this.#ownerOf(life.shard)
    if (owner !== member) {
      this.#journal.violated(
        7,
        `${lifeText(life)} was fired by ${member}, but its owner is ${owner || 'nobody'}`,
      )
    }
  }

  #checkLease(life: Life, { member, leases }: Firer): void {
    const objection = leases.objection(life.shard)
    if (objection !== undefined) {
      this.#journal.violated(7, `${lifeText(life)} was fired by ${member}: ${objection}`)
    }
  }

  #checkNumber(life: Life, firing: Firing): void {
    const { occurrence } = firing.row
    if (firing.id !== firingIdOf(firing.row)) {
      this.#journal.violated(11, `${lifeText(life)} was fired under the id ${firing.id}`)
    }
    const sofar = life.attempts.filter((attempt) => attempt.occurrence === occurrence)
    const claim = this.#ledger.claims[life.shard]!
    const last = Math.max(0, ...sofar.map(({ number, mayRepeat }) => (mayRepeat ? number - 1 : number)))
    if (firing.attempt <= last) {
      this.#journal.violated(
        11,
        `${lifeText(life)} was fired as attempt ${firing.attempt} after attempt ${last}`,
      )
    }
    if (firing.attempt > sofar.length + 1 + life.unexplained) {
      this.#journal.violated(
        11,
        `${lifeText(life)} was fired as attempt ${firing.attempt} after ${sofar.length} attempts and ${life.unexplained} takeovers that no attempt explains`,
      )
    }
    for (const attempt of sofar) {
      if (attempt.claim === claim && attempt.outcome === undefined && attempt.offer === undefined) {
        this.#journal.violated(11, `${lifeText(life)} was fired while its last attempt was running`)
      } else if (this.#ledger.runsElsewhere(life, attempt)) {
        this.#journal.violated(
          'hand-over',
          `${lifeText(life)} was fired while its attempt ${attempt.number} was running at ${attempt.firer.member}, which does not own the shard`,
        )
      }
    }
  }
}
