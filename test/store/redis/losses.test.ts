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
import { openAt } from './open-at.js'

const server = await startOwnRedis()
const proxy = await TcpProxy.to(server.process.port)
afterAll(async () => {
  await proxy.stop()
  await server.stop()
})

const proxied = `redis://127.0.0.1:${proxy.port}`

describe('a Redis store that loses its connection', () => {
  it('rejects a write that was sent with unknown-outcome, and sends it only once', async () => {
    const url = withNewPrefix(proxied)
    const store = await openAt(url)
    const direct = await openAt(url.replace(proxied, server.url))
    const fence = await own(store)
    // The server has the script from now on, so the next write is a single command.
    await store.write(fence, { operations: [setOf('first', 1000)] })
    proxy.cutAtAnswer()
    const set = setOf('lost', 1000)
    await expect(store.write(fence, { operations: [set] })).rejects.toMatchObject({ code: 'unknown-outcome' })
    proxy.open()
    expect(await direct.countRows()).toBe(2)
    // Rule 5: the owner raises its epoch and sends the write again under the same identity.
    const { epoch, nonce } = await eventually(() => store.refence(fence, 4711, 1000))
    const again = await store.write({ ...fence, epoch, nonce }, { operations: [set] })
    expect(again.answers[0]!.outcome).toBe('same')
    expect(await direct.countRows()).toBe(2)
  })

  it('rejects a write that was not sent with store-unavailable, and continues after it reconnects', async () => {
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

  it('stops while its server is unreachable', async () => {
    const store = await openAt(withNewPrefix(proxied))
    proxy.close()
    await store.stop()
    proxy.open()
    await expect(store.now()).rejects.toMatchObject({ code: 'stopped' })
  })

  it('wakes every shard after it reconnects, and receives wake-ups again', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url, { shardCount: 3 })
    const other = await openAt(url)
    const woken: number[] = []
    store.onWake((shard) => woken.push(shard))
    server.process.cli('client', 'kill', 'type', 'pubsub')
    await until('every shard to be woken', () => woken.length >= 3, 10_000)
    expect(new Set(woken)).toEqual(new Set([0, 1, 2]))
    woken.length = 0
    other.wake(2)
    await until('the wake-up to arrive', () => woken.length > 0, 10_000)
    expect(woken).toEqual([2])
  })

  it('gives up on a hung server with unknown-outcome', async () => {
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
  it('still has every acknowledged timer after a restart', async () => {
    // With everysec, Redis delays writing while a flush is slow. A kill can then lose up to two seconds.
    const killed = await startOwnRedis(['--appendfsync', 'always'])
    try {
      const store = await openAt(killed.url)
      const fence = await own(store)
      const acknowledged: string[] = []
      const writing = (async () => {
        for (let index = 0; ; index++) {
          const key = `key-${index}`
          const { answers } = await store.write(fence, { operations: [setOf(key, 1000 + index)] })
          if (answers[0]!.outcome === 'set') acknowledged.push(key)
        }
      })().catch((error: unknown) => error)
      await until('300 acknowledged writes', () => acknowledged.length > 300, 10_000)
      await killed.process.end('SIGKILL')
      expect(await writing).toMatchObject({
        code: expect.stringMatching(/unknown-outcome|store-unavailable/) as unknown,
      })
      await expect(store.counts()).rejects.toMatchObject({ code: 'store-unavailable' })
      await killed.process.resume()
      const names = acknowledged.map((key) => ({ namespace: 'test', kind: 'sample', key }))
      const found = await eventually(() => store.find(names))
      expect(found.filter((row) => row === undefined)).toHaveLength(0)
    } finally {
      await killed.stop()
    }
  })

  it('is rejected by the fence when it restarts with an older state', async () => {
    const old = await startOwnRedis()
    try {
      const store = await openAt(old.url)
      const { readLevel: from, ...fence } = await own(store)
      const aof = path.join(old.process.folder, 'appendonlydir')
      const copy = path.join(old.process.folder, 'copy')
      cpSync(aof, copy, { recursive: true })
      const now = Math.floor(await store.now())
      await store.load(fence, { from, untilExclusive: now - 1000, limit: 10, limitBytes: 1000 })
      const level = levelAt(now - 1000)
      const settlement = { id: 1, level, settledCount: 0, done: [], followUps: [], dead: [], history: [] }
      await store.settle(fence, settlement)
      const newer = { ...fence, settledLevel: level }
      await store.write(newer, { operations: [setOf('gone', now)] })
      await old.process.end('SIGKILL')
      rmSync(aof, { recursive: true })
      cpSync(copy, aof, { recursive: true })
      await old.process.resume()
      await eventually(() => store.now())
      await expect(store.write(newer, { operations: [setOf('late', now)] })).rejects.toMatchObject({
        code: 'fenced',
        message: expect.stringContaining('went back in time') as unknown,
      })
      expect(await store.countRows()).toBe(0)
    } finally {
      await old.stop()
    }
  })
})

describe('a Redis store opened with ?wait=1', () => {
  it('does not acknowledge a write that no replica has', async () => {
    const store = await openAt(withNewPrefix(`${server.url}?wait=1&waitMs=50`)).catch(
      (error: unknown) => error,
    )
    // Creating the store is a write, too.
    expect(store).toMatchObject({
      code: 'unknown-outcome',
      message: expect.stringContaining('0 of 1 replicas') as unknown,
    })
  })

  it('acknowledges a write that a replica has', async () => {
    const replica = await startOwnRedis(['--replicaof', `127.0.0.1 ${server.process.port}`])
    try {
      await until(
        'the replica to be connected',
        () => replica.process.cli('info', 'replication').includes('master_link_status:up'),
        10_000,
      )
      const url = withNewPrefix(`${server.url}?wait=1&waitMs=5000`)
      const store = await openAt(url)
      const fence = await own(store)
      await store.write(fence, { operations: [setOf('safe', 1000)] })
      const parts = `{${prefixOf(url)}:0}:parts3`
      expect(replica.process.cli('zcard', parts)).toBe('1')
      // A replica accepts no writes.
      await expect(openAt(`${replica.url}?prefix=other`)).rejects.toMatchObject({ code: 'store-unavailable' })
    } finally {
      await replica.stop()
    }
  })
})
