import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Value } from '@sinclair/typebox/value'
import type { TSchema } from '@sinclair/typebox'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { CarillonError, RequestError, StateError } from '../error/index.js'
import type { Timers } from '../front/index.js'
import type { Gate } from './gate.js'
import { parseJson } from './json-body.js'
import type { Metrics } from './metrics.js'
import { PEER_PATH } from './peers/peer-message.js'
import { problemOf } from './problem.js'
import { fastifyPath, type Route } from './route.js'
import type { CompleteServerOptions } from './server-options.js'

export interface HttpParts {
  readonly options: CompleteServerOptions
  readonly routes: readonly Route[]
  readonly gate: Gate
  readonly metrics: Metrics
  readonly timersOf: (namespace: string) => Timers | Promise<Timers>
}

const LONGEST_PARAM = 4096

const safeHeaders = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
})

/**
 * The routes over HTTP: each request passes the gate before a byte of its body is read, is checked against its
 * schema, and is answered with JSON or with a problem.
 */
export function httpApp(parts: HttpParts): FastifyInstance {
  const { options, routes, metrics } = parts
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    answerError(options.logger, error, request, reply)
  const app = fastify({
    // Its own log would cost every request a logger; what is worth a line is logged here.
    logger: false,
    bodyLimit: options.maxBodyBytes,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: LONGEST_PARAM },
    http: { connectionsCheckingInterval: 1000, headersTimeout: Math.min(20_000, options.requestTimeoutMs) },
    frameworkErrors: (error, request, reply) => answer(error, request, reply),
  })
  readBodies(app)
  app.setValidatorCompiler(({ schema, httpPart }) => validatorOf(schema as TSchema, httpPart))
  app.setErrorHandler(answer)
  app.setNotFoundHandler((request, reply) =>
    answer(
      new RequestError('route-unknown', `there is no ${request.method} ${request.url.split('?')[0]}`),
      request,
      reply,
    ),
  )
  let isClosing = false
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(safeHeaders)
    done(isClosing && !isOfPeer(request) ? stopping() : encodingFault(request))
  })
  if (options.corsOrigins.length > 0) allowOrigins(app, options.corsOrigins)
  app.addHook('onResponse', (request, reply, done) => {
    metrics.answered(request.routeName ?? routeNameOf(request), reply.statusCode, reply.elapsedTime / 1000)
    done()
  })
  for (const each of routes) addRoute(app, each, parts)
  return app
}

function addRoute(app: FastifyInstance, route: Route, { gate, timersOf }: HttpParts): void {
  const { method, path, params, query, body, bodyLimit, checksBody, answerType, status = 200 } = route
  // Made once, not for every request.
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
    ...(checksBody && { validatorCompiler: looseValidator(checksBody) }),
    onRequest: (request, _reply, done) => {
      request.routeName = name
      const admitted = (admission: Awaited<ReturnType<Gate['admit']>>): void => {
        request.admission = admission
        done()
      }
      const given = gate.admit(request, route)
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
          params: request.params,
          query: request.query,
          body: request.body,
          request,
          reply,
        })
      const timers = timersOf(admission.namespace)
      // A promise also for what is answered at once: to fastify, nothing at all would mean a later answer.
      return timers instanceof Promise ? timers.then(answer) : Promise.resolve(answer(timers))
    },
  })
}

/** What a request that never came to its route is counted as. */
function routeNameOf({ routeOptions: { config, url = 'unknown' } }: FastifyRequest): string {
  return config.name ?? `other ${url}`
}

function readBodies(app: FastifyInstance): void {
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

/** Another instance is answered to the end, with a signature: a 503 without one may be that of a proxy between. */
function isOfPeer({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === PEER_PATH
}

function stopping(): StateError {
  return new StateError('stopped', 'this instance is being stopped: ask another, or try again')
}

/** Compressed bodies may be a thousand times what they weigh. */
function encodingFault(request: FastifyRequest): Error | undefined {
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return undefined
  return new RequestError('unsupported-media', 'bodies come uncompressed: leave Content-Encoding out')
}

function validatorOf(schema: TSchema, part: string | undefined) {
  const check = TypeCompiler.Compile(schema)
  // All of a query is text: numbers are read out of it where the schema has numbers.
  const isText = part === 'querystring'
  return (given: unknown) => {
    const value = isText ? Value.Convert(schema, given) : given
    if (check.Check(value)) return { value }
    const first = check.Errors(value).First()
    const where = first === undefined || first.path === '' ? `the ${part ?? 'request'}` : first.path.slice(1)
    return { error: new RequestError('invalid-body', `${where}: ${first?.message ?? 'it does not fit'}`) }
  }
}

function looseValidator(checksBody: (body: unknown) => boolean) {
  return () => (value: unknown) =>
    checksBody(value) ? { value } : { error: new RequestError('invalid-body', 'it is no list, or too long') }
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
        .header('access-control-allow-methods', 'GET, PUT, POST, DELETE')
        .header(
          'access-control-allow-headers',
          'authorization, content-type, if-match, if-none-match, idempotency-key, carillon-namespace',
        )
        .header('access-control-max-age', '600')
    }
    return reply.code(204).send()
  })
}

/** Answers with a problem. What is not ours to explain is logged, and told as little as can be. */
function answerError(
  logger: CompleteServerOptions['logger'],
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const known = knownError(error)
  const current = (known as { readonly current?: unknown }).current
  const problem = problemOf(known, { requestId: request.id, ...(current !== undefined && { current }) })
  if (problem.status >= 500) logger?.error({ err: error, requestId: request.id }, known.message)
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
  if (problem.status === 429 || problem.status === 503) reply.header('retry-after', '1')
  void reply.code(problem.status).type('application/problem+json').send(JSON.stringify(problem))
}

const fastifyCodes: Readonly<Record<string, ConstructorParameters<typeof RequestError>[0]>> = Object.freeze({
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media',
  FST_ERR_ROUTE_MISSING: 'route-unknown',
})

function knownError(error: unknown): CarillonError {
  if (error instanceof CarillonError) return error
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message?: string }
  const named = fastifyCodes[code ?? '']
  if (named !== undefined) return new RequestError(named, message ?? named)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new RequestError('invalid-body', message ?? 'the request cannot be read')
  return new RequestError('internal', 'the server met an error of its own')
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a route is called in the metrics. */
    name?: string
  }
  interface FastifyRequest {
    /** Put there by the gate. */
    admission: Awaited<ReturnType<Gate['admit']>>
    /** Kept with the request: `routeOptions` makes an object of a dozen names each time it is asked. */
    routeName: string | undefined
  }
}
