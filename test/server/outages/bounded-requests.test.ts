import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/time/index.js'
import { until } from '../../eventually.js'
import { DownStore } from '../../front/down-store.js'
import { type Answer, TestServer } from '../test-server.js'
import { requests } from './requests.js'

const CALL_TIMEOUT_MS = 1000

/** Some routes that cannot do without the store. */
const writing: ReadonlySet<string> = new Set([
  'PUT /v1/timers/{kind}/{key}',
  'POST /v1/timers/{kind}',
  'DELETE /v1/timers/{kind}/{key}',
  'POST /v1/batch',
  'POST /v1/keys',
])

let down: DownStore
let server: TestServer
let handle: string

beforeEach(async () => {
  down = new DownStore(systemClock, { shardCount: 1 })
  server = await TestServer.start({ store: down.store, callTimeoutMs: CALL_TIMEOUT_MS })
  await server.call('PUT', '/v1/targets/leased', { type: 'lease' })
  handle = (await server.call('PUT', '/v1/timers/known/old', { in: '1h' })).body.handle as string
})

afterEach(async () => {
  down.comeBack()
  await server.server.stop()
})

function isJob({ route }: { readonly route: string }): boolean {
  return route.includes('/v1/jobs')
}

/** The answer to the request of a route, or undefined if it took ten times as long as it may. */
async function answerOf([route, url, body]: (typeof requests)[number]): Promise<Answer | undefined> {
  const [method] = route.split(' ')
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, 10 * CALL_TIMEOUT_MS, undefined))
  return await Promise.race([server.call(method!, url.replace('{handle}', handle), body), late])
}

describe('while the store is away, the server', () => {
  it('has a request in this test for every route', () => {
    const listed = requests.map(([route]) => route).toSorted()
    const routes = server.server.routes.map(({ method, path }) => `${method} ${path}`)
    // A stream has no last answer.
    expect(listed).toEqual(routes.filter((route) => route !== 'GET /v1/events').toSorted())
  })

  it.each([
    ['hangs', () => down.hang()],
    ['cannot be reached', () => void (down.isUnavailable = true)],
  ])('answers every request when the store %s', async (_, leave) => {
    leave()
    const answers = await Promise.all(requests.map(answerOf))
    const unanswered = requests.filter((__, index) => answers[index] === undefined).map(([route]) => route)
    expect(unanswered).toEqual([])
    const given = requests.map(([route], index) => {
      const { status, headers } = answers[index]!
      return { route, status, hasRetryAfter: headers.has('retry-after') }
    })
    // Some need no store, some have what they need in memory, and only a file store is backed up (409).
    expect(given.filter((one) => !isJob(one) && ![200, 409, 410, 503, 504].includes(one.status))).toEqual([])
    // A job is accepted at once and says later that it failed.
    expect(given.filter((one) => isJob(one) && ![200, 202, 404].includes(one.status))).toEqual([])
    expect(given.filter(({ route, status }) => writing.has(route) && status < 500)).toEqual([])
    expect(given.filter(({ status, hasRetryAfter }) => status === 503 && !hasRetryAfter)).toEqual([])
  })

  it('refuses a batch of which nothing was done as a whole, so that it can be sent again', async () => {
    down.isUnavailable = true
    const rows = ['a', 'b', 'c'].map((key) => ({ kind: 'known', key, in: '1h' }))
    const refused = await server.call('POST', '/v1/batch', rows)
    expect([refused.status, refused.body.code]).toEqual([503, 'not-done'])
    expect((await server.call('POST', '/v1/batch', rows, { 'idempotency-key': 'once' })).status).toBe(503)
    expect(refused.body.detail).toContain('none of the 3 rows was done')
    down.comeBack()
    await until('the same batch is done', async () => {
      const { status } = await server.call('POST', '/v1/batch', rows, { 'idempotency-key': 'once' })
      return status === 200
    })
    expect((await server.call('GET', '/v1/timers')).body.items).toHaveLength(4)
  })

  it('names the rows of a batch that were not done, and tries none of them again', async () => {
    down.isUnavailable = true
    const rows = [
      { kind: 'known', key: 'a', in: '1h' },
      { kind: 'known', key: 'b', in: '1h' },
      { in: 'never' },
    ]
    const { status, body } = await server.call('POST', '/v1/batch', rows)
    expect(status).toBe(200)
    expect(body.map(({ outcome, code }: { outcome: string; code: string }) => [outcome, code])).toEqual([
      ['failed', 'not-done'],
      ['failed', 'not-done'],
      ['refused', 'invalid-body'],
    ])
  })

  it.each([
    ['PUT', '/v1/timers/known/gone', { in: '1h' }],
    ['POST', '/v1/batch', [{ kind: 'known', key: 'gone', in: '1h' }]],
  ])('drops the %s %s of a client that has gone', async (method, url, body) => {
    down.isUnavailable = true
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
    const init: RequestInit = { method, headers, body: JSON.stringify(body), signal: gone.signal }
    const calling = fetch(server.url + url, init)
    await until('the store was asked to write', () => down.calls.includes('write'))
    gone.abort()
    await expect(calling).rejects.toThrow('aborted')
    // Far less than the call may take, and enough for the server to see that the connection is closed.
    await new Promise((resolve) => setTimeout(resolve, 200))
    down.comeBack()
    await until('the store works again', async () => {
      const { status } = await server.call('PUT', '/v1/timers/known/later', { in: '1h' })
      return status === 200
    })
    const { body: listed } = await server.call('GET', '/v1/timers')
    expect(listed.items.map(({ key }: { key: string }) => key)).toEqual(['old', 'later'])
  })

  it('never does what it refused', async () => {
    down.isUnavailable = true
    const { status, body } = await server.call('PUT', '/v1/timers/known/refused', { in: '1h' })
    expect([status, body.code]).toEqual([503, 'not-done'])
    down.comeBack()
    await until('the store works again', async () => {
      const { status: set } = await server.call('PUT', '/v1/timers/known/later', { in: '1h' })
      return set === 200
    })
    expect((await server.call('GET', '/v1/timers/known/refused')).status).toBe(404)
  })
})
