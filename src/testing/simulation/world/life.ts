import type { Outcome, Place, TimerProgress } from '../../../timer/index.js'
import type { Firer } from '../check/firing-check.js'
import type { StoredOffer } from '../check/offer-check.js'

/**
 * One life of a timer's name, from the commit that stored it to the commit that ended it, with every attempt at it. It
 * is built from the store's commits alone.
 */
export interface Life {
  readonly identity: number
  /** kind/key */
  readonly name: string
  readonly shard: number
  readonly bornAt: number
  /** Infinity while it exists. */
  endedAt: number
  /** Takeovers from lost owners during this occurrence that no attempt of the lost owner explains. */
  unexplained: number
  version: Version
  /** Every revision it ever had. */
  readonly revisions: Set<number>
  /** Attempts at an earlier revision do not settle it, because it was moved since. */
  movedAtRevision: number
  /** The process whose write replaced it and that has no answer yet. For that process it still exists. */
  replacedBy: number | undefined
  /** The identity of the timer that replaced it. */
  successor: number | undefined
  state: LifeState
  readonly attempts: Attempt[]
  /** How often it was delivered, whether or not it was started. */
  deliveries: number
  /** The process that last rewrote it while it was delivered, and the revision that the process may still use. */
  carried: { readonly process: number; readonly revision: number } | undefined
  /** It was cancelled while it fired: nothing may start after this attempt. */
  lastAttempt: LastAttempt | undefined
}

export interface LastAttempt {
  readonly occurrence: number
  readonly attempt: number
}

export type LifeState = 'standing' | 'settled' | 'cancelled' | 'replaced' | 'dead'

/** The current row. */
export interface Version extends Place, TimerProgress {
  /** The member that runs the attempt without owning the shard, since when the row says so, and by which offer. */
  readonly held:
    | {
        readonly by: string
        readonly life: string
        readonly since: number
        readonly offer: string | undefined
      }
    | undefined
}

/** One firing that was given to the receiver. */
export interface Attempt {
  /** The number of the process that made it; `firer` is the process itself. */
  readonly process: number
  readonly firer: Firer
  /** True milliseconds since the run began. */
  readonly startedAt: number
  /** How often its shard had been acquired by then. */
  readonly claim: number
  readonly revision: number
  readonly occurrence: number
  readonly number: number
  /** The offer by which the process got it; undefined if it owned the shard. */
  readonly offer: StoredOffer | undefined
  /** The first reported outcome; undefined while it runs. */
  outcome: Outcome | undefined
  /** When its outcome was appended to the inbox for the new owner, in true milliseconds since the run began. */
  sentAt: number | undefined
  /** Its outcome is in the store. */
  isSettled: boolean
  /** The next owner could not suspect it, so its number may be used again. */
  mayRepeat: boolean
}

/**
 * Whether an attempt at this version, or at one carried since, was reported to this process with this outcome. A timer
 * that was cancelled while it fired has no follow-up: it is done instead, or a dead letter. It may also be dead because
 * nobody knows how its last attempt ended. Earlier attempts do not matter then: they had been counted as failed before
 * the timer was cancelled, and a late report on them is ignored. Nor do attempts from before the shard was last acquired
 * (`claim`), unless their outcome came through the inbox: a process that loses its shard forgets them.
 */
export function hasEnded(life: Life, process: number, type: 'done' | 'dead', claim: number): boolean {
  const { lastAttempt } = life
  const ended = endedAttempts(life, process)
  if (lastAttempt !== undefined && type === 'dead') {
    const known = ended.filter((attempt) => attempt.claim === claim || attempt.sentAt !== undefined)
    return !known.some((attempt) => attempt.number >= lastAttempt.attempt && isSuccess(attempt))
  }
  return ended.some(
    (attempt) => attempt.outcome?.type === type || (lastAttempt !== undefined && isSuccess(attempt)),
  )
}

function isSuccess({ outcome }: Attempt): boolean {
  return outcome?.type === 'done' || outcome?.type === 'next'
}

/** The attempts at the current occurrence, since the last move, whose outcome was reported to this process. */
export function endedAttempts(life: Life, process: number): readonly Attempt[] {
  return life.attempts.filter(
    (attempt) =>
      (attempt.process === process || attempt.sentAt !== undefined) &&
      attempt.occurrence === life.version.occurrence &&
      attempt.revision >= life.movedAtRevision &&
      attempt.outcome !== undefined,
  )
}

export function lifeText(life: Life): string {
  const { revision, attempt, occurrence } = life.version
  return `timer ${life.identity} (${life.name}, shard ${life.shard}, revision ${revision}, occurrence ${occurrence}, attempt ${attempt}, ${life.state})`
}
