import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreError } from '../../../src/error/index.js'
import type { Fence } from '../../../src/store/index.js'
import { slotOf } from '../../../src/store/redis/net/slot.js'
import { shardOf } from '../../../src/timer/index.js'
import { until } from '../../eventually.js'
import { freePorts } from '../../servers/free-ports.js'
import { RedisClusterServer } from '../../servers/redis-cluster.js'
import type { RedisProcess } from '../../servers/redis-process.js'
import { withNewPrefix } from './prefix.js'
import { own, setOf } from '../owner.js'
import { openAt } from './open-at.js'

const SHARDS = 12
const cluster = await RedisClusterServer.start()
beforeAll(() => cluster.replicasOnline())
afterAll(() => cluster.stop())

describe('slotOf', () => {
  it('computes the same slots as the server', () => {
    const node = cluster.nodes[0]!
    for (const key of ['a', '{carillon:7}:p:1', 'x{}y', '{a}{b}', 'foo{bar', 'é{ü}']) {
      expect([key, slotOf(key)]).toEqual([key, Number(node.cli('cluster', 'keyslot', key))])
    }
  })
})

describe('a Redis store on a cluster', () => {
  it('opens through a seed that responds when another does not', async () => {
    const [unusedPort] = await freePorts(1)
    const url = withNewPrefix(cluster.url.replace('redis://', `redis://127.0.0.1:${unusedPort},`))
    const store = await openAt(url, { shardCount: SHARDS })
    expect(await store.countRows()).toBe(0)
  })
})

describe('a Redis master that hands over to its replica', () => {
  it('loses no write, and the store follows the redirection', async () => {
    const url = withNewPrefix(cluster.url)
    const store = await openAt(url, { shardCount: SHARDS })
    const writer = await Writer.open(store)
    await writer.write(60)
    const replica = cluster.nodes.find((node) => node.cli('role').startsWith('slave'))!
    let handedOver = false
    const writing = writer.writeUntil(() => handedOver)
    await cluster.handOverTo(replica).finally(() => (handedOver = true))
    await writing
    await cluster.served(3)
    await writer.write(60)
    expect(await writer.missing()).toEqual([])
    expect(writer.failures).toEqual([])
    expect(replica.cli('role')).toMatch(/^master/)
  })
})

describe('a Redis master that is killed', () => {
  it('is replaced by its replica, which with ?wait=1 has all acknowledged writes', async () => {
    await cluster.replicasOnline()
    const url = withNewPrefix(`${cluster.url}?wait=1&waitMs=2000`)
    const store = await openAt(url, { shardCount: SHARDS })
    const woken: number[] = []
    store.onWake((shard) => woken.push(shard))
    const writer = await Writer.open(store)
    await writer.write(120)
    const [victim] = cluster.masters()
    const before = writer.acknowledged.length
    const writing = writer.writeUntil(() => writer.acknowledged.length > before + 50)
    await sleep(50)
    await victim!.end('SIGKILL')
    await writing
    await cluster.served(3)
    // The store finds the new master without a redirection.
    expect(await store.countRows()).toBeGreaterThanOrEqual(writer.acknowledged.length)
    // The new master has no replica yet, so it acknowledges nothing until the old one is back.
    await victim!.resume()
    await until('every master to have a replica', () => cluster.masters().every(hasReplica), 30_000)
    await writer.refenceAll()
    await writer.write(120)
    expect(await writer.missing()).toEqual([])
    expect(writer.acknowledged.length).toBeGreaterThan(240)
    store.wake(5)
    await until('the wake-up to arrive', () => woken.includes(5), 30_000)
  })
})

/** An owner of every shard that writes timers and remembers which were acknowledged. */
class Writer {
  readonly acknowledged: string[] = []
  readonly failures: string[] = []
  readonly #store: Awaited<ReturnType<typeof openAt>>
  #fences: Fence[] = []
  #keys = 0

  private constructor(store: Awaited<ReturnType<typeof openAt>>) {
    this.#store = store
  }

  static async open(store: Awaited<ReturnType<typeof openAt>>): Promise<Writer> {
    const writer = new Writer(store)
    for (let shard = 0; shard < SHARDS; shard++) writer.#fences.push(await own(store, shard))
    return writer
  }

  /** Writes `count` timers. Reretries each one after store-unavailable and unknown-outcome. */
  async write(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const key = `key-${++this.#keys}`
      for (let retries = 0; !(await this.#try(key)); retries++) {
        if (retries > 600) throw new Error(`${key} could not be written for a minute`)
        await sleep(100)
      }
    }
  }

  /** Keeps writing until the condition holds. Failures do not matter. */
  async writeUntil(isDone: () => boolean): Promise<void> {
    const end = Date.now() + 60_000
    while (!isDone()) {
      if (Date.now() > end) throw new Error('the condition did not hold within a minute')
      if (!(await this.#try(`key-${++this.#keys}`))) await sleep(20)
    }
  }

  /** Raises the epoch of every shard, as an owner does after unknown outcomes. */
  async refenceAll(): Promise<void> {
    for (const [shard, fence] of this.#fences.entries()) {
      const row = await this.#store.refence(fence, 1_000_000 + shard, 1e9)
      this.#fences[shard] = { ...fence, epoch: row.epoch, nonce: row.nonce }
    }
  }

  async missing(): Promise<string[]> {
    const names = this.acknowledged.map((key) => ({ namespace: 'test', kind: 'sample', key }))
    const found = await this.#store.find(names)
    return this.acknowledged.filter((_, index) => found[index] === undefined)
  }

  async #try(key: string): Promise<boolean> {
    const set = setOf(key, 1_000_000)
    const fence = this.#fences[shardOf(set, SHARDS)]!
    try {
      await this.#store.write(fence, { operations: [set] })
      this.acknowledged.push(key)
      return true
    } catch (error) {
      const code = error instanceof StoreError ? error.code : ''
      if (code !== 'unknown-outcome' && code !== 'store-unavailable') throw error
      this.failures.push(String(error))
      return false
    }
  }
}

function hasReplica(node: RedisProcess): boolean {
  return /slave0:.*state=online/.test(node.cli('info', 'replication'))
}
