import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer as createHttpServer, request, type ServerResponse } from 'node:http'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { ClusterSecret } from '../../src/server/peers/cluster-secret.js'
import { PEER_CONNECTIONS } from '../../src/server/defaults.js'
import { HttpPeers } from '../../src/server/peers/http-peers.js'
import { PASS, passOf, PEER_PATH, PEER_TYPE, SIGNATURE } from '../../src/server/peers/peer-message.js'
import { MemoryStore } from '../../src/store/index.js'
import { systemClock, VirtualClock } from '../../src/time/index.js'
import { shardOf } from '../../src/timer/index.js'
import { eventually, until } from '../eventually.js'
import { startPair, SHARDS } from './server-pair.js'
import { TestServer } from './test-server.js'

/** Cancels a timer whose owner is behind a proxy. The proxy passes messages on and answers as `proxying` says. */
async function cancelBehindProxy(
  proxying: (pass: () => Promise<Response>, response: ServerResponse) => Promise<void>,
): Promise<{ status: number; code: unknown; appended: number }> {
  let url = ''
  let asked = 0
  const proxy = createHttpServer((message, response) => {
    const { [SIGNATURE]: signature, [PASS]: pass } = message.headers
    const headers = { 'content-type': PEER_TYPE, [SIGNATURE]: String(signature), [PASS]: String(pass) }
    asked++
    void (async () => {
      const body = await text(message)
      await proxying(() => fetch(url + PEER_PATH, { method: 'POST', headers, body }), response)
    })()
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = proxy.address() as AddressInfo
    await using two = await startPair({ address: `http://127.0.0.1:${port}` }, false)
    url = two.owner.url
    return await eventually(async () => {
      const name = await two.setFar()
      const before = two.appended()
      const { status, body } = await two.other.call('DELETE', `/v1/timers/remind/${name}`)
      // Until the address is known it goes by the inbox.
      expect(asked).toBeGreaterThan(0)
      return { status, code: body.code as unknown, appended: two.appended() - before }
    })
  } finally {
    proxy.close()
  }
}

const unsure = { status: 503, code: 'owner-unreachable', appended: 0 }

describe('an instance that does not own the shard', () => {
  it('forwards changes to the owner over HTTP, without the inbox', async () => {
    await using two = await startPair()
    const [name, before] = [await two.setFar(), two.appended()]
    const moved = await two.other.call('POST', `/v1/timers/remind/${name}/move`, { in: '2h' })
    expect(moved.body.outcome).toBe('moved')
    const absent = { 'if-none-match': '*' }
    const conflict = await two.other.call('PUT', `/v1/timers/remind/${name}`, { in: '1h' }, absent)
    expect([conflict.status, conflict.body.code]).toEqual([412, 'revision-conflict'])
    expect((await two.other.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
    expect((await two.other.call('DELETE', `/v1/timers/remind/${name}`)).status).toBe(404)
    const fresh = await two.other.call('PUT', `/v1/timers/remind/${name}`, { in: '1h', payload: 'é' }, absent)
    expect(fresh.status).toBe(200)
    expect((await two.owner.call('GET', `/v1/timers/remind/${name}`)).body.payload).toBe('é')
    expect(two.appended()).toBe(before)
  })

  it('appends a plain set to the inbox, and a forwarded cancel comes after it', async () => {
    await using two = await startPair()
    const before = two.appended()
    for (let round = 0; round < 20; round++) {
      const name = two.key()
      expect((await two.other.call('PUT', `/v1/timers/remind/${name}`, { in: '1h' })).status).toBe(200)
      expect((await two.other.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
    }
    expect(two.appended()).toBe(before + 20)
  })

  it('falls back to the inbox if the owner cannot be reached', async () => {
    await using two = await startPair({ address: 'http://127.0.0.1:1' }, false)
    await eventually(async () => {
      const name = await two.setFar()
      expect((await two.other.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
      expect(await two.forwards('not-done')).toBeGreaterThan(0)
    })
    expect(two.appended()).toBeGreaterThan(0)
  })

  it("falls back to the inbox if another server is at the owner's address", async () => {
    await using stranger = await TestServer.start({ auth: false })
    await using two = await startPair({ address: stranger.url }, false)
    await eventually(async () => {
      const name = await two.setFar()
      expect((await two.other.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
      expect(await two.forwards('not-done')).toBeGreaterThan(0)
    })
  })

  it('never repeats a change that may have been made, and then avoids that owner', async () => {
    let asked = 0
    const hole = createServer((socket) => {
      socket.once('data', () => {
        asked++
        socket.destroy()
      })
      socket.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => hole.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = hole.address() as AddressInfo
      await using two = await startPair({ address: `http://127.0.0.1:${port}` }, false)
      const name = await two.setFar()
      let before = 0
      const refused = await eventually(async () => {
        before = two.appended()
        const answer = await two.other.call('DELETE', `/v1/timers/remind/${two.key()}`)
        // Until the address is known it goes by the inbox.
        expect(asked).toBeGreaterThan(0)
        return answer
      })
      expect([refused.status, refused.body.code]).toEqual([503, 'owner-unreachable'])
      expect([asked, two.appended()]).toEqual([1, before])
      expect((await two.other.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
      expect([asked, two.appended()]).toEqual([1, before + 1])
    } finally {
      hole.close()
    }
  })

  // Proxies differ in their status when the server behind them breaks off: Envoy sends 503.
  it.each([503, 504])(
    'never repeats a change that a proxy passed on and answered with %i',
    async (status) => {
      const cancelled = await cancelBehindProxy(async (pass, response) => {
        await pass()
        response.writeHead(status).end('no answer')
      })
      expect(cancelled).toEqual(unsure)
    },
  )

  it('never repeats a change that a proxy passed on twice, returning the second answer', async () => {
    const cancelled = await cancelBehindProxy(async (pass, response) => {
      await pass()
      const second = await pass()
      response.writeHead(second.status, { [SIGNATURE]: String(second.headers.get(SIGNATURE)) })
      response.end(await second.text())
    })
    expect(cancelled).toEqual(unsure)
  })

  it('uses only the inbox when forwarding is off', async () => {
    await using two = await startPair({ forwarding: false }, false)
    const name = await two.setFar()
    expect((await two.other.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
    expect(two.appended()).toBe(1)
    expect((await two.owner.call('POST', PEER_PATH, {})).status).toBe(404)
  })
})

describe('a message between instances', () => {
  it('is accepted only if it is signed, for this instance, in time, and new', async () => {
    await using two = await startPair()
    const secret = await ClusterSecret.of(two.store)
    const ask = async (changes: object, signature?: string) => {
      const name = await two.setFar()
      const at = { namespace: 'default', kind: 'remind', key: name }
      const operations = [{ type: 'cancel', ...at }]
      const message = { to: two.self, id: name, deadline: Date.now() + 5000, ...changes }
      const sent = JSON.stringify({
        ...message,
        ask: { type: 'operations', shard: shardOf(at, SHARDS), operations },
      })
      const answer = await two.owner.call('POST', PEER_PATH, sent, {
        'content-type': PEER_TYPE,
        [PASS]: passOf(secret, two.self, Date.now() + 5000),
        [SIGNATURE]: signature ?? secret.signatureOf('ask', sent),
      })
      const { status } = await two.owner.call('GET', `/v1/timers/remind/${name}`)
      return { answer, isThere: status === 200 }
    }
    const good = await ask({})
    expect(JSON.parse(good.answer.text).answers).toEqual([{ outcome: 'cancelled' }])
    expect(secret.isSigned('answer', good.answer.text, good.answer.headers.get(SIGNATURE))).toBe(true)
    expect(good.isThere).toBe(false)
    expect(await ask({}, 'x'.repeat(43))).toMatchObject({ answer: { status: 401 }, isThere: true })
    const asAnswer = secret.signatureOf('answer', '{}')
    expect(await ask({}, asAnswer)).toMatchObject({ answer: { status: 401 }, isThere: true })
    for (const changes of [{ to: 'another' }, { deadline: Date.now() - 1 }]) {
      const refused = await ask(changes)
      expect(JSON.parse(refused.answer.text).answers).toBeUndefined()
      expect(refused.isThere).toBe(true)
    }
    const twice = { id: 'the same' }
    expect((await ask(twice)).isThere).toBe(false)
    expect((await ask(twice)).isThere).toBe(true)
  })

  it('is answered with a signature while the instance stops, and other requests get 503', async () => {
    await using two = await startPair()
    const secret = await ClusterSecret.of(two.store)
    const { hostname, port, host } = new URL(two.owner.url)
    /** A busy connection, which stays open when the instance begins to stop. */
    const busy = () => {
      const socket = connect(Number(port), hostname).setEncoding('utf8')
      let heard = ''
      socket.on('data', (part: string) => (heard += part))
      const send = (path: string, headers: Record<string, string>, body: string): void => {
        const all = { host, 'content-length': String(body.length), ...headers }
        const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
        socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
      }
      const json = { 'content-type': 'application/json' }
      send('/v1/leases', json, JSON.stringify({ kinds: ['encode'], waitMs: 3000 }))
      return { send, json, second: () => heard.split('HTTP/1.1 ')[2] ?? '' }
    }
    await two.owner.call('PUT', '/v1/targets/encode', { type: 'lease' })
    const at = { namespace: 'default', kind: 'remind', key: await two.setFar() }
    const [peer, other] = [busy(), busy()]
    await new Promise((resolve) => setTimeout(resolve, 300))
    const stopping = two.owner.server.stop()
    await new Promise((resolve) => setTimeout(resolve, 100))
    const deadline = Date.now() + 5000
    const ask = { type: 'operations', shard: shardOf(at, SHARDS), operations: [{ type: 'cancel', ...at }] }
    const message = JSON.stringify({ to: two.self, id: 'late', deadline, ask })
    const signed = {
      'content-type': PEER_TYPE,
      [PASS]: passOf(secret, two.self, deadline),
      [SIGNATURE]: secret.signatureOf('ask', message),
    }
    peer.send(PEER_PATH, signed, message)
    other.send('/v1/pause', other.json, '{}')
    await stopping
    await eventually(() =>
      expect(peer.second()).toMatch(/^200 (.|\s)+"id":"late","answers":\[{"outcome":"cancelled"}\]/),
    )
    expect(peer.second()).toContain(`${SIGNATURE}: `)
    await eventually(() => expect(other.second()).toMatch(/^503 (.|\s)+"code":"stopped"/))
    expect(other.second()).toContain('retry-after: 1')
  })

  it('is refused without a valid pass, before its body is read', async () => {
    await using two = await startPair()
    const answers = await Promise.all(
      ['', `${Date.now() + 5000}.${'x'.repeat(43)}`].map(
        (pass) =>
          new Promise<number | undefined>((resolve, reject) => {
            const length = String(16 * 1024 * 1024)
            const asked = request(two.owner.url + PEER_PATH, {
              method: 'POST',
              headers: { 'content-type': PEER_TYPE, 'content-length': length, [PASS]: pass },
            })
            asked.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
            asked.setTimeout(60_000, () => asked.destroy(new Error('it waits for the rest')))
            asked.write('the beginning')
          }),
      ),
    )
    expect(answers).toEqual([401, 401])
  })

  it('is signed with one secret per store, which no answer contains', async () => {
    const store = new MemoryStore()
    const secrets = await Promise.all([ClusterSecret.of(store), ClusterSecret.of(store)])
    expect(secrets[0].signatureOf('ask', 'a')).toBe(secrets[1].signatureOf('ask', 'a'))
    const [setting] = await store.settings('cluster/secret')
    expect(Buffer.from(setting!.value, 'base64')).toHaveLength(32)
    await using served = await TestServer.start({ store, auth: false })
    for (const path of [
      '/v1/members',
      '/v1/statistics',
      '/metrics',
      '/v1/kinds',
      '/v1/targets',
      '/v1/openapi.json',
    ])
      expect((await served.call('GET', path)).text).not.toContain(setting!.value)
  })
})

describe('the outcome of a message between instances', () => {
  const member = async (address: string) => {
    const secret = await ClusterSecret.of(new MemoryStore())
    const peers = new HttpPeers({ secret, clock: systemClock, timeoutMs: 5000, onResult: () => undefined })
    return {
      ask: () => peers.ask({ id: 'one', address }, { shard: 0, deadline: Date.now() + 5000, operations: [] }),
      [Symbol.asyncDispose]: () => peers.stop(),
    }
  }

  // An established connection can fail with these codes, too, when the route to the other end is lost.
  it.each(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'ECONNRESET'])(
    'is unsure if the connection broke after it was sent: %s',
    async (code) => {
      let ours: Socket | undefined
      const connected = (message: unknown): void => {
        ours = (message as { readonly socket: Socket }).socket
      }
      const hole = createServer((socket) => {
        socket.on('error', () => undefined)
        socket.once('data', () => {
          ours!.destroy(Object.assign(new Error(`read ${code}`), { code, syscall: 'read' }))
        })
      })
      await new Promise<void>((resolve) => hole.listen(0, '127.0.0.1', resolve))
      subscribe('undici:client:connected', connected)
      try {
        await using one = await member(`http://127.0.0.1:${(hole.address() as AddressInfo).port}`)
        expect(await one.ask()).toEqual({ outcome: 'unsure' })
      } finally {
        unsubscribe('undici:client:connected', connected)
        hole.close()
      }
    },
  )

  it('is not-done if nobody listens at the address, or its name does not resolve', async () => {
    for (const address of ['http://127.0.0.1:1', 'http://localhost:1', 'http://nobody.invalid:7750']) {
      await using one = await member(address)
      expect(await one.ask()).toEqual({ outcome: 'not-done' })
    }
  })
})

describe('a message to an instance that accepts connections and never answers', () => {
  const silent = async (scheme: string, timeoutMs: number) => {
    const clock = new VirtualClock()
    const sockets = new Set<Socket>()
    const hole = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined))
    })
    await new Promise<void>((resolve) => hole.listen(0, '127.0.0.1', resolve))
    const secret = await ClusterSecret.of(new MemoryStore())
    const peers = new HttpPeers({ secret, clock, timeoutMs, onResult: () => undefined })
    const { port } = hole.address() as AddressInfo
    const member = { id: 'one', address: `${scheme}://127.0.0.1:${port}` }
    const ask = () => peers.ask(member, { shard: 0, deadline: Date.now() + 5000, operations: [] })
    return {
      ask,
      clock,
      connections: () => sockets.size,
      async [Symbol.asyncDispose]() {
        await peers.stop()
        for (const socket of sockets) socket.destroy()
        hole.close()
      },
    }
  }

  it('times out after timeoutMs, even if many messages wait for a connection', async () => {
    await using one = await silent('http', 300)
    let ended = 0
    const asked = Array.from({ length: 100 }, () => one.ask().finally(() => ended++))
    await until('every connection is used', () => one.connections() === PEER_CONNECTIONS)
    await one.clock.advance(299)
    expect(ended).toBe(0)
    await one.clock.advance(1)
    // Those without a connection do not wait for another 300 ms.
    const answers = await Promise.all(asked)
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['unsure']))
  })

  it('is not sent if the previous connection to that instance failed', async () => {
    await using one = await silent('https', 10_000)
    expect(await one.ask()).toEqual({ outcome: 'not-done' })
    const before = one.connections()
    expect(await one.ask()).toEqual({ outcome: 'not-done' })
    expect(one.connections()).toBe(before)
  })
})
