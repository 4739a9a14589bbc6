import { afterAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/index.js'
import { checkServer } from '../../../src/store/redis/format.js'
import { parseRedisUrl } from '../../../src/store/redis/redis-url.js'
import { loadDriver } from '../../../src/store/redis/driver.js'
import { freePorts } from '../../servers/free-ports.js'
import { startOwnRedis } from '../../servers/redis.js'
import { prefixOf, withNewPrefix } from './prefix.js'
import { own, setOf } from '../owner.js'
import { openAt } from './scratch.js'

const server = await startOwnRedis()
afterAll(() => server.stop())

describe('a Redis store is not opened', () => {
  it('on a server that is away', async () => {
    const [port] = await freePorts(1)
    await expect(openAt(`redis://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(new RegExp(`127.0.0.1:${port}.*ECONNREFUSED`)) as unknown,
    })
    await expect(openAt(`redis://no-such-host.invalid:${port}`)).rejects.toMatchObject({
      code: 'store-unavailable',
    })
  })

  it('with a wrong password, which is not told', async () => {
    const locked = await startOwnRedis(['--requirepass', 'sesame'])
    try {
      const host = locked.url.slice('redis://'.length)
      for (const login of [':wrong-secret@', 'nobody:wrong-secret@', '']) {
        const error: unknown = await openAt(`redis://${login}${host}`).catch((reason: unknown) => reason)
        expect(error).toMatchObject({ code: 'store-denied' })
        expect(String(error)).not.toContain('wrong-secret')
      }
      const store = await openAt(`redis://:sesame@${host}`)
      expect(await store.countRows()).toBe(0)
    } finally {
      await locked.stop()
    }
  })

  it('on a server that throws keys away, unless it is allowed', async () => {
    const evicting = await startOwnRedis(['--maxmemory-policy', 'allkeys-lru'])
    try {
      await expect(openAt(evicting.url)).rejects.toMatchObject({
        code: 'store-evicting',
        message: expect.stringContaining('allkeys-lru') as unknown,
      })
      await openAt(`${evicting.url}?allow=eviction`)
    } finally {
      await evicting.stop()
    }
  })

  it('on a server without an append-only file, unless it is allowed', async () => {
    const volatile = await startOwnRedis(['--appendonly', 'no'])
    try {
      await expect(openAt(volatile.url)).rejects.toMatchObject({ code: 'store-volatile' })
      await openAt(`${volatile.url}?allow=eviction,no-aof`)
    } finally {
      await volatile.stop()
    }
  })

  it('on a server that is too old', () => {
    const target = parseRedisUrl(server.url)
    const info = server.process.cli('info')
    expect(() => checkServer(info, target)).not.toThrow()
    const old = info.replace(/redis_version:\S+/, 'redis_version:6.2.14')
    expect(() => checkServer(old, target)).toThrow(expect.objectContaining({ code: 'store-older' }) as Error)
  })

  it('on several servers that are no cluster', async () => {
    const host = server.url.slice('redis://'.length)
    await expect(openAt(`redis://${host},${host}`)).rejects.toMatchObject({ code: 'invalid-store-url' })
  })

  it('that was made for another strategy', async () => {
    const url = withNewPrefix(server.url)
    expect((await openAt(url, { strategy: 'claim' })).strategy).toBe('claim')
    await expect(openAt(url, { strategy: 'owned' })).rejects.toMatchObject({ code: 'wrong-strategy' })
    expect((await openAt(url)).strategy).toBe('claim')
  })

  it('of a newer layout, or of something else', async () => {
    const url = withNewPrefix(server.url)
    const key = `{${prefixOf(url)}}`
    await openAt(url)
    server.process.cli('hset', key, 'version', '4')
    await expect(openAt(url)).rejects.toMatchObject({ code: 'store-newer' })
    server.process.cli('del', key)
    server.process.cli('set', key, 'something')
    await expect(openAt(url)).rejects.toMatchObject({ code: 'store-foreign' })
    server.process.cli('del', key)
    server.process.cli('hset', key, 'name', 'something')
    await expect(openAt(url)).rejects.toMatchObject({ code: 'store-foreign' })
  })

  it('without its driver, which the message tells how to install', async () => {
    const missing = () => loadDriver(() => Promise.reject(new Error('Cannot find package')))
    await expect(openAt(server.url, { loadDriver: missing })).rejects.toMatchObject({
      code: 'driver-missing',
      message: expect.stringContaining('npm install redis') as unknown,
    })
  })

  it.each([
    'redis:',
    'redis://',
    'redis://?prefix=a',
    'redis://host:0',
    'redis://host:99999',
    'redis://a:1,,b:2',
    'redis://host/x',
    'redis://host?cluster=true',
    'redis://host?prefix=a{b}',
    'redis://host?wait=-1',
    'redis://host?waitMs=60000',
    'redis://host?shards=0',
    'redis://host?shards=4097',
    'redis://host?allow=anything',
    'redis://user:%zz@host',
  ])('by the URL %j, with examples', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({
      code: 'invalid-store-url',
      message: expect.stringContaining('redis://a:7000,b:7000') as unknown,
    })
  })

  it('by a wrong URL in which a password could be read', async () => {
    const error: unknown = await openStore('redis://me:sesame@host:0').catch((reason: unknown) => reason)
    expect(String(error)).not.toContain('sesame')
  })

  it('with options it does not know', async () => {
    await expect(openAt(server.url, { shards: 1 } as object)).rejects.toMatchObject({
      code: 'unknown-option',
    })
    await expect(openAt(server.url, { shardCount: 0 })).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

describe('a Redis store', () => {
  it('is opened by its URL, keeps the number of shards it was made with, and is kept apart by its prefix', async () => {
    const url = withNewPrefix(server.url)
    const first = await openStore(url, { shardCount: 3 })
    const second = await openStore(url, { shardCount: 9 })
    expect([first.name, first.shardCount, second.shardCount]).toEqual(['redis', 3, 3])
    const other = await openStore(withNewPrefix(server.url))
    expect(other.shardCount).toBe(16)
    const few = withNewPrefix(`${server.url}?shards=5`)
    const third = await openStore(few)
    expect([third.shardCount, (await third.shards()).length]).toEqual([5, 5])
    await first.putSetting('a', 'b')
    expect(await second.settings('')).toHaveLength(1)
    expect(await other.settings('')).toHaveLength(0)
    await Promise.all([first, second, other, third].map((store) => store.stop()))
  })

  it("goes by the server's clock", async () => {
    const store = await openAt(withNewPrefix(server.url))
    const [seconds] = server.process.cli('time').split('\n')
    expect(Math.abs((await store.now()) - Number(seconds) * 1000)).toBeLessThan(3000)
  })

  it('whose server has no memory left refuses a write whole, and goes on when there is room', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const write = (key: string) => store.write(fence, { operations: [setOf(key, 1), setOf(`${key}-2`, 2)] })
    await write('before')
    server.process.cli('config', 'set', 'maxmemory', '1mb')
    await expect(write('full')).rejects.toMatchObject({ code: 'store-full' })
    server.process.cli('config', 'set', 'maxmemory', '0')
    expect(await store.countRows()).toBe(2)
    expect((await store.counts()).created).toBe(2)
    await write('after')
    expect(await store.countRows()).toBe(4)
  })
})
