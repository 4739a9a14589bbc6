import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/store/index.js'
import { startRedis } from '../../servers/redis.js'
import { withNewPrefix } from './prefix.js'
import { own, setOf } from '../owner.js'
import { openAt } from './scratch.js'

const server = await startRedis()
afterAll(() => server.stop())

describe('writes that meet', () => {
  it('are each taken or refused by the fence they came with', async () => {
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

  it('answer each for itself, and leave the history of all', async () => {
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

/** Where the rows of these keys stand, each with the key that has it. */
async function standing(store: Store, keys: readonly string[]): Promise<unknown[]> {
  const rows = await store.find(keys.map((key) => ({ namespace: 'test', kind: 'sample', key })))
  return rows.map((row) => row && [row.key, row.position, row.revision, row.identity])
}

describe('plain sets', () => {
  it('stand under the revisions they were answered, whatever was written since the last of them', async () => {
    const url = withNewPrefix(server.url)
    const [one, other] = [await openAt(url), await openAt(url)]
    const fence = await own(one)
    const keys: string[] = []
    const answered: unknown[] = []
    for (let round = 0; round < 6; round++) {
      // In turn by two that each know only of their own writes, and never in the order of their positions.
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
    expect(await standing(one, keys)).toEqual(answered)
    expect(answered.map((each) => (each as number[])[2])).toEqual(keys.map((_, index) => index + 1))
    const { items } = await one.list({ namespace: 'test', limit: 1000 })
    expect(items.map(({ position, revision }) => [position, revision])).toEqual(
      items
        .map(({ position, revision }) => [position, revision] as const)
        .toSorted((a, b) => a[0] - b[0] || a[1] - b[1]),
    )
    expect(items.length).toBe(300)
  })

  it('of a name that is there, or that comes twice, replace what stood there', async () => {
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
    // All of them new, and one twice: nothing of the attempt to store them as such is left.
    const third = [setOf('x', 1000), setOf('y', 1000), setOf('x', 4000)]
    await store.write(fence, { operations: third })
    expect(await store.countRows()).toBe(7)
    expect(await standing(store, ['b', 'e', 'x'])).toEqual([
      ['b', 2000, 5, second[1]!.identity],
      ['e', 3000, 7, second[3]!.identity],
      ['x', 4000, 10, third[2]!.identity],
    ])
  })

  it('crowd into one instant, are loaded once each, part by part, and found', async () => {
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
    // By its place each is found in the part that has it.
    const found = await store.find(keys.map((key) => ({ namespace: 'test', kind: 'sample', key })))
    expect(found.map((row) => row?.revision)).toEqual(revisions)
  })
})

describe('a write that is too heavy', () => {
  it('is refused whole, and the heaviest that is not is taken', async () => {
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
