import { createServer as createHttpServer, request } from 'node:http'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { ClusterSecret } from '../../src/server/peers/cluster-secret.js'
import { HttpPeers } from '../../src/server/peers/http-peers.js'
import { PASS, passOf, PEER_PATH, PEER_TYPE, SIGNATURE } from '../../src/server/peers/peer-message.js'
import { MemoryStore } from '../../src/store/index.js'
import { systemClock } from '../../src/time/index.js'
import { shardOf } from '../../src/timer/index.js'
import { eventually } from '../eventually.js'
import { pair, SHARDS } from './pair.js'
import { Served } from './served.js'

describe('an instance that does not own the shard', () => {
  it('has a change answered by the owner directly, and with what only the owner knows', async () => {
    await using two = await pair()
    const [name, before] = [await two.setFar(), two.appended()]
    const moved = await two.asker.call('POST', `/v1/timers/remind/${name}/move`, { in: '2h' })
    expect(moved.body.outcome).toBe('moved')
    const absent = { 'if-none-match': '*' }
    const conflict = await two.asker.call('PUT', `/v1/timers/remind/${name}`, { in: '1h' }, absent)
    expect([conflict.status, conflict.body.code]).toEqual([412, 'revision-conflict'])
    expect((await two.asker.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
    expect((await two.asker.call('DELETE', `/v1/timers/remind/${name}`)).status).toBe(404)
    const fresh = await two.asker.call('PUT', `/v1/timers/remind/${name}`, { in: '1h', payload: 'é' }, absent)
    expect(fresh.status).toBe(200)
    expect((await two.owner.call('GET', `/v1/timers/remind/${name}`)).body.payload).toBe('é')
    expect(two.appended()).toBe(before)
  })

  it('leaves a plain set to the inbox, and a change of it comes after it', async () => {
    await using two = await pair()
    const before = two.appended()
    for (let round = 0; round < 20; round++) {
      const name = two.key()
      expect((await two.asker.call('PUT', `/v1/timers/remind/${name}`, { in: '1h' })).status).toBe(200)
      expect((await two.asker.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
    }
    expect(two.appended()).toBe(before + 20)
  })

  it('falls back to the inbox where the owner is not reached', async () => {
    await using two = await pair({ address: 'http://127.0.0.1:1' }, false)
    await eventually(async () => {
      const name = await two.setFar()
      expect((await two.asker.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
      expect(await two.forwards('not-done')).toBeGreaterThan(0)
    })
    expect(two.appended()).toBeGreaterThan(0)
  })

  it('falls back to the inbox where somebody else is at the address', async () => {
    await using stranger = await Served.start({ auth: false })
    await using two = await pair({ address: stranger.url }, false)
    await eventually(async () => {
      const name = await two.setFar()
      expect((await two.asker.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
      expect(await two.forwards('not-done')).toBeGreaterThan(0)
    })
  })

  it('never sends again what may have been done, and spares an owner that does not answer', async () => {
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
      await using two = await pair({ address: `http://127.0.0.1:${port}` }, false)
      const name = await two.setFar()
      let before = 0
      const refused = await eventually(async () => {
        before = two.appended()
        const answer = await two.asker.call('DELETE', `/v1/timers/remind/${two.key()}`)
        // Until the address is known it goes by the inbox.
        expect(asked).toBeGreaterThan(0)
        return answer
      })
      expect([refused.status, refused.body.code]).toEqual([503, 'owner-unreachable'])
      expect([asked, two.appended()]).toEqual([1, before])
      expect((await two.asker.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
      expect([asked, two.appended()]).toEqual([1, before + 1])
    } finally {
      hole.close()
    }
  })

  it('never sends again what was passed on by a proxy that did not wait for the answer', async () => {
    let url = ''
    const proxy = createHttpServer((message, response) => {
      const { [SIGNATURE]: signature, [PASS]: pass } = message.headers
      void (async () => {
        const headers = {
          'content-type': PEER_TYPE,
          [SIGNATURE]: String(signature),
          [PASS]: String(pass),
        }
        await fetch(url + PEER_PATH, { method: 'POST', headers, body: await text(message) })
        response.writeHead(504).end('too late')
      })()
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = proxy.address() as AddressInfo
      await using two = await pair({ address: `http://127.0.0.1:${port}` }, false)
      url = two.owner.url
      await eventually(async () => {
        const name = await two.setFar()
        const before = two.appended()
        const { status, body } = await two.asker.call('DELETE', `/v1/timers/remind/${name}`)
        // Until the address is known it goes by the inbox.
        if (two.appended() === before) expect([status, body.code]).toEqual([503, 'owner-unreachable'])
        else expect(body.outcome).toBe('cancelled')
        expect(await two.forwards('unsure')).toBeGreaterThan(0)
      })
    } finally {
      proxy.close()
    }
  })

  it('asks nobody when forwarding is off', async () => {
    await using two = await pair({ forwarding: false }, false)
    const name = await two.setFar()
    expect((await two.asker.call('DELETE', `/v1/timers/remind/${name}`)).body.outcome).toBe('cancelled')
    expect(two.appended()).toBe(1)
    expect((await two.owner.call('POST', PEER_PATH, {})).status).toBe(404)
  })
})

describe('what instances say to each other', () => {
  it('is heard only when it is signed, meant for this one, in time, and the first of its id', async () => {
    await using two = await pair()
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

  it('is refused to strangers before any of it is read', async () => {
    await using two = await pair()
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
            asked.setTimeout(3000, () => asked.destroy(new Error('it waits for the rest')))
            asked.write('the beginning')
          }),
      ),
    )
    expect(answers).toEqual([401, 401])
  })

  it('is signed by a secret that all who start at once agree on, and that no answer shows', async () => {
    const store = new MemoryStore()
    const secrets = await Promise.all([ClusterSecret.of(store), ClusterSecret.of(store)])
    expect(secrets[0].signatureOf('ask', 'a')).toBe(secrets[1].signatureOf('ask', 'a'))
    const [setting] = await store.settings('cluster/secret')
    expect(Buffer.from(setting!.value, 'base64')).toHaveLength(32)
    await using served = await Served.start({ store, auth: false })
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

describe('the way to an instance that takes connections and says nothing', () => {
  const silent = async (scheme: string, timeoutMs: number) => {
    const sockets = new Set<Socket>()
    const hole = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined))
    })
    await new Promise<void>((resolve) => hole.listen(0, '127.0.0.1', resolve))
    const secret = await ClusterSecret.of(new MemoryStore())
    const peers = new HttpPeers({ secret, clock: systemClock, timeoutMs, onAsked: () => undefined })
    const { port } = hole.address() as AddressInfo
    const member = { id: 'one', address: `${scheme}://127.0.0.1:${port}` }
    const ask = () => peers.ask(member, { shard: 0, deadline: Date.now() + 5000, operations: [] })
    return {
      ask,
      async [Symbol.asyncDispose]() {
        await peers.stop()
        for (const socket of sockets) socket.destroy()
        hole.close()
      },
    }
  }

  it('is waited for no longer, however many messages wait for a connection', async () => {
    await using one = await silent('http', 300)
    const began = systemClock.monotonic()
    const answers = await Promise.all(Array.from({ length: 100 }, one.ask))
    expect(systemClock.monotonic() - began).toBeLessThan(900)
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['unsure']))
  })

  it('is not tried again and again where not even a connection comes about', async () => {
    await using one = await silent('https', 10_000)
    expect(await one.ask()).toEqual({ outcome: 'not-done' })
    const began = systemClock.monotonic()
    expect(await one.ask()).toEqual({ outcome: 'not-done' })
    expect(systemClock.monotonic() - began).toBeLessThan(1000)
  })
})
