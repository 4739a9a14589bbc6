import type { Outcome, Place, TimerProgress } from '../../timer/index.js'

/**
 * One life of a timer's name, from the commit that stored it to the one that ended it, as the store's commits
 * tell it, with every attempt that was seen at it.
 */
export interface Life {
  readonly identity: number
  /** kind/key */
  readonly name: string
  readonly shard: number
  readonly bornAt: number
  /** Infinity while it stands. */
  endedAt: number
  /** Unclean takeovers that its shard had had by then. */
  readonly takeoversAtBirth: number
  version: Version
  /** Every revision it ever stood at. */
  readonly revisions: Set<number>
  /** Attempts at an earlier revision than this one do not settle it: it was moved since. */
  movedAtRevision: number
  /** The process that replaced it and does not know yet: to that one it still stands. */
  replacedBy: number | undefined
  state: LifeState
  readonly attempts: Attempt[]
}

export type LifeState = 'standing' | 'settled' | 'cancelled' | 'replaced' | 'dead'

/** The row as it stands. */
export interface Version extends Place, TimerProgress {}

/** One firing that was given to the receiver. */
export interface Attempt {
  /** Number of the process that made it. */
  readonly process: number
  /** How often its shard had been claimed by then. */
  readonly claim: number
  readonly revision: number
  readonly occurrence: number
  readonly number: number
  /** What was reported first; undefined while it is under way. */
  outcome: Outcome | undefined
}

/** Whether this process was told, of this version or one carried since, that it ended like this. */
export function hasEnded(life: Life, process: number, type: Outcome['type']): boolean {
  return endedAttempts(life, process).some((attempt) => attempt.outcome?.type === type)
}

/** The attempts of a process at the occurrence that stands, since it was last moved, that were reported on. */
export function endedAttempts(life: Life, process: number): readonly Attempt[] {
  return life.attempts.filter(
    (attempt) =>
      attempt.process === process &&
      attempt.occurrence === life.version.occurrence &&
      attempt.revision >= life.movedAtRevision &&
      attempt.outcome !== undefined,
  )
}

export function lifeText(life: Life): string {
  const { revision, attempt, occurrence } = life.version
  return `timer ${life.identity} (${life.name}, shard ${life.shard}, revision ${revision}, occurrence ${occurrence}, attempt ${attempt}, ${life.state})`
}
