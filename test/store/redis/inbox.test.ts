import { createClient } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import type { Request, RequestedOperation, SetOperation } from '../../../src/store/index.js'
import { startRedis } from '../../servers/redis.js'
import { own, setOf } from '../owner.js'
import { withNewPrefix } from './prefix.js'
import { openAt } from './scratch.js'

const server = await startRedis()
afterAll(() => server.stop())

const later = Date.now() + 3_600_000

function asked(id: string, operation: RequestedOperation, deadline = later): Request {
  return { id, shard: 0, deadline, operation }
}

function setFor(key: string): SetOperation {
  return setOf(key, later)
}

/** The operation by which an owner carries out a set that was asked for. */
function carriedOut({ id, operation }: Request): SetOperation {
  return { ...(operation as SetOperation), request: id }
}

function keyOf(url: string, rest: string): string {
  return `{${new URL(url).searchParams.get('prefix')}:0}${rest}`
}

describe('the inbox', () => {
  it('has batches taken out in pieces, and is empty when the last request is answered', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const raw = await createClient({ url: server.url }).connect()
    const requests = Array.from({ length: 600 }, (_, index) => asked(`id-${index}`, setFor(`key-${index}`)))
    await store.append(requests.slice(0, 300))
    await store.append(requests.slice(300))
    const open = new Set(requests.map(({ id }) => id))
    // Never from the front: the middle, then the end, then the rest.
    for (const [from, end] of [
      [200, 420],
      [590, 600],
      [0, 200],
      [420, 590],
    ] as const) {
      expect(await raw.exists(keyOf(url, ':in'))).toBe(1)
      await expect(
        store.write(fence, { operations: [setOf('own', later)], ifInboxEmpty: true }),
      ).rejects.toMatchObject({ code: 'inbox-first' })
      const operations = requests.slice(from, end).map(carriedOut)
      const { answers } = await store.write(fence, { operations })
      expect(answers.every(({ outcome }) => outcome === 'set')).toBe(true)
      for (const { id } of requests.slice(from, end)) open.delete(id)
      expect((await store.requests(fence, 1000)).map(({ id }) => id)).toEqual([...open])
      // Once more, as an owner does that did not hear the answer.
      const again = await store.write(fence, { operations })
      expect(again.answers.every(({ outcome }) => outcome === 'answered-before')).toBe(true)
    }
    expect(await raw.exists(keyOf(url, ':in'))).toBe(0)
    expect(await store.countRows()).toBe(600)
    expect((await store.counts()).created).toBe(600)
    raw.destroy()
  })

  it('appends what is new of requests of which some came before, twice, or too late', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const [one, two, three] = ['one', 'two', 'three'].map((key) => asked(key, setFor(key))) as [
      Request,
      Request,
      Request,
    ]
    const late = asked('late', setFor('late'), 1000)
    await store.append([one])
    expect(await store.append([two, one, late, three, two])).toEqual([
      'appended',
      'appended',
      'expired',
      'appended',
      'appended',
    ])
    const four = asked('four', setFor('four'))
    expect(await store.append([four, four])).toEqual(['appended', 'appended'])
    expect(await store.requests(fence, 10)).toEqual([one, two, three, four])
  })

  it('forgets answers after their deadline, and not before', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const raw = await createClient({ url: server.url }).connect()
    const answerAll = async (requests: readonly Request[]): Promise<void> => {
      await store.append(requests)
      const operations = requests.map(({ id }) => ({
        type: 'answer' as const,
        request: id,
        outcome: 'firing' as const,
      }))
      await store.write(fence, { operations })
    }
    const soon = Date.now() + 400
    const some = Array.from({ length: 30 }, (_, index) =>
      asked(`soon-${index}`, setFor(`soon-${index}`), soon),
    )
    await answerAll(some)
    await answerAll([asked('lasting', setFor('lasting'))])
    expect(await store.answers(0, ['soon-3', 'lasting'])).toEqual(['firing', 'firing'])
    await expect.poll(() => store.now(), { timeout: 5000 }).toBeGreaterThan(soon)
    await answerAll([asked('last', setFor('last'))])
    expect(await store.answers(0, ['soon-3', 'lasting', 'last'])).toEqual([undefined, 'firing', 'firing'])
    // What was long to begin with, and the two that last.
    expect(await raw.hLen(keyOf(url, ':asked'))).toBe(3)
    raw.destroy()
  })
})

describe('a store of layout 1', () => {
  it('is brought to layout 3 with what is in its inbox', async () => {
    const url = withNewPrefix(server.url)
    const before = await openAt(url)
    await before.write(await own(before), { operations: [setOf('row', later)] })
    await before.stop()
    const raw = await createClient({ url: server.url }).connect()
    const prefix = new URL(url).searchParams.get('prefix')!
    await raw.hSet(`{${prefix}}`, 'version', '1')
    const eight = (value: number): Buffer => {
      const bytes = Buffer.alloc(8)
      bytes.writeDoubleLE(value)
      return bytes
    }
    const { payload, ...rest } = setFor('old')
    const json = Buffer.from(JSON.stringify(rest))
    const length = Buffer.alloc(4)
    length.writeUInt32LE(json.length)
    await raw.hSet(keyOf(url, ':requests'), 'first', Buffer.concat([eight(later), length, json, payload]))
    await raw.zAdd(keyOf(url, ':inbox'), { score: 1, value: 'first' })
    await raw.hSet(keyOf(url, ':answers'), 'done', Buffer.concat([eight(later), Buffer.from('cancelled')]))
    await raw.zAdd(keyOf(url, ':answerorder'), { score: later, value: 'done' })
    for (let round = 0; round < 2; round++) {
      const store = await openAt(url)
      const row = (await store.shards())[0]!
      const requests = await store.requests({ ...row, shard: 0 }, 10)
      expect(requests).toEqual([asked('first', { ...rest, payload })])
      expect(await store.answers(0, ['done', 'first'])).toEqual(['cancelled', undefined])
      expect(await store.append([requests[0]!, asked('done', setFor('done'))])).toEqual([
        'appended',
        'answered-before',
      ])
      expect(await store.countRows()).toBe(1)
      await store.stop()
    }
    expect(await raw.hGet(`{${prefix}}`, 'version')).toBe('3')
    expect(
      await raw.exists([':inbox', ':requests', ':answers', ':answerorder'].map((end) => keyOf(url, end))),
    ).toBe(0)
    raw.destroy()
  })

  it('is left as it is while an instance is alive, which would append where nobody looks any more', async () => {
    const url = withNewPrefix(server.url)
    const before = await openAt(url)
    await before.heartbeat({ id: 'old', details: '' }, 60_000)
    const raw = await createClient({ url: server.url }).connect()
    const prefix = new URL(url).searchParams.get('prefix')!
    await raw.hSet(`{${prefix}}`, 'version', '1')
    await expect(openAt(url)).rejects.toMatchObject({ code: 'store-in-use' })
    expect(await raw.hGet(`{${prefix}}`, 'version')).toBe('1')
    await before.leave('old')
    await openAt(url)
    expect(await raw.hGet(`{${prefix}}`, 'version')).toBe('3')
    raw.destroy()
  })
})
