import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Timers } from '../front/index.js'
import type { Scope } from './api-keys.js'
import type { Admission } from './gate.js'

/** A request that was admitted and checked. */
export interface Call<Params, Query, Body> {
  /** Those of the namespace that is meant. */
  readonly timers: Timers
  readonly admission: Admission
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export interface RouteDefinition<
  Params extends TObject,
  Query extends TObject,
  Body extends TSchema,
  Answer extends TSchema,
> {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** As OpenAPI writes it: `/v1/timers/{kind}/{key}`. */
  readonly path: string
  readonly scope: Scope
  /** It tells of all namespaces: a key that is bound to one may not see it. */
  readonly spansNamespaces?: true
  readonly summary: string
  readonly description?: string
  /** Under which heading of the docs. */
  readonly group: string
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** Looks at a body in place of its schema, where parts of it may be wrong without spoiling the rest. */
  readonly checksBody?: (body: unknown) => boolean
  /** What a request may weigh, where it is not as usual. */
  readonly bodyLimit?: number
  /** Request headers that mean something here, beside those that always do. */
  readonly headers?: readonly ('if-match' | 'if-none-match' | 'idempotency-key')[]
  readonly answer: Answer
  readonly status?: 200 | 201
  /** What the answer is where it is not one JSON value. */
  readonly answerType?: 'text/event-stream' | 'application/x-ndjson' | 'text/plain'
  /** Statuses that it may answer beside what every route may. */
  readonly refusals?: readonly number[]
  readonly handle: (call: Call<Static<Params>, Static<Query>, Static<Body>>) => unknown
}

/** A route as the server keeps it. */
export type Route = Omit<RouteDefinition<TObject, TObject, TSchema, TSchema>, 'handle'> & {
  readonly handle: (call: Call<unknown, unknown, unknown>) => unknown
}

/** One route: what it takes, what it answers, and who does it. */
export function route<
  Params extends TObject,
  Query extends TObject,
  Body extends TSchema,
  Answer extends TSchema,
>(definition: RouteDefinition<Params, Query, Body, Answer>): Route {
  // The schemas have checked it by the time it is called.
  return definition as unknown as Route
}

/** `/v1/timers/{kind}` as fastify writes it. */
export function fastifyPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
