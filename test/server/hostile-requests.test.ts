import { request } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestServer } from './test-server.js'

let served: TestServer
const path = '/v1/timers/a/b'

beforeAll(async () => {
  served = await TestServer.start({ requestTimeoutMs: 1500 })
})

afterEach(async () => {
  const health = await served.call('GET', '/healthz')
  const set = await served.call('PUT', '/v1/timers/still/here', { in: '1h' })
  if (health.status !== 200 || set.status !== 200) throw new Error('the server stopped working')
})

afterAll(async () => {
  await served.server.stop()
})

describe('the server survives hostile requests: it', () => {
  it.each([
    ['100,000 nested arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
    [
      '100,000 nested objects in a payload',
      `{"in":1,"payload":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_001)}`,
    ],
    ['65 levels of nesting', `{"in":1,"payload":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['__proto__', '{"in":1,"__proto__":{"isAdmin":true}}'],
    ['__proto__ in a payload', '{"in":1,"payload":{"a":[{"__proto__":{"isAdmin":true}}]}}'],
    ['an escaped __proto__', '{"in":1,"payload":{"\\u005f_proto__":{"isAdmin":true}}}'],
    ['constructor.prototype', '{"in":1,"payload":{"constructor":{"prototype":{"isAdmin":true}}}}'],
    ['an unterminated string', '{"in":1,"payload":"'],
    ['no content', ''],
    ['text that is not JSON', 'in=1'],
    ['an array', '[]'],
    ['null', 'null'],
  ])('rejects a body with %s', async (_, body) => {
    const answer = await served.call('PUT', path, body, { 'content-type': 'application/json' })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid-body'])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  it('accepts a payload that only looks hostile', async () => {
    const payload = {
      text: '__proto__ [[[[{{{ \\" constructor',
      deep: JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown,
    }
    expect((await served.call('PUT', path, { in: '1h', payload })).status).toBe(200)
    expect((await served.call('GET', path)).body.payload).toEqual(payload)
  })

  it('rejects a gzip bomb', async () => {
    const answer = await fetch(served.url + path, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${served.token}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: gzipSync(Buffer.alloc(50_000_000, 32)),
    })
    expect(answer.status).toBe(415)
  })

  it('rejects a body of another content type', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/x-ndjson']) {
      expect((await served.call('PUT', path, 'x', { 'content-type': type })).status).toBe(415)
    }
  })

  it('rejects a body of 300 MB, with or without a content length, and does not buffer it', async () => {
    const before = process.memoryUsage().rss
    const lengths: Record<string, string>[] = [
      { 'content-length': '300000000' },
      { 'transfer-encoding': 'chunked' },
    ]
    for (const length of lengths) {
      expect(await sendLargeBody(length, served.token)).toBe(413)
      // A wrong key is refused before the body is read.
      expect(await sendLargeBody(length, 'ck_none')).toBe(401)
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  it('rejects a body that arrives slower than requestTimeoutMs', async () => {
    const { hostname, port } = new URL(served.url)
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname)
      let text = ''
      socket.on('data', (data) => (text += data.toString()))
      socket.on('error', () => undefined)
      socket.write(
        `PUT ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${served.token}\r\n` +
          'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
      )
      const drip = setInterval(() => socket.write(' '), 100)
      socket.on('close', () => {
        clearInterval(drip)
        resolve(text)
      })
    })
    // Without the limit, the rest of the body would arrive, and the answer would be another.
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('rejects data that is not HTTP, and headers that are too long', async () => {
    const { hostname, port } = new URL(served.url)
    for (const text of [
      'nonsense\r\n\r\n',
      `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(100_000)}\r\n\r\n`,
    ]) {
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(Number(port), hostname)
        let got = ''
        socket.on('data', (data) => (got += data.toString()))
        socket.on('error', () => undefined)
        socket.on('close', () => resolve(got))
        socket.write(text)
      })
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
    }
  })

  it('rejects malformed paths', async () => {
    for (const hostile of [
      '/v1/timers/%ff/%fe',
      '/v1/timers/%00/a',
      '/v1/timers/a/%',
      '/v1/../../etc/passwd',
      '//',
    ]) {
      const { status } = await served.call('GET', hostile)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
    }
    expect((await served.call('PUT', '/v1/timers/a/%00', { in: 1 })).body.code).toBe('invalid-key')
  })
})

/** Sends up to 300 MB and returns the status, whenever it arrives. */
function sendLargeBody(headers: Record<string, string>, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sending = request(served.url + path, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    })
    let isAnswered = false
    let sent = 0
    const chunk = Buffer.alloc(1_000_000, 32)
    const more = (): void => {
      if (isAnswered || sent === 300) return
      sent++
      sending.write(chunk, more)
    }
    sending.on('response', (response) => {
      isAnswered = true
      response.resume()
      resolve(response.statusCode!)
      sending.destroy()
    })
    // The server may close the connection once it has answered.
    sending.on('error', (error) => (isAnswered ? undefined : reject(error)))
    more()
  })
}
