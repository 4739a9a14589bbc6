import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Value } from '@sinclair/typebox/value'
import type { TSchema } from '@sinclair/typebox'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { CarillonError, RequestError, StateError } from '../../error/index.js'
import type { Timers } from '../../front/index.js'
import type { AccessCheck } from './access.js'
import { parseJson } from './json-body.js'
import type { Metrics } from '../monitor/metrics.js'
import type { OnOver } from '../namespaces.js'
import type { ServerLog } from '../monitor/server-log.js'
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS, MAX_PARAM_LENGTH } from '../defaults.js'
import { PEER_PATH } from '../peers/peer-message.js'
import { checkFastify } from '../server-packages.js'
import { KnownMethods } from './known-methods.js'
import { mismatchText } from './schema/mismatch-text.js'
import { problemOf } from './problem.js'
import { ConnectionSignals } from './connection-signals.js'
import { fastifyPath, type Route } from './route.js'
import type { CompleteServerOptions } from '../server-options.js'

export interface HttpParts {
  readonly options: CompleteServerOptions
  readonly routes: readonly Route[]
  readonly access: AccessCheck
  readonly metrics: Metrics
  readonly log: ServerLog
  readonly timersOf: (namespace: string, onOver: OnOver) => Timers | Promise<Timers>
  /** Whether the server listens, but its engine does not run yet. */
  readonly isStarting: () => boolean
}

const safeHeaders = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
})

/**
 * The routes as a Fastify application. It admits each request before it reads the body, checks the request against
 * the route's schemas, and answers with JSON or with a problem.
 *
 * Proven by test/server/hostile-requests.test.ts and test/server/openapi.test.ts.
 */
export function httpApp(parts: HttpParts): FastifyInstance {
  const { options, routes, metrics } = parts
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    answerError(parts.log, error, request, reply)
  const app = fastify({
    // Fastify would create a logger for every request. `answerError` logs what matters.
    logger: false,
    bodyLimit: options.maxBodyBytes,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    http: {
      connectionsCheckingInterval: 1000,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, options.requestTimeoutMs),
    },
    frameworkErrors: (error, request, reply) => answer(error, request, reply),
  })
  checkFastify(app.version)
  addBodyParsers(app)
  app.setValidatorCompiler(({ schema, httpPart }) => validatorOf(schema as TSchema, httpPart))
  app.setErrorHandler(answer)
  const methods = new KnownMethods()
  app.addHook('onRoute', ({ method, url }) => methods.add(url, method))
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?')
    const allowed = methods.of(path)
    if (allowed.length > 0) reply.header('allow', allowed.join(', '))
    const error =
      allowed.length > 0
        ? new RequestError('method-unknown', `${path} takes ${allowed.join(', ')}, got ${request.method}`)
        : new RequestError('route-unknown', `no route ${request.method} ${path}`)
    answer(error, request, reply)
  })
  let isClosing = false
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(safeHeaders)
    done(isClosing && !isPeerRequest(request) ? stoppingError() : encodingError(request))
  })
  if (options.corsOrigins.length > 0) allowOrigins(app, options.corsOrigins)
  app.addHook('onResponse', (request, reply, done) => {
    metrics.recordRequest(
      request.routeName ?? routeNameOf(request),
      reply.statusCode,
      reply.elapsedTime / 1000,
    )
    done()
  })
  const connections = new ConnectionSignals()
  for (const each of routes) addRoute(app, each, parts, connections)
  return app
}

function addRoute(
  app: FastifyInstance,
  route: Route,
  { access, timersOf, isStarting }: HttpParts,
  connections: ConnectionSignals,
): void {
  const { method, path, params, query, body, bodyLimit, checksBody, answerType, status = 200 } = route
  // Built once, not for every request.
  const name = `${method} ${fastifyPath(path)}`
  app.route({
    method,
    url: fastifyPath(path),
    config: { name },
    ...(bodyLimit !== undefined && { bodyLimit }),
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      ...(answerType === undefined && { response: { [status]: route.answer } }),
    },
    ...(checksBody && { validatorCompiler: bodyCheckValidator(checksBody) }),
    onRequest: (request, _reply, done) => {
      request.routeName = name
      if (isStarting()) return done(startingError())
      const admitted = (admission: Awaited<ReturnType<AccessCheck['admit']>>): void => {
        request.admission = admission
        done()
      }
      const given = access.admit(request, route)
      if (given instanceof Promise) given.then(admitted, done)
      else admitted(given)
    },
    handler: (request, reply) => {
      const { admission } = request
      if (status !== 200) reply.code(status)
      const answer = (timers: Timers): unknown =>
        route.handle({
          timers,
          admission,
          limits: connections.limitsOf(request.raw.socket),
          params: request.params,
          query: request.query,
          body: request.body,
          request,
          reply,
        })
      const timers = timersOf(admission.namespace, (over) => void reply.raw.once('close', over))
      // Always a promise: a handler that returns undefined tells Fastify that it will reply later.
      return timers instanceof Promise ? timers.then(answer) : Promise.resolve(answer(timers))
    },
  })
}

/** The name in the metrics for a request that did not reach its route. */
function routeNameOf({ routeOptions: { config, url = 'unknown' } }: FastifyRequest): string {
  return config.name ?? `other ${url}`
}

function addBodyParsers(app: FastifyInstance): void {
  app.decorateRequest('admission')
  app.decorateRequest('routeName')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, text === '' ? undefined : parseJson(text as string))
    } catch (error) {
      done(error as Error)
    }
  })
  app.addContentTypeParser('application/x-ndjson', (request, payload, done) => {
    const isBatch = request.routeOptions.url === '/v1/batch'
    if (isBatch) done(null, payload)
    else done(new RequestError('unsupported-media', 'only /v1/batch takes application/x-ndjson'))
  })
}

/**
 * Other instances are answered until the very end, with a signature. They cannot tell an unsigned 503 from that of a
 * proxy in between, so they would not know whether the operation was done.
 */
function isPeerRequest({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === PEER_PATH
}

function startingError(): StateError {
  return new StateError('starting', 'this instance is starting: try again in a second')
}

function stoppingError(): StateError {
  return new StateError('stopped', 'this instance is stopping: use another one, or try again')
}

/** A compressed body can grow a thousandfold, so none is accepted. */
function encodingError(request: FastifyRequest): Error | undefined {
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return undefined
  return new RequestError('unsupported-media', 'compressed bodies are not accepted: omit Content-Encoding')
}

function validatorOf(schema: TSchema, part: string | undefined) {
  const check = TypeCompiler.Compile(schema)
  // Query values are strings: convert them where the schema has numbers.
  const isQuery = part === 'querystring'
  return (given: unknown) => {
    const present = (given === undefined || given === null) && schema['x-optional'] === true ? {} : given
    const value = isQuery ? Value.Convert(schema, present) : present
    if (check.Check(value)) return { value }
    const whole = `the ${isQuery ? 'query' : (part ?? 'request')}`
    return { error: new RequestError('invalid-body', mismatchText(check.Errors(value), whole)) }
  }
}

function bodyCheckValidator(checksBody: (body: unknown) => boolean) {
  return () => (value: unknown) =>
    checksBody(value)
      ? { value }
      : { error: new RequestError('invalid-body', 'the body is not an array, or it has too many rows') }
}

function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    reply.header('vary', 'origin')
    if (origin !== undefined && origins.includes(origin)) {
      reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', 'etag')
    }
    done()
  })
  app.options('/*', (request, reply) => {
    const { origin } = request.headers
    if (origin !== undefined && origins.includes(origin)) {
      reply
        .header('access-control-allow-methods', 'GET, PUT, PATCH, POST, DELETE')
        .header(
          'access-control-allow-headers',
          'authorization, content-type, if-match, if-none-match, idempotency-key, carillon-namespace',
        )
        .header('access-control-max-age', '600')
    }
    return reply.code(204).send()
  })
}

/** Answers with a problem. An unexpected error goes to the log; the caller only sees its code and the request id. */
function answerError(log: ServerLog, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = carillonErrorOf(error)
  const current = (known as { readonly current?: unknown }).current
  const problem = problemOf(known, { requestId: request.id, ...(current !== undefined && { current }) })
  if (problem.status >= 500)
    log.failedRequest(error, known, request.routeName ?? routeNameOf(request), request.id)
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
  const retryAfter = retryAfterSeconds[problem.status]
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  void reply.code(problem.status).type('application/problem+json').send(JSON.stringify(problem))
}

/** When to try again. A full store needs somebody to make space, so that takes longer. */
const retryAfterSeconds: Readonly<Record<number, string>> = Object.freeze({ 429: '1', 503: '1', 507: '30' })

const fastifyCodes: Readonly<Record<string, ConstructorParameters<typeof RequestError>[0]>> = Object.freeze({
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media',
  FST_ERR_ROUTE_MISSING: 'route-unknown',
})

function carillonErrorOf(error: unknown): CarillonError {
  if (error instanceof CarillonError) return error
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message?: string }
  const named = fastifyCodes[code ?? '']
  if (named !== undefined) return new RequestError(named, message ?? named)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new RequestError('invalid-body', message ?? 'the request cannot be read')
  return new RequestError('internal', 'unexpected error in the server')
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's name in the metrics. */
    name?: string
  }
  interface FastifyRequest {
    /** Set once `AccessCheck` has admitted the request. */
    admission: Awaited<ReturnType<AccessCheck['admit']>>
    /** Kept with the request, because `routeOptions` builds a large object at each access. */
    routeName: string | undefined
  }
}
