import { cpSync, rmSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { levelAt } from '../../../src/timer/index.js'
import { startOwnRedis } from '../../servers/redis.js'
import { eventually, until } from '../../eventually.js'
import { TcpProxy } from '../../servers/tcp-proxy.js'
import { prefixOf, withNewPrefix } from './prefix.js'
import { own, setOf } from '../owner.js'
import { openAt } from './scratch.js'

const server = await startOwnRedis()
const proxy = await TcpProxy.to(server.process.port)
afterAll(async () => {
  await proxy.stop()
  await server.stop()
})

const proxied = `redis://127.0.0.1:${proxy.port}`

describe('a Redis store that loses its connection', () => {
  it('says that the outcome of what was sent is unknown, and sends it once', async () => {
    const url = withNewPrefix(proxied)
    const store = await openAt(url)
    const direct = await openAt(url.replace(proxied, server.url))
    const fence = await own(store)
    // The server knows the script from now on: the next write is all it has to be sent.
    await store.write(fence, { operations: [setOf('first', 1000)] })
    proxy.cutAtAnswer()
    const set = setOf('lost', 1000)
    await expect(store.write(fence, { operations: [set] })).rejects.toMatchObject({ code: 'unknown-outcome' })
    proxy.open()
    expect(await direct.countRows()).toBe(2)
    // Rule 5: it raises its epoch, and sends it again under the same identity.
    const { epoch, nonce } = await eventually(() => store.refence(fence, 4711, 1000))
    const again = await store.write({ ...fence, epoch, nonce }, { operations: [set] })
    expect(again.answers[0]!.outcome).toBe('same')
    expect(await direct.countRows()).toBe(2)
  })

  it('says that nothing happened where nothing was sent, and goes on once it is back', async () => {
    const store = await openAt(withNewPrefix(proxied))
    const fence = await own(store)
    proxy.close()
    await sleep(20)
    const write = () => store.write(fence, { operations: [setOf('unsent', 1000)] })
    await expect(write()).rejects.toMatchObject({ code: 'store-unavailable' })
    await expect(store.now()).rejects.toMatchObject({ code: 'store-unavailable' })
    proxy.open()
    const { answers } = await eventually(write)
    expect(answers[0]!.outcome).toBe('set')
  })

  it('stops although its server is away', async () => {
    const store = await openAt(withNewPrefix(proxied))
    proxy.close()
    await store.stop()
    proxy.open()
    await expect(store.now()).rejects.toMatchObject({ code: 'stopped' })
  })

  it('tells those who listen to look at every shard, and hears wake-ups again', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url, { shardCount: 3 })
    const other = await openAt(url)
    const heard: number[] = []
    store.onWake((shard) => heard.push(shard))
    server.process.cli('client', 'kill', 'type', 'pubsub')
    await until('a look at every shard', () => heard.length >= 3, 10_000)
    expect(new Set(heard)).toEqual(new Set([0, 1, 2]))
    heard.length = 0
    other.wake(2)
    await until('the wake-up', () => heard.length > 0, 10_000)
    expect(heard).toEqual([2])
  })

  it('gives a hung server up, with an unknown outcome', async () => {
    const hung = await startOwnRedis()
    try {
      const store = await openAt(hung.url)
      const fence = await own(store)
      process.kill(hung.process.pid, 'SIGSTOP')
      const started = performance.now()
      const write = () => store.write(fence, { operations: [setOf('hung', 1000)] })
      await expect(write()).rejects.toMatchObject({ code: 'unknown-outcome' })
      expect(performance.now() - started).toBeLessThan(15_000)
      process.kill(hung.process.pid, 'SIGCONT')
      await eventually(write)
      expect(await store.countRows()).toBe(1)
    } finally {
      await hung.stop()
    }
  })
})

describe('a Redis server that is killed', () => {
  it('has every acknowledged timer when it is back', async () => {
    const own1 = await startOwnRedis()
    try {
      const store = await openAt(own1.url)
      const fence = await own(store)
      const acknowledged: string[] = []
      const writing = (async () => {
        for (let index = 0; ; index++) {
          const key = `key-${index}`
          const { answers } = await store.write(fence, { operations: [setOf(key, 1000 + index)] })
          if (answers[0]!.outcome === 'set') acknowledged.push(key)
        }
      })().catch((error: unknown) => error)
      await until('300 writes', () => acknowledged.length > 300, 10_000)
      await own1.process.end('SIGKILL')
      expect(await writing).toMatchObject({
        code: expect.stringMatching(/unknown-outcome|store-unavailable/) as unknown,
      })
      await expect(store.counts()).rejects.toMatchObject({ code: 'store-unavailable' })
      await own1.process.resume()
      const names = acknowledged.map((key) => ({ namespace: 'test', kind: 'sample', key }))
      const found = await eventually(() => store.find(names))
      expect(found.filter((row) => row === undefined)).toHaveLength(0)
    } finally {
      await own1.stop()
    }
  })

  it('and comes back with an older state is noticed by the fence', async () => {
    const old = await startOwnRedis()
    try {
      const store = await openAt(old.url)
      const { readLevel: from, ...fence } = await own(store)
      const aof = path.join(old.process.folder, 'appendonlydir')
      const copy = path.join(old.process.folder, 'copy')
      cpSync(aof, copy, { recursive: true })
      const now = await store.now()
      await store.load(fence, { from, untilExclusive: now - 1000, limit: 10, limitBytes: 1000 })
      const level = levelAt(now - 1000)
      const settlement = { id: 1, level, settledCount: 0, done: [], followUps: [], dead: [], history: [] }
      await store.settle(fence, settlement)
      const told = { ...fence, settledLevel: level }
      await store.write(told, { operations: [setOf('gone', now)] })
      await old.process.end('SIGKILL')
      rmSync(aof, { recursive: true })
      cpSync(copy, aof, { recursive: true })
      await old.process.resume()
      await eventually(() => store.now())
      await expect(store.write(told, { operations: [setOf('late', now)] })).rejects.toMatchObject({
        code: 'fenced',
        message: expect.stringContaining('went back in time') as unknown,
      })
      expect(await store.countRows()).toBe(0)
    } finally {
      await old.stop()
    }
  })
})

describe('?wait=1', () => {
  it('does not acknowledge what no replica has', async () => {
    const store = await openAt(withNewPrefix(`${server.url}?wait=1&waitMs=50`)).catch(
      (error: unknown) => error,
    )
    // Making the store is a write too.
    expect(store).toMatchObject({
      code: 'unknown-outcome',
      message: expect.stringContaining('0 of 1 replicas') as unknown,
    })
  })

  it('acknowledges what a replica has', async () => {
    const replica = await startOwnRedis(['--replicaof', `127.0.0.1 ${server.process.port}`])
    try {
      await until(
        'the replica',
        () => replica.process.cli('info', 'replication').includes('master_link_status:up'),
        10_000,
      )
      const url = withNewPrefix(`${server.url}?wait=1&waitMs=5000`)
      const store = await openAt(url)
      const fence = await own(store)
      await store.write(fence, { operations: [setOf('safe', 1000)] })
      const parts = `{${prefixOf(url)}:0}:parts3`
      expect(replica.process.cli('zcard', parts)).toBe('1')
      // A replica takes no writes.
      await expect(openAt(`${replica.url}?prefix=other`)).rejects.toMatchObject({ code: 'store-unavailable' })
    } finally {
      await replica.stop()
    }
  })
})
