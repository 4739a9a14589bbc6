import { handleOf, type TimerHandle } from '../../timer/index.js'
import { TimerFiring } from '../timer-firing.js'

/** A leased firing: one attempt at one due occurrence of a timer, for one worker until the lease ends. */
export interface LeasedFiring<Payload = unknown> {
  /** Names this lease only, not a later one of the same firing. The worker answers with it. */
  readonly receipt: string
  /** Epoch milliseconds. Without an answer by then the attempt has failed. */
  readonly leaseUntil: number
  /** The same on every attempt at this occurrence: give it to others as an idempotency key. */
  readonly id: string
  readonly kind: string
  readonly key: string
  readonly handle: TimerHandle
  readonly payload: Payload
  readonly tags: readonly string[]
  /** When this occurrence was due: the same on every attempt at it. */
  readonly dueAt: number
  readonly firedAt: number
  /** Counts from 1, including attempts of unknown outcome. */
  readonly attempt: number
  /** Occurrences of a recurring timer that were settled before this one. */
  readonly occurrence: number
}

export function leasedFiringOf(firing: TimerFiring, receipt: string, leaseUntil: number): LeasedFiring {
  const { id, kind, key, payload, tags, dueAt, firedAt, attempt, occurrence } = firing
  const handle = handleOf(TimerFiring.firingOf(firing).row)
  return {
    receipt,
    leaseUntil,
    id,
    kind,
    key,
    handle,
    payload,
    tags,
    dueAt,
    firedAt,
    attempt,
    occurrence,
  }
}
