import {
  decodePayload,
  type Firing,
  handleOf,
  firingKeyOf,
  occurrenceDueAt,
  payloadTextOf,
  type TimerHandle,
  traceparentOf,
} from '../timer/index.js'
import { checkInstant } from '../error/index.js'
import type { Clock, Duration } from '../time/index.js'
import { parseDuration } from '../time/index.js'

// The last instant that a Date can represent.
const LAST_INSTANT = 8.64e15

/** A delivery under way that can be aborted. */
export interface Abortable {
  abort(reason: Error): void
}

/** What a handler gets: one due occurrence of a timer, at one numbered attempt. */
export class TimerFiring<Payload = unknown> {
  readonly #firing: Firing
  readonly #clock: Pick<Clock, 'now'>
  #payload: Payload | undefined
  #isDecoded = false
  #abort: AbortController | undefined
  #abortedFor: Error | undefined
  #underWay: Abortable | undefined
  #againAt: number | undefined
  #isEnded = false

  constructor(firing: Firing, clock: Pick<Clock, 'now'>) {
    this.#firing = firing
    this.#clock = clock
  }

  /** The same on every attempt at this occurrence, also after a redrive: give it to others as an idempotency key. */
  get id(): string {
    return `${this.kind}/${firingKeyOf(this.#firing.row)}/${this.#firing.id}`
  }

  get kind(): string {
    return this.#firing.row.kind
  }

  get key(): string {
    return this.#firing.row.key
  }

  get namespace(): string {
    return this.#firing.row.namespace
  }

  get handle(): TimerHandle {
    return handleOf(this.#firing.row)
  }

  get payload(): Payload {
    if (!this.#isDecoded) {
      this.#payload = decodePayload(this.#firing.row.payload) as Payload
      this.#isDecoded = true
    }
    return this.#payload as Payload
  }

  get tags(): readonly string[] {
    return this.#firing.row.tags
  }

  /** When this occurrence was due: the same on every attempt at it. */
  get dueAt(): number {
    return occurrenceDueAt(this.#firing.row)
  }

  get firedAt(): number {
    return this.#firing.firedAt
  }

  /** How late this attempt began, in milliseconds: after the due time, or after the time of its retry. */
  get lateness(): number {
    return this.#firing.firedAt - this.#firing.row.dueAt
  }

  /** Counts from 1, including attempts of unknown outcome. */
  get attempt(): number {
    return this.#firing.attempt
  }

  /** Occurrences of a recurring timer that were settled before this one. */
  get occurrence(): number {
    return this.#firing.row.occurrence
  }

  /** The W3C `traceparent` of the trace that it belongs to; undefined if it was set without one. */
  get traceparent(): string | undefined {
    return traceparentOf(this.#firing)
  }

  /** Aborted when the attempt exceeds its timeout, when it no longer counts, or when the process stops. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#abortedFor !== undefined) this.#abort.abort(this.#abortedFor)
    }
    return this.#abort.signal
  }

  /** Fires once more at a later time, instead of ending. `in` counts from now. */
  again(when: { readonly in: Duration } | { readonly at: number | Date }): void {
    const dueAt = 'in' in when ? this.#clock.now() + parseDuration(when.in) : Number(when.at)
    checkInstant(dueAt)
    this.#isEnded = false
    this.#againAt = Math.min(Math.max(0, Math.ceil(dueAt)), LAST_INSTANT)
  }

  /**
   * Ends a recurring timer: if this attempt succeeds, no further occurrence follows. The last call of `again` and `end`
   * counts. If the handler throws, the attempt has failed as usual, and a retry may end the timer.
   */
  end(): void {
    this.#againAt = undefined
    this.#isEnded = true
  }

  /** Whether the handler called `end`. */
  static isEnded(firing: TimerFiring): boolean {
    return firing.#isEnded
  }

  /** The time that the handler passed to `again`; undefined if it did not call it. */
  static againAt(firing: TimerFiring): number | undefined {
    return firing.#againAt
  }

  static setPayload(firing: TimerFiring, payload: unknown): void {
    firing.#payload = payload
    firing.#isDecoded = true
  }

  /** The payload as JSON; undefined if there is none. */
  static payloadText(firing: TimerFiring): string | undefined {
    return firing.#isDecoded ? JSON.stringify(firing.#payload) : payloadTextOf(firing.#firing.row.payload)
  }

  static abort(firing: TimerFiring, reason: Error): void {
    firing.#abortedFor ??= reason
    firing.#abort?.abort(reason)
    firing.#underWay?.abort(reason)
  }

  /** Sets what is aborted with the firing. A signal would cost more than most deliveries. */
  static onAbort(firing: TimerFiring, underWay: Abortable): void {
    firing.#underWay = underWay
  }

  static firingOf(firing: TimerFiring): Firing {
    return firing.#firing
  }
}
