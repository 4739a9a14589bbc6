import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/store/index.js'
import { startOwnRedis } from '../../servers/redis.js'
import { prefixOf, withNewPrefix } from './prefix.js'
import { own, setOf } from '../owner.js'
import { openAt } from './open-at.js'

const server = await startOwnRedis()
afterAll(() => server.stop())

describe('concurrent writes of one Redis shard', () => {
  it('are each accepted or rejected by their own fence', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const old = await own(store)
    const { epoch, nonce } = await store.refence(old, 4711, 1e9)
    const fences = [{ ...old, epoch, nonce }, old]
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, index) =>
        store.write(fences[index % 2], { operations: [setOf(`key-${index}`, 1000)] }),
      ),
    )
    expect(outcomes.map(({ status }) => status)).toEqual(
      outcomes.map((_, index) => (index % 2 === 0 ? 'fulfilled' : 'rejected')),
    )
    expect(await store.countRows()).toBe(100)
  })

  it('each get their own answers, and all history is kept', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, index) => {
        const set = setOf(`key-${index}`, 1000 + index)
        const operations = Array.from({ length: index % 4 }, (__, each) => ({
          ...set,
          key: `${set.key}-${each}`,
        }))
        const history = [
          {
            namespace: 'test',
            kind: 'sample',
            key: set.key,
            identity: 1,
            at: index,
            event: 'e',
            details: '',
          },
        ]
        return store.write(fence, { operations, history })
      }),
    )
    for (const [index, answer] of answers.entries()) {
      expect(answer.answers.map((each) => each.outcome === 'set' && each.place.position)).toEqual(
        Array.from({ length: index % 4 }, () => 1000 + index),
      )
    }
    const { items } = await store.history({ namespace: 'test', limit: 1000 })
    expect(items.map(({ at }) => at)).toEqual(answers.map((_, index) => index))
  })
})

/** Key, place and identity of these keys' rows. */
async function rowsOf(store: Store, keys: readonly string[]): Promise<unknown[]> {
  const rows = await store.find(keys.map((key) => ({ namespace: 'test', kind: 'sample', key })))
  return rows.map((row) => row && [row.key, row.position, row.revision, row.identity])
}

describe('plain sets on Redis', () => {
  it('have the revisions that their answers say, even if the predicted revision was wrong', async () => {
    const url = withNewPrefix(server.url)
    const [one, other] = [await openAt(url), await openAt(url)]
    const fence = await own(one)
    const keys: string[] = []
    const answered: unknown[] = []
    for (let round = 0; round < 6; round++) {
      // Two stores write in turn, and each knows only its own writes. Positions are never sorted.
      const store = round % 2 === 0 ? one : other
      const operations = Array.from({ length: 50 }, (_, index) =>
        setOf(`key-${round}-${index}`, 1000 + ((index * 37 + round) % 50), {
          details: index % 7 === 0 ? 'détails' : '',
          tags: index % 5 === 0 ? ['a', 'ü'] : [],
        }),
      )
      const { answers } = await store.write(fence, { operations })
      for (const [index, answer] of answers.entries()) {
        const { key, identity } = operations[index]!
        keys.push(key)
        answered.push(
          answer.outcome === 'set' && [key, answer.place.position, answer.place.revision, identity],
        )
      }
    }
    expect(await rowsOf(one, keys)).toEqual(answered)
    expect(answered.map((each) => (each as number[])[2])).toEqual(keys.map((_, index) => index + 1))
    const { items } = await one.list({ namespace: 'test', limit: 1000 })
    expect(items.map(({ position, revision }) => [position, revision])).toEqual(
      items
        .map(({ position, revision }) => [position, revision] as const)
        .toSorted((a, b) => a[0] - b[0] || a[1] - b[1]),
    )
    expect(items.length).toBe(300)
  })

  it('replace the timer of an existing name, and of a name that is twice in the call', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const first = [setOf('a', 1000), setOf('b', 1000), setOf('c', 1000)]
    await store.write(fence, { operations: first })
    const second = [setOf('d', 1000), setOf('b', 2000), setOf('e', 1000), setOf('e', 3000)]
    const { answers } = await store.write(fence, { operations: second })
    expect(answers).toMatchObject([
      { outcome: 'set', replaced: undefined },
      { outcome: 'set', replaced: { position: 1000, revision: 2, identity: first[1]!.identity } },
      { outcome: 'set', replaced: undefined },
      { outcome: 'set', replaced: { position: 1000, identity: second[2]!.identity } },
    ])
    // All names are new, but one is there twice. The first attempt to store them leaves nothing behind.
    const third = [setOf('x', 1000), setOf('y', 1000), setOf('x', 4000)]
    await store.write(fence, { operations: third })
    expect(await store.countRows()).toBe(7)
    expect(await rowsOf(store, ['b', 'e', 'x'])).toEqual([
      ['b', 2000, 5, second[1]!.identity],
      ['e', 3000, 7, second[3]!.identity],
      ['x', 4000, 10, third[2]!.identity],
    ])
  })

  it('that are due at the same instant are split into parts, and each is loaded once and can be found', async () => {
    const store = await openAt(withNewPrefix(server.url), { tuning: { partRows: 40 } })
    const fence = await own(store)
    const keys: string[] = []
    for (const count of [100, 1, 30, 1, 1, 60, 7]) {
      const operations = Array.from({ length: count }, () => setOf(randomUUID(), 1000))
      keys.push(...operations.map(({ key }) => key))
      await store.write(fence, { operations })
    }
    const revisions: number[] = []
    for (let from = { position: 0, revision: 0 }; revisions.length < 200;) {
      const { page, readLevel } = await store.load(fence, {
        from,
        untilExclusive: 2000,
        limit: 33,
        limitBytes: 1e9,
      })
      expect(page.size).toBeGreaterThan(0)
      revisions.push(...page.revisions)
      from = readLevel
    }
    expect(revisions).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    // A find looks each row up in the part of its place.
    const found = await store.find(keys.map((key) => ({ namespace: 'test', kind: 'sample', key })))
    expect(found.map((row) => row?.revision)).toEqual(revisions)
  })
})

describe('rows written in the order of time', () => {
  const partRows = 40
  const sizesOf = (url: string): number[] => {
    const prefix = prefixOf(url)
    const keys = server.process.cli('--scan', '--pattern', `*${prefix}*:p:*`).trim().split('\n')
    return keys.map((key) => Number(server.process.cli('hlen', key)))
  }
  const movesSoFar = (): number =>
    Number(/cmdstat_hdel:calls=(\d+)/.exec(server.process.cli('info', 'commandstats'))?.[1] ?? 0)
  const loadedBy = async (store: Store, fence: Awaited<ReturnType<typeof own>>): Promise<number[]> => {
    const { page } = await store.load(fence, {
      from: { position: 0, revision: 0 },
      untilExclusive: 1e9,
      limit: 10_000,
      limitBytes: 1e9,
    })
    return [...page.positions]
  }
  const setsAt = (positions: readonly number[]) => positions.map((at) => setOf(randomUUID(), at))

  it('are never moved between parts, and no part gets too large', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url, { shardCount: 1, tuning: { partRows } })
    const fence = await own(store)
    const positions = Array.from({ length: 500 }, (_, index) => 1000 + index)
    const before = movesSoFar()
    // The last call needs several parts.
    for (const [from, to] of [
      [0, 25],
      [25, 50],
      [50, 80],
      [80, 81],
      [81, 160],
      [160, 500],
    ]) {
      await store.write(fence, { operations: setsAt(positions.slice(from, to)) })
    }
    expect(movesSoFar()).toBe(before)
    expect(Math.max(...sizesOf(url))).toBeLessThanOrEqual(partRows)
    expect(await loadedBy(store, fence)).toEqual(positions)
  })

  it('move the rows behind them to another part only once', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url, { shardCount: 1, tuning: { partRows } })
    const fence = await own(store)
    const later = Array.from({ length: 10 }, (_, index) => 100_000 + index)
    const positions = Array.from({ length: 300 }, (_, index) => 1000 + index)
    await store.write(fence, { operations: setsAt(later) })
    const before = movesSoFar()
    for (let from = 0; from < 300; from += 12) {
      await store.write(fence, { operations: setsAt(positions.slice(from, from + 12)) })
    }
    expect(movesSoFar()).toBe(before + 1)
    expect(Math.max(...sizesOf(url))).toBeLessThanOrEqual(partRows)
    expect(await loadedBy(store, fence)).toEqual([...positions, ...later])
  })

  it('are loaded in order and found when later calls write between them', async () => {
    const store = await openAt(withNewPrefix(server.url), { shardCount: 1, tuning: { partRows } })
    const fence = await own(store)
    const all: ReturnType<typeof setsAt> = []
    for (let round = 0; round < 60; round++) {
      const start = round % 3 === 0 ? 1000 + round * 20 : 1000 + ((round * 7919) % 900)
      const count = 1 + ((round * 31) % 57)
      const operations = setsAt(Array.from({ length: count }, (_, index) => start + index * (round % 4)))
      all.push(...operations)
      await store.write(fence, { operations })
    }
    const positions = all.map(({ position }) => position)
    expect(await loadedBy(store, fence)).toEqual(positions.toSorted((a, b) => a - b))
    // A find looks each row up in the part of its place.
    const found = await store.find(all)
    expect(found.map((row) => row?.position)).toEqual(positions)
  })
})

describe('a Redis write with too many payload bytes', () => {
  it('is rejected as a whole, and the largest allowed one is accepted', async () => {
    const store = await openAt(withNewPrefix(server.url), { maxPayloadBytes: 16 << 20 })
    const fence = await own(store)
    const heavy = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        setOf(`${count}-${index}`, 1000, { payload: Buffer.alloc(16 << 20, 65) }),
      )
    await expect(store.write(fence, { operations: heavy(5) })).rejects.toMatchObject({
      code: 'payload-too-large',
    })
    await store.write(fence, { operations: heavy(4) })
    expect(await store.countRows()).toBe(4)
  })
})
