import type { Wake } from '../../time/index.js'
import { TimerFiring } from '../timer-firing.js'
import type { JobMessage } from './messages.js'

/** One attempt that a thread makes, or will make. It has one end. */
export class ThreadJob {
  readonly given: TimerFiring
  /** Whether the payload comes from a schema, not from the row. */
  readonly hasValue: boolean
  readonly #resolve: () => void
  readonly #reject: (reason: unknown) => void
  /** Ends the attempt when its time is over. */
  alarm: Wake | undefined

  constructor(given: TimerFiring, hasValue: boolean, resolve: () => void, reject: (reason: unknown) => void) {
    this.given = given
    this.hasValue = hasValue
    this.#resolve = resolve
    this.#reject = reject
  }

  /** The handler has returned. */
  end({ againAt, isEnd }: { readonly againAt: number | undefined; readonly isEnd: boolean }): void {
    this.alarm?.cancel()
    if (isEnd) this.given.end()
    else if (againAt !== undefined) this.given.again({ at: againAt })
    this.#resolve()
  }

  /** The handler has thrown, or the attempt cannot be made. */
  fail(error: unknown): void {
    this.alarm?.cancel()
    this.#reject(error)
  }
}

/** The job as it crosses. Only what a handler can read does. */
export function messageOf({ given, hasValue }: ThreadJob, number: number, aheadMs: number): JobMessage {
  const { id, row, attempt, firedAt, traceparent } = TimerFiring.firingOf(given)
  const { namespace, kind, key, identity, createdAt, tags, details } = row
  const { dueAt, attempt: recorded, occurrence, position, revision } = row
  // A copy: its bytes may be a view of a buffer that many rows share.
  const payload = hasValue ? new Uint8Array(0) : new Uint8Array(row.payload)
  return {
    job: number,
    id,
    row: {
      namespace,
      kind,
      key,
      identity,
      createdAt,
      payload,
      tags,
      details,
      dueAt,
      attempt: recorded,
      occurrence,
      position,
      revision,
    },
    attempt,
    firedAt,
    ...(traceparent !== undefined && { traceparent }),
    aheadMs,
    ...(hasValue && { payload: { value: given.payload } }),
  }
}

/** The buffers that are moved instead of copied. */
export function transferOf({ row }: JobMessage): ArrayBuffer[] {
  return [row.payload.buffer as ArrayBuffer]
}
