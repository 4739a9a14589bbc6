import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DueOrder } from '../../src/front/read/due-order.js'
import { type ListOrder, openTimers, timer, type Timers } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'

const mail = timer('mail')
const call = timer('call')
const DAY = 86_400_000
const folder = mkdtempSync(path.join(tmpdir(), 'carillon-due-order-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Due times long ago and far ahead, many in one hour, and many in one millisecond. */
function dues(now: number): number[] {
  const scattered = Array.from({ length: 300 }, (_, i) => now + ((i * 7919) % 3000) * 60_000)
  const crowded = Array.from({ length: 300 }, (_, i) => now + 5 * DAY + ((i * 7919) % 3_600_000))
  const together = Array.from({ length: 250 }, () => now + 6 * DAY)
  const overdue = Array.from({ length: 40 }, (_, i) => now - 1000 - ((i * 31) % 17) * DAY)
  const odd = [0, 1000, now + 90_000 * DAY, Date.UTC(9999, 0)]
  return [...scattered, ...crowded, ...together, ...overdue, ...odd]
}

async function pagesOf(timers: Timers, order: ListOrder, limit: number, query = {}) {
  const items: { key: string; dueAt: number }[] = []
  let pages = 0
  let cursor: string | undefined
  do {
    const page = await timers.list({ ...query, order, limit, cursor })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    if (page.complete && page.cursor !== undefined) expect(page.items).toHaveLength(limit)
    items.push(...page.items)
    cursor = page.cursor
    pages++
  } while (cursor !== undefined && pages < 400)
  return { items, pages }
}

describe('a list in the order of due times', () => {
  it.each(['memory', 'file'] as const)(
    'has every timer once, soonest or latest first, on %s',
    async (kind) => {
      const store = kind === 'memory' ? new MemoryStore({ shardCount: 4 }) : (`file:${folder}` as const)
      const timers = await openTimers({ store })
      const all = dues(Date.now()).map((at, i) => ({ key: `k${i}`, at }))
      await timers.setMany(mail, all)
      await timers.set(call, 'paused', { in: '1h' })
      await timers.pause(call, 'paused')
      const sorted = all.map(({ at }) => at).toSorted((a, b) => a - b)
      for (const limit of [7, 100, 5000]) {
        for (const order of ['due', 'latest'] as const) {
          const { items } = await pagesOf(timers, order, limit)
          expect(new Set(items.map(({ key }) => key)).size).toBe(all.length + 1)
          expect(items).toHaveLength(all.length + 1)
          const found = items.filter(({ key }) => key !== 'paused').map(({ dueAt }) => dueAt)
          expect(found).toEqual(order === 'due' ? sorted : sorted.toReversed())
          // A paused timer counts as due after all others.
          expect(items.at(order === 'due' ? -1 : 0)).toMatchObject({ key: 'paused' })
        }
      }
      await timers.stop()
    },
  )

  it('keeps to the conditions of the query', async () => {
    const timers = await openTimers({ store: new MemoryStore({ shardCount: 4 }) })
    const now = Date.now()
    const all = dues(now).map((at, i) => ({ key: `k${i}`, at, tags: i % 3 === 0 ? ['third'] : [] }))
    await timers.setMany(mail, all)
    const window = { dueFrom: now + 60_000, dueUntil: now + 5.5 * DAY }
    const wanted = all.filter(
      ({ at, tags }) => tags.length > 0 && at >= window.dueFrom && at < window.dueUntil,
    )
    const sorted = wanted.map(({ at }) => at).toSorted((a, b) => a - b)
    const found = async (order: ListOrder) =>
      (await pagesOf(timers, order, 20, { tag: 'third', ...window })).items.map(({ dueAt }) => dueAt)
    expect(await found('due')).toEqual(sorted)
    expect(await found('latest')).toEqual(sorted.toReversed())
    expect((await pagesOf(timers, 'due', 10, { tag: 'nobody has it' })).items).toEqual([])
    await timers.stop()
  })

  // A store looks at every row whose position is not its due time, such as an overdue one, in each slice.
  it.each([500, 1500, 6000, 20_000])('is not slower if each slice looks at %i more rows', (others) => {
    const now = 1_800_000_000_000
    for (const order of ['due', 'latest'] as const) {
      const list = new DueOrder(order, undefined, now, {})
      let slices = 0
      for (; !list.isOver && slices < 500; slices++) {
        const { limit } = list.slice(100, 10_000)
        expect(limit).toBeGreaterThan(0)
        list.take({ items: [], cursor: undefined, isComplete: true, looked: others }, [], 100)
      }
      expect(slices).toBeLessThan(100)
    }
  })

  it('finds a timer behind thousands that are overdue in a few pages', async () => {
    const store = new MemoryStore({ shardCount: 1 })
    await putOverdue(store, 3000)
    const timers = await openTimers({ store })
    await timers.set(call, 'one', { in: '20d' })
    for (const order of ['due', 'latest'] as const) {
      const { items, pages } = await pagesOf(timers, order, 10, { kind: 'call' })
      expect(items.map(({ key }) => key)).toEqual(['one'])
      expect(pages).toBeLessThan(100)
    }
    await timers.stop()
  })

  it('refuses an unknown order, and the cursor of another one', async () => {
    const timers = await openTimers({ store: new MemoryStore() })
    await timers.setMany(
      mail,
      Array.from({ length: 5 }, (_, i) => ({ key: `k${i}`, in: '1h' })),
    )
    await expect(timers.list({ order: 'name' as 'due' })).rejects.toMatchObject({ code: 'invalid-option' })
    for (const [order, other] of [
      ['due', 'latest'],
      ['due', undefined],
      [undefined, 'due'],
    ] as const) {
      const { cursor } = await timers.list({ ...(order && { order }), limit: 2 })
      const next = timers.list({ ...(other && { order: other }), limit: 2, cursor })
      await expect(next).rejects.toMatchObject({ code: 'invalid-cursor' })
    }
    for (const parts of [
      [1e300, 1, '', 0],
      [0, -1, '', 0],
      [0, 1, '{', 0],
      [0, 1, 'AAAA', 0],
      [0, 1, ''],
    ]) {
      const cursor = Buffer.from(JSON.stringify(['due', ...parts])).toString('base64url')
      await expect(timers.list({ order: 'due', cursor })).rejects.toMatchObject({ code: 'invalid-cursor' })
    }
    const beyond = Buffer.from(JSON.stringify(['due', 9e15, 1, '', 0])).toString('base64url')
    expect((await timers.list({ order: 'due', cursor: beyond })).items).toEqual([])
    await timers.stop()
  })
})

/** Stores overdue timers that were put back, as an owner does with those that cannot start. */
async function putOverdue(store: MemoryStore, count: number): Promise<void> {
  const now = Date.now()
  const claim = { shard: 0, owner: 'me', nonce: 1, leaseMs: 60_000, expectedEpoch: 0 }
  const { epoch, nonce, settledLevel } = (await store.acquire(claim))!
  const fence = { shard: 0, epoch, nonce, settledLevel }
  const operations = Array.from({ length: count }, (_, i) => {
    const name = { namespace: 'default', kind: 'mail', key: `k${i}` }
    const content = { identity: i + 1, createdAt: now, payload: new Uint8Array(), tags: [], details: '' }
    const progress = { dueAt: now - 60_000 - i, attempt: 0, occurrence: 0, position: now + 60_000 }
    return { type: 'set', ...name, ...content, ...progress } as const
  })
  await store.write(fence, { operations })
  expect(await store.countRows()).toBe(count)
  await store.release(fence)
}
