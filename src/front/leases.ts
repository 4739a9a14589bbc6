import { type LeaseDesk, type LeasedFiring, leaseMsOf } from '../delivery/index.js'
import { checkOptions, checkWhole, InvalidInputError, shown, StateError } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import type { AnyKind } from './kind.js'
import type { Kinds } from './kinds.js'

export interface LeaseRequestOptions {
  /** At most so many firings, up to 1,000. Default 1. */
  readonly max?: number
  /** How long to wait for the first one, up to an hour. Default 0: answer with what is due now. */
  readonly wait?: Duration
  /** How long the worker has them to itself, up to 12 hours. Default: what the kind's target says. */
  readonly duration?: Duration
  /** Ends the wait early: for a worker that is gone. */
  readonly signal?: AbortSignal
}

export interface AckOptions {
  /** Fires once more at that time, instead of ending. */
  readonly again?: { readonly in: Duration } | { readonly at: number | Date }
}

export interface ReleaseOptions {
  /** The pause before the next attempt. Default: by the retry policy. */
  readonly in?: Duration
  /** What went wrong: for the history, and for the dead letter if it becomes one. */
  readonly reason?: string
  /** Give the timer up at once, as a dead letter, whatever its retry policy. */
  readonly dead?: boolean
}

/** 'stale': the lease had ended before, or its timer is another instance's by now; nothing was changed. */
export type AckOutcome = 'acked' | 'stale'
export type ExtendOutcome = 'extended' | 'stale'
export type ReleaseOutcome = 'released' | 'stale'

// As long as a store may take to say what is due.
const CLAIM_MS = 250
const MOST_AT_ONCE = 1000
const LONGEST_WAIT_MS = 3_600_000
const LONGEST_REASON = 1000

/** What workers ask for and answer, checked. */
export class Leases {
  readonly #desk: LeaseDesk
  readonly #kinds: Kinds
  readonly #isForWorkers: (kind: string) => boolean
  readonly #leastWaitMs: number

  /** `claims`: whether what is due has to be asked of the store first. */
  constructor(parts: {
    desk: LeaseDesk
    kinds: Kinds
    claims: boolean
    isForWorkers: (kind: string) => boolean
  }) {
    this.#desk = parts.desk
    this.#leastWaitMs = parts.claims ? CLAIM_MS : 0
    this.#kinds = parts.kinds
    this.#isForWorkers = parts.isForWorkers
  }

  async lease(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring[]> {
    checkOptions('lease', options, ['max', 'wait', 'duration', 'signal'])
    const { max = 1, wait = 0, duration, signal } = options
    checkWhole('max', max, 1, MOST_AT_ONCE)
    const request = {
      max,
      waitMs: Math.max(waitMsOf(wait), this.#leastWaitMs),
      leaseMs: duration === undefined ? undefined : leaseMsOf('duration', duration),
      signal,
    }
    return await this.#desk.take({ kinds: await this.#namesOf(kinds), ...request })
  }

  ack(receipt: string, options: AckOptions): AckOutcome {
    checkOptions('ack', options, ['again'])
    return this.#desk.ack(receipt, options.again) ? 'acked' : 'stale'
  }

  extend(receipt: string, duration: Duration): ExtendOutcome {
    return this.#desk.extend(receipt, leaseMsOf('the extension', duration)) ? 'extended' : 'stale'
  }

  release(receipt: string, options: ReleaseOptions): ReleaseOutcome {
    checkOptions('release', options, ['in', 'reason', 'dead'])
    const { in: delay, reason = 'the worker released it', dead: isDead = false } = options
    if (typeof reason !== 'string' || reason.length > LONGEST_REASON)
      throw new InvalidInputError(
        'invalid-option',
        `reason must be a text of at most ${LONGEST_REASON} characters, got ${shown(reason)}`,
      )
    if (isDead && delay !== undefined)
      throw new InvalidInputError('invalid-option', 'what is dead is not tried again: give in or dead')
    return this.#desk.release(receipt, { in: delay, reason, isDead }) ? 'released' : 'stale'
  }

  async #namesOf(kinds: AnyKind | readonly AnyKind[]): Promise<readonly string[]> {
    const given = Array.isArray(kinds) ? (kinds as readonly AnyKind[]) : [kinds as AnyKind]
    if (given.length === 0)
      throw new InvalidInputError('invalid-option', 'lease takes at least one kind, got none')
    const names: string[] = []
    for (const kind of given) {
      const name = await this.#kinds.nameOf(kind)
      if (!this.#isForWorkers(name))
        throw new StateError('not-leased', `timers of the kind ${shown(name)} are not for workers`)
      names.push(name)
    }
    return names
  }
}

function waitMsOf(wait: Duration): number {
  const ms = parseDuration(wait)
  if (ms <= LONGEST_WAIT_MS) return ms
  throw new InvalidInputError(
    'invalid-option',
    `wait must be at most ${LONGEST_WAIT_MS} ms (an hour), got ${shown(wait)}`,
  )
}
