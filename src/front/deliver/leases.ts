import type { CallLimit } from '../../async/index.js'
import { type LeaseBroker, type LeasedFiring, leaseMsOf } from '../../delivery/index.js'
import { checkOptions, checkInteger, InvalidInputError, shown, StateError } from '../../error/index.js'
import { type Duration, parseDuration } from '../../time/index.js'
import { CLAIM_MS, MAX_LEASE_WAIT_MS, MAX_REASON_LENGTH, MAX_LEASED_AT_ONCE } from '../defaults.js'
import { type CallOptions, callOptionNames } from '../call/calls.js'
import type { AnyKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'

/** The options of `lease`. */
export interface LeaseRequestOptions {
  /** The most firings to lease, up to 1,000. Default 1. */
  readonly max?: number
  /** How long to wait for the first firing, up to an hour. Default 0: lease only what is due now. */
  readonly wait?: Duration
  /** How long the lease lasts, up to 12 hours. Default: the duration of the kind's target. */
  readonly duration?: Duration
  /** How long the call may take besides `wait`. Default: the option `callTimeout` of `openTimers`. */
  readonly timeout?: Duration
  /** Ends the wait early, for example when the worker has gone. */
  readonly signal?: AbortSignal
}

/** The options of `ack`. */
export interface AckOptions extends CallOptions {
  /** Fire once more at this time, instead of ending. */
  readonly again?: { readonly in: Duration } | { readonly at: number | Date }
  /** End a recurring timer: no further occurrence follows. */
  readonly end?: boolean
}

/** The options of `release`. */
export interface ReleaseOptions extends CallOptions {
  /** The delay before the next attempt. Default: by the retry policy. */
  readonly in?: Duration
  /** What went wrong, for the history and the dead letter. */
  readonly reason?: string
  /** Make the timer a dead letter now, whatever its retry policy. */
  readonly dead?: boolean
}

/** 'stale': the lease had ended, or another instance has the timer now. Nothing was changed. */
export type AckOutcome = 'acked' | 'stale'
/** What became of a lease that was to be extended. */
export type ExtendOutcome = 'extended' | 'stale'
/** What became of a firing that was released. */
export type ReleaseOutcome = 'released' | 'stale'

/** Checks the calls of workers, and passes them to the lease broker. Proven by test/delivery/lease.test.ts. */
export class Leases {
  readonly #broker: LeaseBroker
  readonly #kinds: Kinds
  readonly #isForWorkers: (kind: string) => boolean
  readonly #leastWaitMs: number

  /** `claims`: whether due timers must be claimed from the store first. */
  constructor(parts: {
    broker: LeaseBroker
    kinds: Kinds
    claims: boolean
    isForWorkers: (kind: string) => boolean
  }) {
    this.#broker = parts.broker
    this.#leastWaitMs = parts.claims ? CLAIM_MS : 0
    this.#kinds = parts.kinds
    this.#isForWorkers = parts.isForWorkers
  }

  async lease(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions,
    limit: CallLimit,
  ): Promise<readonly LeasedFiring[]> {
    const { max = 1, wait = 0, duration, signal } = options
    checkInteger('max', max, 1, MAX_LEASED_AT_ONCE)
    const request = {
      max,
      waitMs: Math.max(waitMsOf(wait), this.#leastWaitMs),
      leaseMs: duration === undefined ? undefined : leaseMsOf('duration', duration),
      signal,
    }
    const names = await this.#namesOf(kinds)
    limit.act()
    return await limit.selfEnding(this.#broker.take({ kinds: names, ...request }))
  }

  /** Calls `onDue` once, when a firing is due that no worker here waits for. Returns a function that ends the watch. */
  watch(kind: string, onDue: () => void): () => void {
    return this.#isForWorkers(kind) ? this.#broker.scout(kind, onDue) : () => undefined
  }

  ack(receipt: string, options: AckOptions): AckOutcome {
    checkOptions('ack', options, ['again', 'end', ...callOptionNames])
    if (options.again !== undefined && options.end === true)
      throw new InvalidInputError(
        'invalid-option',
        'a timer that ends does not fire again: pass again or end, not both',
      )
    return this.#broker.ack(receipt, options) ? 'acked' : 'stale'
  }

  extend(receipt: string, duration: Duration): ExtendOutcome {
    return this.#broker.extend(receipt, leaseMsOf('the extension', duration)) ? 'extended' : 'stale'
  }

  release(receipt: string, options: ReleaseOptions): ReleaseOutcome {
    checkOptions('release', options, ['in', 'reason', 'dead', ...callOptionNames])
    const { in: delay, reason = 'the worker released it', dead: isDead = false } = options
    if (typeof reason !== 'string' || reason.length > MAX_REASON_LENGTH)
      throw new InvalidInputError(
        'invalid-option',
        `reason must be a string of at most ${MAX_REASON_LENGTH} characters, got ${shown(reason)}`,
      )
    if (isDead && delay !== undefined)
      throw new InvalidInputError(
        'invalid-option',
        'a dead timer has no next attempt: pass in or dead, not both',
      )
    return this.#broker.release(receipt, { in: delay, reason, isDead }) ? 'released' : 'stale'
  }

  async #namesOf(kinds: AnyKind | readonly AnyKind[]): Promise<readonly string[]> {
    const given = Array.isArray(kinds) ? (kinds as readonly AnyKind[]) : [kinds as AnyKind]
    if (given.length === 0)
      throw new InvalidInputError('invalid-option', 'lease needs at least one kind, got an empty array')
    const names: string[] = []
    for (const kind of given) {
      const name = await this.#kinds.nameOf(kind)
      if (!this.#isForWorkers(name))
        throw new StateError('not-leased', `kind ${shown(name)} does not have the target lease`)
      names.push(name)
    }
    return names
  }
}

/** How long the call waits for the first firing. */
export function waitMsOf(wait: Duration): number {
  const ms = parseDuration(wait)
  if (ms <= MAX_LEASE_WAIT_MS) return ms
  throw new InvalidInputError(
    'invalid-option',
    `wait must be at most ${MAX_LEASE_WAIT_MS} ms (an hour), got ${shown(wait)}`,
  )
}
