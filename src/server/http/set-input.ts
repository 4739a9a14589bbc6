import type { CallOptions, ChangeOptions, PauseOptions, SetOptions, TimerKind } from '../../front/index.js'
import { firstTry, timer } from '../../front/index.js'
import { RequestError, shown } from '../../error/index.js'
import { cron, parseSchedule, type Schedule } from '../../schedule/index.js'
import type { FastifyRequest } from 'fastify'
import { epochMsOf, isTraceparent } from '../../timer/index.js'
import { MAX_CACHED_KINDS } from '../defaults.js'
import type { Admission } from './access.js'
import type { SetBody } from './schema/schema.js'

// `If-Match: *`
const ANY = '*'

/** Creates kinds from their names and caches them. On a server a kind has no schema and no handler, only a name. */
export class NamedKinds {
  readonly #kinds = new Map<string, TimerKind<unknown>>()

  of(name: string): TimerKind<unknown> {
    let kind = this.#kinds.get(name)
    if (kind === undefined) {
      kind = timer<unknown>(name)
      if (this.#kinds.size >= MAX_CACHED_KINDS) this.#kinds.clear()
      this.#kinds.set(name, kind)
    }
    return kind
  }
}

/** Parses a schedule: a cron expression, or the JSON form with or without its version. */
export function scheduleOf(input: unknown): Schedule {
  if (typeof input === 'string') return cron(input)
  return parseSchedule({ version: 1, ...(input as object) })
}

/** The options of `set` for a body and the condition from the headers. */
export function setOptionsOf(body: SetBody, condition: Omit<Condition, 'ifPresent'>): SetOptions<unknown> {
  const isPlain = body.on === undefined && condition === noCondition
  // The field names are the same, so most bodies can be used as they are, without a copy.
  if (isPlain) return body as unknown as SetOptions<unknown>
  return {
    ...body,
    ...condition,
    ...(body.on !== undefined && { on: scheduleOf(body.on) }),
  } as unknown as SetOptions<unknown>
}

/** Adds the `traceparent` header of the request, unless the body has its own. An invalid header is ignored. */
export function withTraceparent(
  options: SetOptions<unknown>,
  { headers }: FastifyRequest,
): SetOptions<unknown> {
  const { traceparent } = headers
  if (typeof traceparent !== 'string' || options.traceparent !== undefined || !isTraceparent(traceparent))
    return options
  return { ...options, traceparent }
}

/**
 * Adds the key by which the set is recognised at every instance. `carillon-attempt: 1` is a client's word that it did not
 * send the request before, so nothing is looked up.
 */
export function withIdempotencyKey<Options extends SetOptions<unknown>>(
  options: Options,
  setKey: string | undefined,
  { headers }: FastifyRequest,
): Options {
  if (setKey === undefined || options.idempotencyKey !== undefined) return options
  const isFirst = headers['carillon-attempt'] === '1'
  return { ...options, idempotencyKey: setKey, ...(isFirst && { [firstTry]: true }) }
}

interface Condition {
  readonly ifAbsent?: boolean
  readonly ifRevision?: number
  /** There must be such a timer, at any revision. */
  readonly ifPresent?: boolean
}

export const noCondition: Condition = Object.freeze({})

/**
 * `If-Match: "7"` requires revision 7, `If-Match: *` any revision. `If-None-Match: *` requires that there is no such
 * timer.
 */
export function conditionOf({ headers }: FastifyRequest): Condition {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && noneMatch === undefined) return noCondition
  if (noneMatch !== undefined && noneMatch !== '*')
    throw new RequestError('invalid-body', `If-None-Match must be *, got ${shown(noneMatch)}`)
  return {
    ...(noneMatch !== undefined && { ifAbsent: true }),
    ...(match === ANY ? { ifPresent: true } : match !== undefined && { ifRevision: revisionOf(match) }),
  }
}

/** The limits with the condition of `If-Match`, for routes that do not take `If-None-Match`. */
export function changeOptionsOf({ headers }: FastifyRequest, limits: CallOptions): ChangeOptions {
  const match = headers['if-match']
  // Every change needs a timer that exists, so any revision is no condition.
  return match === undefined || match === ANY ? limits : { ...limits, ifRevision: revisionOf(match) }
}

function revisionOf(tag: string): number {
  const revision = Number(/^"(\d{1,16})"$/.exec(tag)?.[1] ?? Number.NaN)
  if (Number.isSafeInteger(revision)) return revision
  throw new RequestError(
    'invalid-body',
    `If-Match must be * or a revision in quotes, such as "7", got ${shown(tag)}`,
  )
}

/** Epoch milliseconds of an instant in a query. */
export function instantOf(text: string): number {
  return epochMsOf(millisecondsOrString(text))
}

/** An instant or a duration in a query: digits are milliseconds, everything else is parsed later. */
export function millisecondsOrString(text: string): number | string {
  return /^\d{1,16}$/.test(text) ? Number(text) : text
}

/** The options of a pause: its note, and the name of the key with which it is made. */
export function pauseOptionsOf(
  limits: CallOptions,
  { key }: Admission,
  note: string | undefined,
): PauseOptions {
  return { ...limits, by: key.name, ...(note !== undefined && { note }) }
}
