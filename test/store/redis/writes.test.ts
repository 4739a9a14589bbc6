import { afterAll, describe, expect, it } from 'vitest'
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
