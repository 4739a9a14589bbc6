import { createServer, type Server as TcpServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { Server } from '../../src/server/index.js'
import { TestServer } from './test-server.js'

let holder: TcpServer | undefined

afterEach(() => {
  holder?.close()
  holder = undefined
})

/** A port that another program has. */
async function busyPort(): Promise<number> {
  const held = (holder = createServer())
  await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve))
  return (held.address() as { port: number }).port
}

/** The store, but the write of a target waits until `release` is called. */
function withHeldTarget(store: Store) {
  let release = (): void => undefined
  let arrive = (): void => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  const reached = new Promise<void>((resolve) => (arrive = resolve))
  const held = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'putSetting') return value.bind(target) as unknown
      return async (...given: unknown[]) => {
        if (String(given[0]).startsWith('target/')) {
          arrive()
          await gate
        }
        return (await value.apply(target, given)) as unknown
      }
    },
  })
  return { store: held, release, reached }
}

describe('the first start of a server', () => {
  it('changes nothing in the store if the port is busy, so the next start prints the first key', async () => {
    const store = new MemoryStore({ shardCount: 4 })
    const starting = TestServer.start({ store, port: await busyPort() })
    await expect(starting).rejects.toMatchObject({ code: 'port-busy' })
    expect(await store.settings('api-key/')).toEqual([])
    expect((await store.shards()).map(({ epoch }) => epoch)).toEqual([0, 0, 0, 0])
    await using second = await TestServer.start({ store })
    expect(second.token).toMatch(/^ck_/)
    expect((await second.call('GET', '/v1/keys')).status).toBe(200)
  })

  it('makes one first key when three servers start at once on one store', async () => {
    const store = new MemoryStore({ shardCount: 4 })
    const started = await Promise.all([1, 2, 3].map(() => TestServer.start({ store })))
    const tokens = started.map(({ token }) => token).filter((token) => token !== '')
    expect(tokens).toHaveLength(1)
    expect(await store.settings('api-key/')).toHaveLength(1)
    // The other two accept it at once.
    for (const { url } of started) {
      const headers = { authorization: `Bearer ${tokens[0]}` }
      expect((await fetch(`${url}/v1/keys`, { headers })).status).toBe(200)
    }
    await Promise.all(started.map(({ server }) => server.stop()))
  })

  it('makes another first key once every key is revoked, and the old one stays invalid', async () => {
    const store = new MemoryStore({ shardCount: 4 })
    const first = await TestServer.start({ store })
    await first.server.keys.revoke(first.server.keys.all[0]!.id)
    await first.server.stop()
    await using second = await TestServer.start({ store })
    expect(second.token).toMatch(/^ck_/)
    expect(second.token).not.toBe(first.token)
    const headers = { authorization: `Bearer ${first.token}` }
    expect((await fetch(`${second.url}/v1/keys`, { headers })).status).toBe(401)
  })

  it('answers 503 with Retry-After while it starts, and says in /readyz that it is starting', async () => {
    const { store, release, reached } = withHeldTarget(new MemoryStore({ shardCount: 4 }))
    const port = await busyPort()
    holder?.close()
    const starting = Server.start({ store, port, auth: false })
    // A new store gets the target of kind `hello` while the server starts.
    await reached
    const url = `http://127.0.0.1:${port}`
    const early = await fetch(`${url}/v1/kinds`)
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await early.json()).toMatchObject({ code: 'starting' })
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const ready = await fetch(`${url}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([503, { faults: ['this instance is starting'] }])
    release()
    const server = await starting
    expect((await fetch(`${url}/v1/kinds`)).status).toBe(200)
    await server.stop()
  })
})
