import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type PageFile, pageFiles } from './page-files.js'

/**
 * What the page may load: its own script, style and images, and the API beside it. No inline code runs, no string
 * becomes HTML, and no other page can frame it.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/**
 * Serves the web page at `/`. Its files need no key: they contain nothing about timers. The page asks the API for that,
 * with the key that its user signs in with.
 *
 * Proven by test/page/serve-page.test.ts.
 */
export function servePage(app: FastifyInstance): void {
  for (const [path, file] of pageFiles()) {
    app.route({
      method: ['GET', 'HEAD'],
      url: `/${path}`,
      handler: (request, reply) => send(file, request, reply),
    })
  }
}

function send(file: PageFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply
    .header('etag', file.etag)
    .header('vary', 'accept-encoding')
    // The page itself is checked at each visit, so that it always names the files of this version.
    .header('cache-control', file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('content-security-policy', policy)
    .header('cross-origin-opener-policy', 'same-origin')
    .header('referrer-policy', 'no-referrer')
    .type(file.type)
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  const body = takesGzip ? file.gzipped : file.body
  if (takesGzip) reply.header('content-encoding', 'gzip')
  if (request.method === 'HEAD') return reply.header('content-length', body.length).send()
  return reply.send(body)
}
