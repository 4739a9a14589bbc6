import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_EVENT_LISTENERS_PER_KEY, MAX_WEBHOOK_CONNECTIONS } from '../../src/server/defaults.js'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

let served: TestServer
const store = new MemoryStore()
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

beforeAll(async () => {
  served = await TestServer.start({ store })
})

afterAll(async () => {
  await served.server.stop()
})

let names = 0
async function newKey(
  body: object,
  token = served.token,
): Promise<{ id: string; token: string; expiresAt?: number }> {
  const made = await served.call(
    'POST',
    '/v1/keys',
    { name: `key ${++names}`, ...body },
    { authorization: `Bearer ${token}` },
  )
  expect([made.status, made.text]).toEqual([201, expect.any(String)])
  return { ...made.body.key, token: made.body.token }
}

function listen(token: string): Promise<Response> {
  return fetch(`${served.url}/v1/events`, { headers: { authorization: `Bearer ${token}` } })
}

/** Reads a stream to its end. */
async function ended(stream: Response): Promise<true> {
  try {
    for await (const _ of stream.body!);
  } catch {
    // Cut off.
  }
  return true
}

describe('a key', () => {
  it('ends its event streams when it is revoked', async () => {
    const { id, token } = await newKey({ scope: 'read' })
    const stream = await listen(token)
    const end = ended(stream)
    expect((await served.call('DELETE', `/v1/keys/${id}`)).status).toBe(200)
    expect(await end).toBe(true)
  })

  it('ends its event streams when it expires', async () => {
    const { token } = await newKey({ scope: 'read', expiresIn: '1s' })
    expect(await ended(await listen(token))).toBe(true)
    expect((await listen(token)).status).toBe(401)
  })

  it('ends its waiting lease calls with 401 when it is revoked or expires, and leases nothing', async () => {
    await served.call('PUT', '/v1/targets/leased', { type: 'lease' })
    const wait = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` }
      const asked = { kinds: ['leased'], waitMs: 60_000 }
      return (await served.call('POST', '/v1/leases', asked, headers)).status
    }
    const revoked = await newKey({ scope: 'write' })
    const expiring = await newKey({ scope: 'write', expiresIn: '1s' })
    const waits = [wait(revoked.token), wait(expiring.token)]
    expect((await served.call('DELETE', `/v1/keys/${revoked.id}`)).status).toBe(200)
    expect(await Promise.all(waits)).toEqual([401, 401])
    await served.call('PUT', '/v1/timers/leased/a', { in: 0 })
    const { body } = await served.call('POST', '/v1/leases', { kinds: ['leased'], waitMs: 20_000 })
    expect(body.firings).toHaveLength(1)
  })

  it('ends its streamed batch when it is revoked, and no later line is applied', async () => {
    const { id, token } = await newKey({ scope: 'write' })
    let send: ReadableStreamDefaultController<Uint8Array> | undefined
    const lines = new ReadableStream<Uint8Array>({ start: (controller) => void (send = controller) })
    const line = (key: string): Uint8Array =>
      Buffer.from(`${JSON.stringify({ kind: 'streamed', key, in: '1h' })}\n`)
    const asked = fetch(`${served.url}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
      body: lines,
      duplex: 'half',
    })
    send!.enqueue(line('before'))
    await eventually(async () =>
      expect((await served.call('GET', '/v1/timers/streamed/before')).status).toBe(200),
    )
    await served.call('DELETE', `/v1/keys/${id}`)
    send!.enqueue(line('after'))
    send!.close()
    const answers = (await (await asked).text()).trim().split('\n')
    expect(answers.at(-1)).toContain('"unauthorized"')
    expect((await served.call('GET', '/v1/timers/streamed/after')).status).toBe(404)
  })

  it(`has ${MAX_EVENT_LISTENERS_PER_KEY} event streams, and the next one is refused`, async () => {
    const { id, token } = await newKey({ scope: 'read' })
    const streams = await Promise.all(
      Array.from({ length: MAX_EVENT_LISTENERS_PER_KEY }, () => listen(token)),
    )
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]))
    const refused = await listen(token)
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
      503,
      'too-many-listeners',
    ])
    // Another key still has seats.
    const other = await newKey({ scope: 'read' })
    const theirs = await listen(other.token)
    expect(theirs.status).toBe(200)
    await served.call('DELETE', `/v1/keys/${id}`)
    await served.call('DELETE', `/v1/keys/${other.id}`)
    await Promise.all([...streams, theirs].map(ended))
  })

  it('that expires makes no keys that outlive it', async () => {
    const { token, expiresAt } = await newKey({ scope: 'admin', expiresIn: '1h' })
    const heir = await newKey({ scope: 'read' }, token)
    expect(heir.expiresAt).toBeLessThanOrEqual(expiresAt!)
    expect(heir.expiresAt).toBeGreaterThan(Date.now())
    const shorter = await newKey({ scope: 'read', expiresIn: '1m' }, token)
    expect(shorter.expiresAt).toBeLessThan(expiresAt! - 1_800_000)
    const longer = await served.call(
      'POST',
      '/v1/keys',
      { name: 'longer', scope: 'read', expiresIn: '2h' },
      { authorization: `Bearer ${token}` },
    )
    expect([longer.status, longer.body.code]).toEqual([400, 'invalid-option'])
  })

  it('of an admin gets no webhook with huge limits', async () => {
    const target = { type: 'webhook', url: 'https://example.org/', secret }
    for (const parts of [
      { concurrency: MAX_WEBHOOK_CONNECTIONS + 1 },
      { timeout: '11m' },
      { maxAnswerBytes: 1_048_577 },
      { pipelining: 101 },
    ])
      expect([parts, (await served.call('PUT', '/v1/targets/a', { ...target, ...parts })).status]).toEqual([
        parts,
        400,
      ])
    const most = {
      concurrency: MAX_WEBHOOK_CONNECTIONS,
      timeout: '10m',
      maxAnswerBytes: 1_048_576,
      pipelining: 100,
    }
    expect((await served.call('PUT', '/v1/targets/a', { ...target, ...most })).status).toBe(200)
  })

  it('leaves no kind behind when a quota refuses its set', async () => {
    const own = { 'carillon-namespace': 'small' }
    expect((await served.call('PUT', '/v1/quota', { maxTimers: 0 }, own)).status).toBe(200)
    for (let i = 0; i < 5; i++)
      expect((await served.call('PUT', `/v1/timers/refused-${i}/a`, { in: '1h' }, own)).status).toBe(403)
    expect(await store.settings('kind/small/')).toEqual([])
    await served.call('PUT', '/v1/quota', { maxTimers: 1 }, own)
    expect((await served.call('PUT', '/v1/timers/taken/a', { in: '1h' }, own)).status).toBe(200)
    expect((await store.settings('kind/small/')).map(({ name }) => name)).toEqual(['kind/small/taken'])
  })
})

describe('a server without keys', () => {
  it('refuses what web pages of other sites send, and answers everything else', async () => {
    await using open = await TestServer.start({ auth: false, corsOrigins: ['https://app.example.org'] })
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await open.call('POST', '/v1/pause', {}, headers)).status
    expect(await status({})).toBe(200)
    expect(await status({ origin: open.url })).toBe(200)
    expect(await status({ origin: 'https://app.example.org' })).toBe(200)
    expect(await status({ origin: 'https://evil.example' })).toBe(403)
    expect(await status({ origin: 'null' })).toBe(403)
    expect(await status({ origin: 'http://127.0.0.1:1' })).toBe(403)
  })
})

class CountedStore extends MemoryStore {
  calls = 0

  delayMs = 0

  override async now(): Promise<number> {
    this.calls++
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs))
    return await super.now()
  }
}

describe('/readyz', () => {
  it('asks the store for many that ask at once, not for each', async () => {
    const counted = new CountedStore()
    await using other = await TestServer.start({ store: counted })
    await eventually(async () => expect((await other.call('GET', '/readyz')).status).toBe(200))
    const before = counted.calls
    counted.delayMs = 300
    const answers = await Promise.all(Array.from({ length: 200 }, () => other.call('GET', '/readyz')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(counted.calls - before).toBeLessThan(100)
  })
})
