import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Timers } from '../../front/index.js'
import type { Scope } from '../api-keys.js'
import type { AuditSubject } from '../audit/audit-entry.js'
import type { Admission } from './access.js'
import type { RequestLimits } from './connection-signals.js'
import type { RunOnce } from './idempotency/idempotency.js'

/** A request that was admitted and checked. */
export interface Call<Params, Query, Body> {
  /** The timers of the request's namespace. */
  readonly timers: Timers
  readonly admission: Admission
  /** Every call for the request must get these: they give it up when the client has gone. */
  readonly limits: RequestLimits
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Given if the request runs once per Idempotency-Key. */
  readonly once?: RunOnce
}

export interface RouteDefinition<
  Params extends TObject,
  Query extends TObject,
  Body extends TSchema,
  Answer extends TSchema,
> {
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE'
  /** As OpenAPI writes it: `/v1/timers/{kind}/{key}`. */
  readonly path: string
  readonly scope: Scope
  /** The route covers all namespaces, so a key bound to one may not use it. */
  readonly spansNamespaces?: true
  readonly summary: string
  readonly description?: string
  /** Its heading in the docs, its tag in OpenAPI. */
  readonly group: string
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** Checks the body instead of its schema, when a bad part must not fail the whole request. */
  readonly checksBody?: (body: unknown) => boolean
  /** The largest body in bytes, if it is not the server's `maxBodyBytes`. */
  readonly bodyLimit?: number
  /** Request headers that this route uses, besides those that every route uses. */
  readonly headers?: readonly ('if-match' | 'if-none-match' | 'idempotency-key')[]
  readonly answer: Answer
  readonly status?: 200 | 201 | 202
  /** The answer's content type, if it is not a JSON value. */
  readonly answerType?: 'text/event-stream' | 'application/x-ndjson' | 'text/plain'
  /** Each use of the route is an operator's change, which the audit log keeps. */
  readonly audit?: {
    /** Its name in the audit log, such as `keys.create`. */
    readonly action: string
    /** What was changed. `answer` is undefined if the outcome is not known. */
    readonly describe?: (
      call: Call<Static<Params>, Static<Query>, Static<Body>>,
      answer: Static<Answer> | undefined,
    ) => AuditSubject
  }
  /** Error statuses of this route, besides those of every route. */
  readonly refusals?: readonly number[]
  readonly handle: (call: Call<Static<Params>, Static<Query>, Static<Body>>) => unknown
}

/** A route as the server keeps it. */
export type Route = Omit<RouteDefinition<TObject, TObject, TSchema, TSchema>, 'handle' | 'audit'> & {
  readonly audit?: {
    readonly action: string
    readonly describe?: (call: Call<unknown, unknown, unknown>, answer: unknown) => AuditSubject
  }
  readonly handle: (call: Call<unknown, unknown, unknown>) => unknown
}

/** Declares a route: what it takes, what it answers, and its handler. */
export function route<
  Params extends TObject,
  Query extends TObject,
  Body extends TSchema,
  Answer extends TSchema,
>(definition: RouteDefinition<Params, Query, Body, Answer>): Route {
  // The types hold at run time, because the schemas check each request before the handler runs.
  return definition as unknown as Route
}

/** Translates `/v1/timers/{kind}` to Fastify's `/v1/timers/:kind`. */
export function fastifyPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
