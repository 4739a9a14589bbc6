import { randomBytes } from 'node:crypto'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TestServer } from '../server/test-server.js'

/** Texts that try to become code, in every field that a user controls. */
export const hostile = [
  '<img src=x onerror="globalThis.hacked=1">',
  '"><script>globalThis.hacked=1</script>',
  'javascript:globalThis.hacked=1//\'"',
  '{{constructor.constructor("globalThis.hacked=1")()}}${globalThis.hacked=1}',
  '\u202e</td></table><svg onload=globalThis.hacked=1>',
] as const

const BULK = 3000
const HOUR = 3_600_000

/** A server with a few thousand timers of every sort, on a free port, and a receiver of its webhooks. */
export class PageFixture implements AsyncDisposable {
  readonly server: TestServer
  readonly #receiver: HttpServer

  private constructor(server: TestServer, receiver: HttpServer) {
    this.server = server
    this.#receiver = receiver
  }

  static async start(): Promise<PageFixture> {
    const receiver = createServer((request, response) => {
      request.resume()
      response.statusCode = request.url === '/broken' ? 400 : request.url === '/flaky' ? 503 : 200
      response.end(request.url === '/broken' ? `no order ${hostile[0]}` : '')
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as AddressInfo
    const server = await TestServer.start({
      history: 'all',
      guard: { http: true, ports: [port], addresses: ['127.0.0.1'] },
      engine: { settleMs: 50 },
    })
    const fixture = new PageFixture(server, receiver)
    await fixture.#fill(`http://127.0.0.1:${port}`)
    return fixture
  }

  get url(): string {
    return this.server.url
  }

  /** Calls the API with the first key. Throws if the answer is an error. */
  async call(method: string, path: string, body?: unknown) {
    const answer = await this.server.call(method, path, body)
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.text}`)
    return answer.body
  }

  async keyOf(scope: 'read' | 'write', namespace?: string): Promise<string> {
    const { token } = await this.call('POST', '/v1/keys', {
      name: `${scope} ${namespace ?? 'all'}`,
      scope,
      ...(namespace !== undefined && { namespace }),
    })
    return token as string
  }

  async #fill(receiver: string): Promise<void> {
    const call = this.call.bind(this)
    for (const kind of ['mail', 'broken', 'flaky'])
      await call('PUT', `/v1/targets/${kind}`, {
        type: 'webhook',
        url: `${receiver}/${kind}`,
        secret: `whsec_${randomBytes(32).toString('base64')}`,
      })
    await call('PUT', '/v1/targets/report', { type: 'log' })
    await call('PUT', '/v1/targets/encode', { type: 'lease' })
    const midnight = Math.ceil((Date.now() + HOUR) / (24 * HOUR)) * 24 * HOUR
    const rows = Array.from({ length: BULK }, (_, row) => ({
      kind: row % 3 === 0 ? 'report' : 'mail',
      key: `order:${String(row).padStart(5, '0')}`,
      at:
        row % 5 === 0
          ? midnight + (row % 50) * 1000
          : Date.now() + HOUR + ((row * 7919) % (72 * 3600)) * 1000,
      payload: { order: row },
      tags: row % 10 === 0 ? ['vip'] : [],
    }))
    await call('POST', '/v1/batch', rows)
    // Nobody handles this kind, so its due timers wait.
    await call('POST', '/v1/batch', [
      ...['a', 'b', 'c'].map((key) => ({ kind: 'lonely', key, in: 0 })),
      ...Array.from({ length: 12 }, (_, row) => ({
        kind: 'broken',
        key: `job:${row}`,
        in: 0,
        payload: { row },
      })),
      ...['x', 'y'].map((key) => ({ kind: 'flaky', key, in: 0 })),
    ])
    await call('PUT', '/v1/timers/report/digest', {
      on: { type: 'daily', at: '02:30', zone: 'America/New_York' },
      payload: { to: 'all' },
    })
    await call('PUT', '/v1/timers/report/invoices', {
      on: { type: 'cron', expression: '0 9 1,15 * *', zone: 'Europe/Paris' },
    })
    await call('PUT', '/v1/timers/report/review', {
      on: {
        type: 'rrule',
        rule: 'FREQ=MONTHLY;BYDAY=-1FR',
        start: '2026-01-30T17:00',
        zone: 'Europe/Berlin',
      },
    })
    await call('PUT', '/v1/timers/mail/big', {
      in: '3h',
      payload: {
        id: 'text',
        list: Array.from({ length: 500 }, (_, item) => ({ item })),
        long: 'x'.repeat(5000),
      },
    })
    await call('PUT', `/v1/timers/${encodeURIComponent(hostile[0])}/${encodeURIComponent(hostile[1])}`, {
      in: '2h',
      tags: hostile.map((text) => text.slice(0, 100)),
      payload: Object.fromEntries(hostile.map((text, index) => [`${index}${text}`, text])),
    })
    for (const text of hostile.slice(2))
      await call('PUT', `/v1/timers/mail/${encodeURIComponent(text)}`, { in: '2h', payload: text })
    await call('POST', '/v1/pause', { kind: 'encode', note: hostile[0] })
    await call('PUT', '/v1/quota', { maxTimers: 100_000, maxBytes: 50_000_000 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    this.#receiver.closeAllConnections()
    await new Promise((resolve) => this.#receiver.close(resolve))
  }
}
