import { afterAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/index.js'
import { checkServer } from '../../../src/store/redis/format.js'
import { parseRedisUrl } from '../../../src/store/redis/net/redis-url.js'
import { loadDriver } from '../../../src/store/redis/net/driver.js'
import { freePorts } from '../../servers/free-ports.js'
import { startOwnRedis } from '../../servers/redis.js'
import { prefixOf, withNewPrefix } from './prefix.js'
import { own, setOf } from '../owner.js'
import { openAt } from './open-at.js'

const server = await startOwnRedis()
afterAll(() => server.stop())

describe('opening a Redis store', () => {
  it('is rejected when the server is unreachable', async () => {
    const [port] = await freePorts(1)
    await expect(openAt(`redis://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(new RegExp(`127.0.0.1:${port}.*ECONNREFUSED`)) as unknown,
    })
    await expect(openAt(`redis://no-such-host.invalid:${port}`)).rejects.toMatchObject({
      code: 'store-unavailable',
    })
  })

  it('is rejected with a wrong password, which the error does not contain', async () => {
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

  it('is rejected on a server that evicts keys, unless the URL allows it', async () => {
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

  it('is rejected on a server without an append-only file, unless the URL allows it', async () => {
    const volatile = await startOwnRedis(['--appendonly', 'no'])
    try {
      await expect(openAt(volatile.url)).rejects.toMatchObject({ code: 'store-volatile' })
      await openAt(`${volatile.url}?allow=eviction,no-aof`)
    } finally {
      await volatile.stop()
    }
  })

  it.each([
    ['appendfsync', 'no', 'no-fsync'],
    ['no-appendfsync-on-rewrite', 'yes', 'no-fsync-on-rewrite'],
  ])('is rejected on a server with %s %s, unless the URL allows it', async (name, value, allowance) => {
    const unsafe = await startOwnRedis([`--${name}`, value])
    try {
      await expect(openAt(unsafe.url)).rejects.toMatchObject({
        code: 'store-volatile',
        message: expect.stringMatching(new RegExp(`${name} ${value}.*\\?allow=${allowance}`)) as unknown,
      })
      await openAt(`${unsafe.url}?allow=${allowance}`)
      // Without a file there is nothing to flush.
      unsafe.process.cli('config', 'set', 'appendonly', 'no')
      await openAt(`${unsafe.url}?allow=no-aof`)
    } finally {
      await unsafe.stop()
    }
  })

  it('is rejected on a server older than Redis 7', () => {
    const target = parseRedisUrl(server.url)
    const info = server.process.cli('info')
    expect(() => checkServer({ info, flushing: undefined }, target)).not.toThrow()
    const old = info.replace(/redis_version:\S+/, 'redis_version:6.2.14')
    expect(() => checkServer({ info: old, flushing: undefined }, target)).toThrow(
      expect.objectContaining({ code: 'store-older' }) as Error,
    )
  })

  it('is rejected with several servers that are not a cluster', async () => {
    const host = server.url.slice('redis://'.length)
    await expect(openAt(`redis://${host},${host}`)).rejects.toMatchObject({ code: 'invalid-store-url' })
  })

  it('is rejected when the store was made for another strategy', async () => {
    const url = withNewPrefix(server.url)
    expect((await openAt(url, { strategy: 'claim' })).mode).toBe('claim')
    await expect(openAt(url, { strategy: 'owned' })).rejects.toMatchObject({ code: 'wrong-strategy' })
    expect((await openAt(url)).mode).toBe('claim')
  })

  it('is rejected when the layout is newer, or the key holds something else', async () => {
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

  it('is rejected without the driver, and the error says how to install it', async () => {
    // What version 4 exports. Version 5.0 has no RESP_TYPES either.
    const old = () => loadDriver(() => Promise.resolve({ createClient: () => undefined }))
    await expect(openAt(server.url, { loadDriver: old })).rejects.toMatchObject({
      code: 'driver-unsupported',
      message: expect.stringContaining('5.1 or later') as unknown,
    })
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
  ])('is rejected with the invalid URL %j, and the error has examples', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({
      code: 'invalid-store-url',
      message: expect.stringContaining('redis://a:7000,b:7000') as unknown,
    })
  })

  it('hides the password of an invalid URL in the error', async () => {
    const error: unknown = await openStore('redis://me:sesame@host:0').catch((reason: unknown) => reason)
    expect(String(error)).not.toContain('sesame')
  })

  it('is rejected with an unknown or invalid option', async () => {
    await expect(openAt(server.url, { shards: 1 } as object)).rejects.toMatchObject({
      code: 'unknown-option',
    })
    await expect(openAt(server.url, { shardCount: 0 })).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

describe('a Redis store', () => {
  it('opens on a server that refuses CONFIG GET', async () => {
    const silent = await startOwnRedis(['--appendfsync', 'no', '--rename-command', 'CONFIG', ''])
    try {
      expect(await (await openAt(silent.url)).countRows()).toBe(0)
    } finally {
      await silent.stop()
    }
    server.process.cli('acl', 'setuser', 'guest', 'on', '>sesame', '~*', '&*', '+@all', '-config')
    const store = await openAt(server.url.replace('redis://', 'redis://guest:sesame@'))
    expect(await store.countRows()).toBe(0)
  })

  it('keeps the shard count it was created with, and is separated from others by its prefix', async () => {
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

  it("uses the server's clock", async () => {
    const store = await openAt(withNewPrefix(server.url))
    const [seconds] = server.process.cli('time').split('\n')
    expect(Math.abs((await store.now()) - Number(seconds) * 1000)).toBeLessThan(3000)
  })

  it('rejects a whole write when the server has no memory left, and continues when there is memory again', async () => {
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
