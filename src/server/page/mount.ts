import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'

/** A request as frameworks leave it: with the URL before they cut their prefix off, and perhaps with a parsed body. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: string
  body?: unknown
}

export interface MountOptions {
  /** The path below which the API and the page are, such as `/timers`. Default: what the framework has cut off. */
  readonly prefix?: string
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/**
 * The API and the page inside a user's own process, in the forms that frameworks take.
 *
 * Proven by test/page/mount.test.ts.
 */
export class Mount {
  readonly #app: FastifyInstance

  constructor(app: FastifyInstance) {
    this.#app = app
    // Express and NestJS may have read the body already.
    app.addHook('preParsing', (request, _reply, payload, done) => {
      const { body } = request.raw as MountedRequest
      if (body === undefined || !request.raw.readableEnded) return done(null, payload)
      const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      const again = Object.assign(Readable.from([Buffer.from(text)]), {
        // The length was checked when the body was read.
        receivedEncodedLength: Number(request.headers['content-length']),
      })
      done(null, again)
    })
  }

  /** For Node's own server, Express, Connect and NestJS: `app.use('/timers', server.handler())`. */
  handler({ prefix = '' }: MountOptions = {}): (request: IncomingMessage, response: ServerResponse) => void {
    return (request: MountedRequest, response) => {
      const given = request.originalUrl ?? request.url ?? '/'
      const inside = withoutPrefix(request.url ?? '/', prefix)
      if (inside === undefined) {
        response.statusCode = 404
        response.end()
        return
      }
      const redirect = redirectOf(given, inside)
      if (redirect !== undefined && request.method === 'GET') {
        response.writeHead(308, { location: redirect })
        response.end()
        return
      }
      request.url = inside
      this.#app.routing(request, response)
    }
  }

  /** For Fastify: `app.register(server.plugin(), { prefix: '/timers' })`. */
  plugin(): FastifyPluginAsync {
    return async (fastify) => {
      const handle = this.handler({ prefix: fastify.prefix })
      // The bodies are read by the routes below.
      fastify.removeAllContentTypeParsers()
      fastify.addContentTypeParser('*', (_request, _payload, done) => done(null))
      for (const url of ['/', '/*'])
        fastify.route({
          method: [...methods],
          url,
          handler: (request, reply) => {
            reply.hijack()
            handle(request.raw, reply.raw)
          },
        })
    }
  }

  /** For what speaks `Request` and `Response`: route handlers of Next.js, Hono, Bun. */
  async fetch(request: Request, { prefix = '' }: MountOptions = {}): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const inside = withoutPrefix(pathname + search, prefix)
    if (inside === undefined) return new Response(null, { status: 404 })
    const redirect = redirectOf(pathname + search, inside)
    if (redirect !== undefined && request.method === 'GET')
      return new Response(null, { status: 308, headers: { location: redirect } })
    const body = Buffer.from(await request.arrayBuffer())
    const answer = await this.#app.inject({
      method: request.method as 'GET',
      url: inside,
      headers: Object.fromEntries(request.headers),
      ...(body.length > 0 && { payload: body }),
      payloadAsStream: true,
    })
    const headers = new Headers()
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined) headers.set(name, String(value))
    const isEmpty = answer.statusCode === 204 || answer.statusCode === 304
    const stream = answer.stream()
    return new Response(isEmpty ? null : (Readable.toWeb(stream) as ReadableStream), {
      status: answer.statusCode,
      headers,
    })
  }
}

/** The URL below the prefix. Undefined if it is not below it. */
function withoutPrefix(url: string, prefix: string): string | undefined {
  const cut = prefix.replace(/\/+$/, '')
  if (cut === '') return url.startsWith('/') ? url : `/${url}`
  const [path = '', query] = url.split(/(?=\?)/, 2)
  if (path !== cut && !path.startsWith(`${cut}/`)) return undefined
  return `${path.slice(cut.length) || '/'}${query ?? ''}`
}

/** The page needs a slash at the end of its URL: its files are relative to it. The answer is relative, too. */
function redirectOf(given: string, inside: string): string | undefined {
  const [path = '', query] = given.split(/(?=\?)/, 2)
  if (inside.split('?')[0] !== '/' || path.endsWith('/')) return undefined
  return `${path.slice(path.lastIndexOf('/') + 1)}/${query ?? ''}`
}
