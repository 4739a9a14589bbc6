import { createClient } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import type { InboxRequest, RequestedOperation, SetOperation } from '../../../src/store/index.js'
import { startRedis } from '../../servers/redis.js'
import { own, setOf } from '../owner.js'
import { withNewPrefix } from './prefix.js'
import { openAt } from './open-at.js'

const server = await startRedis()
afterAll(() => server.stop())

const later = Date.now() + 3_600_000

function requestOf(id: string, operation: RequestedOperation, deadline = later): InboxRequest {
  return { id, shard: 0, deadline, operation }
}

function setFor(key: string): SetOperation {
  return setOf(key, later)
}

/** The operation with which an owner applies a requested set. */
function applied({ id, operation }: InboxRequest): SetOperation {
  return { ...(operation as SetOperation), request: id }
}

function keyOf(url: string, suffix: string): string {
  return `{${new URL(url).searchParams.get('prefix')}:0}${suffix}`
}

describe('the inbox of a Redis shard', () => {
  it('answers requests of a batch in any order, and is empty after the last one', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const raw = await createClient({ url: server.url }).connect()
    const requests = Array.from({ length: 600 }, (_, index) =>
      requestOf(`id-${index}`, setFor(`key-${index}`)),
    )
    await store.append(requests.slice(0, 300))
    await store.append(requests.slice(300))
    const open = new Set(requests.map(({ id }) => id))
    // Not from the front: the middle, then the end, then the rest.
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
      const operations = requests.slice(from, end).map(applied)
      const { answers } = await store.write(fence, { operations })
      expect(answers.every(({ outcome }) => outcome === 'set')).toBe(true)
      for (const { id } of requests.slice(from, end)) open.delete(id)
      expect((await store.requests(fence, 1000)).map(({ id }) => id)).toEqual([...open])
      // Again, as an owner does that lost the answer.
      const again = await store.write(fence, { operations })
      expect(again.answers.every(({ outcome }) => outcome === 'answered-before')).toBe(true)
    }
    expect(await raw.exists(keyOf(url, ':in'))).toBe(0)
    expect(await store.countRows()).toBe(600)
    expect((await store.counts()).created).toBe(600)
    raw.destroy()
  })

  it('appends only the new ones among repeated and expired requests', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const [one, two, three] = ['one', 'two', 'three'].map((key) => requestOf(key, setFor(key))) as [
      InboxRequest,
      InboxRequest,
      InboxRequest,
    ]
    const late = requestOf('late', setFor('late'), 1000)
    await store.append([one])
    expect(await store.append([two, one, late, three, two])).toEqual([
      'appended',
      'appended',
      'expired',
      'appended',
      'appended',
    ])
    const four = requestOf('four', setFor('four'))
    expect(await store.append([four, four])).toEqual(['appended', 'appended'])
    expect(await store.requests(fence, 10)).toEqual([one, two, three, four])
  })

  it('forgets answers after their deadline, but not before', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const raw = await createClient({ url: server.url }).connect()
    const answerAll = async (requests: readonly InboxRequest[]): Promise<void> => {
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
      requestOf(`soon-${index}`, setFor(`soon-${index}`), soon),
    )
    await answerAll(some)
    await answerAll([requestOf('lasting', setFor('lasting'))])
    expect(await store.answers(0, ['soon-3', 'lasting'])).toEqual(['firing', 'firing'])
    await expect.poll(() => store.now(), { timeout: 5000 }).toBeGreaterThan(soon)
    await answerAll([requestOf('last', setFor('last'))])
    expect(await store.answers(0, ['soon-3', 'lasting', 'last'])).toEqual([undefined, 'firing', 'firing'])
    // The padding entry, and the two answers before their deadline.
    expect(await raw.hLen(keyOf(url, ':asked'))).toBe(3)
    raw.destroy()
  })
})

describe('a Redis store of layout 1', () => {
  it('is upgraded to layout 3 together with its inbox', async () => {
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
      expect(requests).toEqual([requestOf('first', { ...rest, payload })])
      expect(await store.answers(0, ['done', 'first'])).toEqual(['cancelled', undefined])
      expect(await store.append([requests[0]!, requestOf('done', setFor('done'))])).toEqual([
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

  it('is not upgraded while an instance is alive, whose requests nobody would find after it', async () => {
    const url = withNewPrefix(server.url)
    const before = await openAt(url)
    await before.heartbeat({ id: 'old', details: '' }, 60_000)
    const raw = await createClient({ url: server.url }).connect()
    const prefix = new URL(url).searchParams.get('prefix')!
    await raw.hSet(`{${prefix}}`, 'version', '1')
    await expect(openAt(url)).rejects.toMatchObject({ code: 'store-in-use' })
    expect(await raw.hGet(`{${prefix}}`, 'version')).toBe('1')
    await before.removeMember('old')
    await openAt(url)
    expect(await raw.hGet(`{${prefix}}`, 'version')).toBe('3')
    raw.destroy()
  })
})
