import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { shardOf } from '../../src/timer/index.js'
import { CliProcess } from '../cli/cli-process.js'
import { eventually } from '../eventually.js'
import { type PostgresServer, startPostgres } from '../servers/postgres.js'
import { startPair } from './server-pair.js'
import { TestServer } from './test-server.js'

interface Leased {
  readonly key: string
  readonly receipt: string
  readonly attempt: number
}

const engine = {
  acquireMs: 20,
  heartbeatMs: 20,
  leaseMs: 2000,
  leaseMarginMs: 200,
  requestTimeoutMs: 3000,
  stopMs: 200,
}

/** Shorter than the time after which an instance is asked again: only a report can end the wait. */
const WAIT_MS = 3500

/** Servers on one store, each of which owns shards, with the target `lease` for kind `work`. */
async function startServers(count: number, shardCount: number) {
  const store = new MemoryStore({ shardCount })
  const servers: TestServer[] = []
  for (let n = 0; n < count; n++) servers.push(await TestServer.start({ store, auth: false, engine }))
  const [first] = servers as [TestServer]
  expect((await first.call('PUT', '/v1/targets/work', { type: 'lease', duration: '1h' })).status).toBe(200)
  await eventually(async () => {
    const owners = new Set((await store.shards()).map(({ owner }) => owner))
    expect(owners.size).toBe(count)
    expect(owners).not.toContain('')
    // Every instance knows the others, and has read the target.
    for (const each of servers) {
      expect((await each.call('GET', '/v1/members')).body.members).toHaveLength(count)
      expect((await each.call('POST', '/v1/leases', { kinds: ['work'] })).status).toBe(200)
    }
  })
  return {
    store,
    servers,
    first,
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map(({ server }) => server.stop()))
    },
  }
}

async function lease(served: TestServer, max: number, waitMs: number): Promise<readonly Leased[]> {
  const { status, body } = await served.call('POST', '/v1/leases', { kinds: ['work'], max, waitMs })
  expect(status).toBe(200)
  return body.firings as Leased[]
}

async function setDue(served: TestServer, count: number, delay: string | number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, (_, n) => `k${n}`)
  const rows = keys.map((key) => ({ kind: 'work', key, in: delay }))
  expect((await served.call('POST', '/v1/batch', rows)).status).toBe(200)
  return keys
}

describe('a worker that asks one of three instances', () => {
  it('gets the firings of all shards, each once, and can ack them there', async () => {
    await using three = await startServers(3, 9)
    const keys = await setDue(three.first, 60, 0)
    const got: Leased[] = []
    while (got.length < keys.length) {
      const firings = await lease(three.first, 7, 20_000)
      // An empty answer means that nothing more came in 20 s.
      expect(firings).not.toEqual([])
      expect(firings.length).toBeLessThanOrEqual(7)
      got.push(...firings)
    }
    expect(got.map(({ key }) => key).toSorted()).toEqual([...keys].toSorted())
    expect(got.every(({ attempt }) => attempt === 1)).toBe(true)
    const acks = got.map(({ receipt }) => ({ do: 'ack', receipt }))
    const answers = (await three.first.call('POST', '/v1/leases/batch', acks)).body as { outcome: string }[]
    expect(answers.every(({ outcome }) => outcome === 'acked')).toBe(true)
    expect(await lease(three.first, 7, 0)).toEqual([])
  })

  it('is woken when a timer of another instance falls due while it waits', async () => {
    await using three = await startServers(3, 9)
    const [, second] = three.servers as [TestServer, TestServer]
    const self = (await second.call('GET', '/v1/members')).body.self as string
    const shards = (await three.store.shards()).filter(({ owner }) => owner === self)
    const isThere = (key: string): boolean => {
      const shard = shardOf({ namespace: 'default', kind: 'work', key }, 9)
      return shards.some((row) => row.shard === shard)
    }
    const key = Array.from({ length: 1000 }, (_, n) => `w${n}`).find(isThere)!
    const waiting = lease(three.first, 1, WAIT_MS)
    await second.call('PUT', `/v1/timers/work/${key}`, { in: '200ms' })
    expect(await waiting).toMatchObject([{ key, attempt: 1 }])
  })

  it('does not take more than it asked for, and leaves the rest to others', async () => {
    await using three = await startServers(3, 9)
    await setDue(three.first, 30, 0)
    const [, second, third] = three.servers as [TestServer, TestServer, TestServer]
    const taken = await Promise.all([
      lease(three.first, 10, 20_000),
      lease(second, 10, 20_000),
      lease(third, 10, 20_000),
    ])
    let got = taken.flat().length
    for (const firings of taken) expect(firings.length).toBeLessThanOrEqual(10)
    while (got < 30) {
      const firings = await lease(third, 10, 20_000)
      expect(firings).not.toEqual([])
      got += firings.length
    }
    expect(got).toBe(30)
  })

  it('gets nothing of another namespace', async () => {
    await using three = await startServers(2, 4)
    await setDue(three.first, 8, 0)
    const headers = { 'carillon-namespace': 'other' }
    await three.first.call('PUT', '/v1/targets/work', { type: 'lease' }, headers)
    const asked = { kinds: ['work'], max: 8, waitMs: 300 }
    const { body } = await three.first.call('POST', '/v1/leases', asked, headers)
    expect(body.firings).toEqual([])
  })

  it('still gets the firings of its own instance while another cannot be reached', async () => {
    await using two = await startPair({ address: 'http://127.0.0.1:1', engine }, false)
    await two.setFar()
    await two.owner.call('PUT', '/v1/targets/remind', { type: 'lease', duration: '1h' })
    const name = two.key()
    await two.owner.call('PUT', `/v1/timers/remind/${name}`, { in: 0 })
    const { body } = await two.owner.call('POST', '/v1/leases', { kinds: ['remind'], waitMs: 10_000 })
    expect(body.firings).toMatchObject([{ key: name }])
    // It may not have read the target yet.
    await eventually(async () => {
      const empty = await two.other.call('POST', '/v1/leases', { kinds: ['remind'], waitMs: 100 })
      expect([empty.status, empty.body.firings]).toEqual([200, []])
    })
  })
})

describe('a worker that asks one of three server processes on PostgreSQL', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  it('gets the firings of all shards', async () => {
    const args = [
      'serve',
      '--store',
      `${postgres.url}?schema=lease_anywhere`,
      '--port',
      '0',
      '--auth',
      'false',
    ]
    await using one = new CliProcess(args)
    await one.waitForOutput(/curl .*\n/)
    await using two = new CliProcess(args)
    await using three = new CliProcess(args)
    const urls = await Promise.all(
      [one, two, three].map(async (each) => {
        await each.waitForOutput(/curl .*\n/)
        return /http:\/\/\S+/.exec(each.out)![0]
      }),
    )
    const [url] = urls
    const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
      const answer = await fetch(url + path, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      expect(answer.status).toBe(200)
      return await answer.json()
    }
    await call('PUT', '/v1/targets/work', { type: 'lease', duration: '1h' })
    await eventually(async () => {
      const { shards } = (await call('GET', '/v1/shards')) as { shards: { owner: string }[] }
      expect(new Set(shards.map(({ owner }) => owner)).size).toBe(3)
    }, 30_000)
    const keys = Array.from({ length: 60 }, (_, n) => `k${n}`)
    await call(
      'POST',
      '/v1/batch',
      keys.map((key) => ({ kind: 'work', key, in: 0 })),
    )
    const got: Leased[] = []
    while (got.length < keys.length) {
      const asked = { kinds: ['work'], max: 10, waitMs: 20_000 }
      const { firings } = (await call('POST', '/v1/leases', asked)) as { firings: Leased[] }
      expect(firings).not.toEqual([])
      got.push(...firings)
    }
    expect(got.map(({ key }) => key).toSorted()).toEqual([...keys].toSorted())
  }, 90_000)
})
