import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.js'
import { errorOf } from '../../src/client/problem-error.js'
import { type CarillonError, PartialError, StoreError } from '../../src/error/index.js'
import { daily, rrule } from '../../src/schedule/index.js'
import { systemClock } from '../../src/time/index.js'
import { until } from '../eventually.js'
import { TestServer } from '../server/test-server.js'

/** A client with the first API key of the server. */
function clientOf(served: TestServer, options: ConstructorParameters<typeof Client>[1] = {}): Client {
  return new Client(served.url, { apiKey: served.token, ...options })
}

/** The error of a call. */
async function failure(call: Promise<unknown>): Promise<CarillonError> {
  try {
    await call
  } catch (error) {
    return error as CarillonError
  }
  throw new Error('it did not fail')
}

/** A fetch that loses responses after the server has executed the request. */
function losing(isLost: (url: string, count: number) => boolean, sent: Headers[] = []): typeof fetch {
  let count = 0
  return async (url, init) => {
    sent.push(new Headers(init?.headers))
    const response = await fetch(url, init)
    await response.clone().text()
    if (isLost(url as string, ++count)) throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
    return response
  }
}

describe('a client', () => {
  it('sets, gets, moves, fires and cancels as the library does', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served)
    const set = await client.set('remind', 'a/b c%', { in: '1h', payload: { n: 1 }, tags: ['vip'] })
    expect(set).toMatchObject({ outcome: 'set', key: 'a/b c%' })
    const got = await client.get<{ n: number }>('remind', 'a/b c%')
    expect(got).toMatchObject({ payload: { n: 1 }, tags: ['vip'], state: 'waiting', handle: set.handle })
    expect(await client.get(set.handle)).toEqual(got)
    expect(await client.move('remind', 'a/b c%', { at: new Date('2033-01-01T00:00:00Z') })).toBe('moved')
    expect((await client.get(set.handle))!.dueAt).toBe(Date.UTC(2033, 0))
    expect(await client.move('remind', 'a/b c%', { in: 1 }, { ifRevision: 1 })).toBe('conflict')
    expect(await client.pause('remind', 'a/b c%')).toBe('paused')
    expect(await client.resume('remind', 'a/b c%')).toBe('resumed')
    expect(await client.moveHandle(set.handle, { in: '2h' })).toBe('moved')
    expect(await client.cancel(set.handle)).toBe('cancelled')
    expect(await client.cancel('remind', 'a/b c%')).toBe('unknown')
    expect(await client.get('remind', 'a/b c%')).toBeUndefined()
    const made = await client.set('remind', { on: daily({ at: '09:00', zone: 'Europe/Paris' }) })
    expect((await client.get('remind', made.key))!.on).toMatchObject({ type: 'daily' })
  })

  it('returns the existing timer when a condition fails', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served)
    const first = await client.set('remind', 'a', { in: '1h' })
    const second = await client.set('remind', 'a', { in: '2h', ifAbsent: true })
    expect(second).toEqual({ ...first, kind: undefined, outcome: 'conflict' })
  })

  it('answers unchanged to a schedule that is set again, alone and in a batch', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served)
    const nine = { on: daily({ at: '09:00', zone: 'Europe/Paris' }), payload: { to: ['a'] } }
    const set = await client.set('report', 'a', nine)
    expect(set.outcome).toBe('set')
    // The same schedule in its JSON form. Another trace is no change.
    const json = { type: 'daily', at: ['09:00'], zone: 'Europe/Paris' }
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const again = await client.set('report', 'a', { ...nine, on: json, traceparent })
    expect(again).toEqual({ ...set, outcome: 'unchanged' })
    const rows = [
      { key: 'a', ...nine },
      { key: 'b', ...nine },
      { key: 'a', ...nine, payload: { to: ['b'] } },
    ]
    const many = await client.setMany('report', rows)
    expect(many.map(({ outcome }) => outcome)).toEqual(['unchanged', 'set', 'set'])
    expect(many[0]).toMatchObject({ handle: set.handle, revision: set.revision, dueAt: set.dueAt })
    const response = await served.call('PUT', '/v1/timers/report/b', { ...nine, on: json })
    expect([response.status, response.body.outcome]).toEqual([200, 'unchanged'])
    expect(response.headers.get('etag')).toBe(`"${many[1]!.revision}"`)
  })

  it('sets thousands in batches, lists them, moves and cancels them', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served)
    const rows = Array.from({ length: 2500 }, (_, n) => ({ key: `k${n}`, in: '1h', payload: n }))
    const set = await client.setMany('remind', rows)
    expect(set.map(({ key }) => key)).toEqual(rows.map(({ key }) => key))
    const payloads = new Set<unknown>()
    for await (const { payload } of client.each({ kind: 'remind' })) payloads.add(payload)
    expect(payloads.size).toBe(2500)
    expect(await client.moveMany('remind', ['k0', 'none'], { in: '2h' })).toEqual(['moved', 'unknown'])
    expect(await client.cancelMany('remind', ['k0', 'k0'])).toEqual(['cancelled', 'unknown'])
    const { items, cursor } = await client.list({ kind: 'remind', keyPrefix: 'k1', limit: 7 })
    expect([items.length, cursor]).toEqual([7, expect.any(String)])
    const [slice] = await client.forecast({ over: '2h', slice: '2h' })
    expect(slice!.count).toBe(2499)
  })

  it('splits batches by rows and by size, so that no batch is too large for the server', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served)
    const dates = (year: number): string =>
      Array.from({ length: 256 }, (_, day) =>
        new Date(Date.UTC(year, 0, 1 + day)).toISOString().replace(/[-:]|\.000/g, ''),
      ).join(',')
    const rule = 'DTSTART:20330101T000000Z\nRRULE:FREQ=DAILY;COUNT=1000'
    const on = rrule(`${rule}\nEXDATE:${dates(2033)}\nRDATE:${dates(2043)}`)
    const set = await client.setMany(
      'remind',
      Array.from({ length: 1000 }, (_, n) => ({ key: `k${n}`, on })),
    )
    expect(set).toHaveLength(1000)
  })

  it('says which of many timers were not set', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served)
    const error = await failure(
      client.setMany('remind', [
        { key: 'good', in: '1h' },
        { key: 'bad', in: 'soon' },
      ]),
    )
    expect(error).toBeInstanceOf(PartialError)
    const { rows, untried } = error as PartialError
    expect(untried).toBe(0)
    expect(rows.map((row) => row.error?.code ?? 'set')).toEqual(['set', 'invalid-duration'])
    expect((await failure(client.setMany('remind', [{ in: 'soon' }]))).code).toBe('invalid-duration')
  })

  it('throws the errors of the library, with their codes', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served)
    const wrong = await failure(client.set('remind', 'a', { in: 'soon' }))
    expect([wrong.name, wrong.code]).toEqual(['InvalidInputError', 'invalid-duration'])
    const nobody = await failure(new Client(served.url).get('remind', 'a'))
    expect([nobody.name, nobody.code]).toEqual(['RequestError', 'unauthorized'])
    const stranger = await failure(client.cancel('never-seen', 'a'))
    expect([stranger.name, stranger.code]).toEqual(['InvalidInputError', 'unknown-kind'])
    expect((await failure(client.set('remind', '..', { in: 1 }))).code).toBe('invalid-key')
    expect((await failure(client.set('remind', 'a', { in: 1, payload: () => 1 }))).code).toBe(
      'invalid-payload',
    )
  })

  it('has the class from docs/errors.md for every code', () => {
    const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    // Codes that only the library itself throws, never a server.
    const isLocal =
      /^(clock|driver|package|wheel|webhook|tick|task|pool)-|^(inbox-first|invalid-level|no-transactions|not-a-worker|timer-busy)$/
    const isOfServer =
      /^(not-over-http|off-loopback|port-busy|server-unreachable|transaction-over|partly-done)$/
    const rows = [...page.matchAll(/^\| `([a-z-]+)` +\| (\w+) /gm)]
      .map(([, code, name]) => [code!, name!] as const)
      .filter(([code]) => !isLocal.test(code) && !isOfServer.test(code))
    expect(rows.length).toBeGreaterThan(60)
    expect(rows.map(([code]) => [code, errorOf({ code, detail: '' }).name])).toEqual(rows)
  })

  it('reads its API key from the URL, and never shows it', async () => {
    await using served = await TestServer.start()
    const url = served.url.replace('http://', `http://me:${served.token}@`)
    expect(await new Client(url).paused()).toEqual({ all: false, kinds: [], ofKinds: [] })
    const gone = await failure(new Client(`http://me:ck_secret@127.0.0.1:1`, { retries: 0 }).kinds())
    expect(gone.code).toBe('server-unreachable')
    expect(JSON.stringify([gone.message, String(gone.cause)])).not.toContain('ck_secret')
  })

  it('uses only its own namespace', async () => {
    await using served = await TestServer.start()
    await clientOf(served, { namespace: 'süd' }).set('remind', 'a', { in: '1h' })
    expect((await clientOf(served).list()).items).toEqual([])
    expect((await clientOf(served, { namespace: 'süd' }).list()).items).toHaveLength(1)
  })
})

describe('a request whose response is lost', () => {
  it('is sent again with the same operation id, and is executed once', async () => {
    await using served = await TestServer.start({ history: 'all' })
    const sent: Headers[] = []
    const client = clientOf(served, { fetch: losing((_, count) => count % 2 === 1, sent) })
    expect(await client.set('remind', 'a', { in: '1h' })).toMatchObject({ outcome: 'set', revision: 1 })
    expect(await client.cancel('remind', 'a')).toBe('cancelled')
    const [made] = await client.setMany('remind', [{ in: '1h' }])
    expect(made!.outcome).toBe('set')
    const { body } = await served.call('GET', '/v1/statistics')
    expect(body.store).toMatchObject({ created: 2, replaced: 0, cancelled: 1 })
    const ids = sent.map((headers) => headers.get('idempotency-key'))
    expect(ids).toHaveLength(6)
    expect([ids[0], ids[2], ids[4]]).toEqual([ids[1], ids[3], ids[5]])
    expect(new Set(ids).size).toBe(3)
    const { events } = await clientOf(served).why('remind', 'a')
    expect(events.map(({ event }) => event)).toEqual(['created', 'cancelled'])
  })

  it('fires a timer once that is due at once', async () => {
    await using served = await TestServer.start()
    const client = clientOf(served, { fetch: losing((url, count) => url.includes('/timers/') && count <= 2) })
    await client.setTarget('remind', { type: 'log' })
    const isOver = async (): Promise<boolean> => (await clientOf(served).list()).items.length === 0
    const set = client.set('remind', 'a', { in: 0 })
    await until('it fired', isOver)
    await set
    await until('it fired', isOver)
    const { body } = await served.call('GET', '/v1/statistics')
    expect(body.store.created).toBe(1)
  })
})

/** Sends the given responses, one after the other. */
async function scripted(
  answers: readonly ((response: ServerResponse) => void)[],
): Promise<{ url: string; times: number[]; server: HttpServer }> {
  const times: number[] = []
  const server = createServer((request, response) => {
    request.resume()
    times.push(Date.now())
    answers[Math.min(times.length, answers.length) - 1]!(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, times, server }
}

const problem =
  (status: number, code: string, headers = {}) =>
  (response: ServerResponse) =>
    response
      .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ code, detail: code, status }))
const well = (response: ServerResponse) => response.end('{"kinds":["a"]}')

describe('a request to a failing server', () => {
  it('is sent again after the time in Retry-After', async () => {
    const { url, times, server } = await scripted([
      problem(429, 'rate-limited', { 'retry-after': '1' }),
      problem(503, 'stopped'),
      well,
    ])
    expect(await new Client(url, { random: () => 0 }).kinds()).toEqual(['a'])
    expect(times).toHaveLength(3)
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(990)
    server.close()
  })

  it('is retried a limited number of times, and not after a refusal', async () => {
    const busy = await scripted([problem(503, 'engine-busy')])
    const error = await failure(new Client(busy.url, { retries: 2, random: () => 0 }).kinds())
    expect([error.name, error.code, busy.times.length]).toEqual(['LimitError', 'engine-busy', 3])
    const strict = await scripted([problem(403, 'forbidden')])
    expect((await failure(new Client(strict.url).kinds())).code).toBe('forbidden')
    expect(strict.times).toHaveLength(1)
    busy.server.close()
    strict.server.close()
  })

  it('fails after the timeout, or at once when its signal is aborted', async () => {
    const silent = await scripted([() => undefined])
    const error = await failure(new Client(silent.url, { timeout: '50ms', retries: 1 }).kinds())
    expect(error).toBeInstanceOf(StoreError)
    expect([error.code, silent.times.length]).toEqual(['server-unreachable', 2])
    const abort = new AbortController()
    const call = new Client(silent.url, { signal: abort.signal }).kinds()
    const reason = new Error('the user went away')
    setTimeout(() => abort.abort(reason), 20)
    expect(await failure(call)).toBe(reason)
    silent.server.closeAllConnections()
    silent.server.close()
  })

  it('ends at once when its signal is aborted, even between a response and the retry', async () => {
    const abort = new AbortController()
    const reason = new Error('the user went away')
    const refusing: typeof fetch = () => {
      const body = JSON.stringify({ code: 'stopped', detail: 'stopped' })
      const response = new Response(body, { status: 503, headers: { 'retry-after': '60' } })
      const text = (): Promise<string> => {
        // After the response was read, and before the pause begins.
        queueMicrotask(() => abort.abort(reason))
        return Promise.resolve(body)
      }
      return Promise.resolve(Object.assign(response, { text }))
    }
    const client = new Client('http://127.0.0.1:1', { fetch: refusing, signal: abort.signal })
    const began = systemClock.monotonic()
    expect(await failure(client.kinds())).toBe(reason)
    expect(systemClock.monotonic() - began).toBeLessThan(5000)
  })

  it('fails with server-unreachable if the other side is no Carillon server', async () => {
    const other = await scripted([(response) => response.end('<html>')])
    expect((await failure(new Client(other.url).kinds())).code).toBe('server-unreachable')
    other.server.close()
  })
})
