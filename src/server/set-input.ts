import type { SetOptions, TimerKind } from '../front/index.js'
import { timer } from '../front/index.js'
import { RequestError, shown } from '../error/index.js'
import { cron, parseSchedule, type Schedule } from '../schedule/index.js'
import type { FastifyRequest } from 'fastify'
import { isTraceparent } from '../timer/index.js'
import type { SetBody } from './schema.js'

const MOST_KINDS = 10_000

/** Kinds by their names: on a server a kind is nothing but that. */
export class NamedKinds {
  readonly #kinds = new Map<string, TimerKind<unknown>>()

  of(name: string): TimerKind<unknown> {
    let kind = this.#kinds.get(name)
    if (kind === undefined) {
      kind = timer<unknown>(name)
      if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear()
      this.#kinds.set(name, kind)
    }
    return kind
  }
}

/** A schedule as callers write it: a cron expression, or the JSON form with or without its version. */
export function scheduleOf(input: unknown): Schedule {
  if (typeof input === 'string') return cron(input)
  return parseSchedule({ version: 1, ...(input as object) })
}

/** What a body sets, under the conditions of the headers. */
export function setOptionsOf(
  body: SetBody,
  condition: { readonly ifAbsent?: boolean; readonly ifRevision?: number },
): SetOptions<unknown> {
  const isPlain = body.on === undefined && condition === noCondition
  // The names are the same: what needs no change is taken as it came.
  if (isPlain) return body as unknown as SetOptions<unknown>
  return {
    ...body,
    ...condition,
    ...(body.on !== undefined && { on: scheduleOf(body.on) }),
  } as unknown as SetOptions<unknown>
}

/** The trace of the request goes on with the timer, unless its body names one. One that is none is passed over. */
export function tracedOptions(
  options: SetOptions<unknown>,
  { headers }: FastifyRequest,
): SetOptions<unknown> {
  const { traceparent } = headers
  if (typeof traceparent !== 'string' || options.traceparent !== undefined || !isTraceparent(traceparent))
    return options
  return { ...options, traceparent }
}

export const noCondition: { readonly ifAbsent?: boolean; readonly ifRevision?: number } = Object.freeze({})

/** `If-Match: "7"` means the revision 7, `If-None-Match: *` that there is no such timer. */
export function conditionOf({ headers }: FastifyRequest): typeof noCondition {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && noneMatch === undefined) return noCondition
  if (noneMatch !== undefined && noneMatch !== '*')
    throw new RequestError('invalid-body', `If-None-Match takes *, got ${shown(noneMatch)}`)
  return {
    ...(noneMatch !== undefined && { ifAbsent: true }),
    ...(match !== undefined && { ifRevision: revisionOf(match) }),
  }
}

/** The revision that `If-Match` names; nothing where there is no such header. */
export function changeOptionsOf({ headers }: FastifyRequest): { readonly ifRevision?: number } {
  const match = headers['if-match']
  return match === undefined ? {} : { ifRevision: revisionOf(match) }
}

function revisionOf(tag: string): number {
  const revision = Number(/^"(\d{1,16})"$/.exec(tag)?.[1] ?? Number.NaN)
  if (Number.isSafeInteger(revision)) return revision
  throw new RequestError(
    'invalid-body',
    `If-Match takes a revision in quotes, such as "7", got ${shown(tag)}`,
  )
}

/** An instant out of a query, where all is text. */
export function instantOf(text: string): number | string {
  return /^\d{1,16}$/.test(text) ? Number(text) : text
}

/** A duration out of a query. */
export function durationOf(text: string): number | string {
  return /^\d{1,16}$/.test(text) ? Number(text) : text
}
