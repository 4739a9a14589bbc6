import { describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { type ListedRows, type ListQuery, MemoryStore } from '../../src/store/index.js'
import { testTimers } from '../../src/testing/index.js'

const START = Date.UTC(2026, 0, 1)
const mail = timer<number>('mail')
const call = timer<number>('call', { retry: { attempts: 5, backoff: '1h' } })

type Query = Parameters<Timers['list']>[0]

async function keysOf(timers: Pick<Timers, 'list'>, query: Query): Promise<string[]> {
  return (await timers.list(query)).items.map(({ key }) => key).toSorted()
}

describe('a list', () => {
  it('finds timers by a part of the key, by attempts, by state, and by whether they recur', async () => {
    await using timers = await testTimers({ start: START })
    const release: (() => void)[] = []
    timers.handle(mail, () => new Promise<void>((resolve) => void release.push(resolve)))
    timers.handle(call, async () => {
      throw new Error('busy')
    })
    await timers.set(mail, 'order:1:now', { in: '1s', payload: 1 })
    await timers.set(mail, 'order:2:later', { in: '1d', payload: 1 })
    await timers.set(mail, 'order:3:paused', { in: '2d', payload: 1 })
    await timers.pause(mail, 'order:3:paused')
    await timers.set(call, 'order:4:busy', { in: '1s', payload: 1 })
    await timers.set(call, 'weekly', { on: every('7d'), payload: 1 })
    await timers.advance('2s')
    expect(await keysOf(timers, { keyPart: ':2:' })).toEqual(['order:2:later'])
    expect(await keysOf(timers, { keyPart: 'nobody' })).toEqual([])
    expect(await keysOf(timers, { state: 'firing' })).toEqual(['order:1:now'])
    expect(await keysOf(timers, { state: 'paused' })).toEqual(['order:3:paused'])
    expect(await keysOf(timers, { state: 'waiting' })).toEqual(['order:2:later', 'order:4:busy', 'weekly'])
    expect(await keysOf(timers, { state: 'retrying' })).toEqual(['order:4:busy'])
    expect(await keysOf(timers, { attemptsFrom: 1 })).toEqual(['order:4:busy'])
    expect(await keysOf(timers, { attemptsFrom: 2 })).toEqual([])
    expect(await keysOf(timers, { attemptsUntil: 1, kind: call })).toEqual(['weekly'])
    expect(await keysOf(timers, { recurring: true })).toEqual(['weekly'])
    expect(await keysOf(timers, { recurring: false, kind: call })).toEqual(['order:4:busy'])
    // A paused timer is found by the due time that it keeps.
    const day2 = { dueFrom: START + 1.5 * 86_400_000, dueUntil: START + 2.5 * 86_400_000 }
    expect(await keysOf(timers, { state: 'paused', ...day2 })).toEqual(['order:3:paused'])
    expect(await keysOf(timers, { state: 'paused', dueUntil: START + 86_400_000 })).toEqual([])
    expect(await timers.cancelMany({ state: 'paused' })).toEqual({ found: 1, cancelled: 1 })
    expect(await timers.count({ state: 'paused' })).toMatchObject({ count: 0, complete: true })
    for (const free of release) free()
    await timers.advance(0)
  })

  it('refuses conditions that no timer can match', async () => {
    await using timers = await testTimers()
    const wrong = [
      { keyPart: '' },
      { keyPart: 'x'.repeat(513) },
      { attemptsFrom: -1 },
      { attemptsUntil: 0.5 },
      { recurring: 'yes' as unknown as boolean },
      { state: 'settled' as 'paused' },
    ]
    for (const query of wrong) {
      await expect(timers.list(query)).rejects.toMatchObject({
        code: 'invalid-option',
      })
      await expect(timers.cancelMany(query)).rejects.toMatchObject({ code: 'invalid-option' })
    }
    await expect(timers.count({ atMost: 0 })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(timers.count({ atMost: 100_001 })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(timers.count({ limit: 5 } as object)).rejects.toMatchObject({ code: 'unknown-option' })
    await expect(timers.count({ cursor: 'made up' })).rejects.toMatchObject({ code: 'invalid-cursor' })
  })

  it('says how far it has looked when its budget is used up', async () => {
    const store = new SlowStore()
    const timers = await openTimers({ store })
    await timers.setMany(mail, rowsOf(5000))
    let looked = 0
    let pages = 0
    for (let cursor: string | undefined; ; pages++) {
      const page = await timers.list({ tag: 'nobody has it', limit: 10, cursor })
      expect(page.items).toEqual([])
      expect(page.looked).toBeGreaterThan(looked)
      looked = page.looked
      cursor = page.cursor
      if (cursor === undefined) {
        expect(page).toMatchObject({ complete: true, looked: 5000 })
        break
      }
      expect(page).toMatchObject({ complete: false, total: 5000 })
    }
    expect(pages).toBeGreaterThan(1)
    await timers.stop()
  })

  it('does not read on for a state that nothing is in, after its budget is used up', async () => {
    const store = new SlowStore()
    const timers = await openTimers({ store })
    await timers.setMany(mail, rowsOf(5000))
    const page = await timers.list({ state: 'retrying', limit: 10 })
    expect(page).toMatchObject({ items: [], complete: false })
    const waiting = await timers.list({ state: 'waiting', limit: 10 })
    expect(waiting).toMatchObject({ complete: true })
    expect(waiting.items).toHaveLength(10)
    await timers.stop()
  })
})

describe('a count', () => {
  it('counts up to a bound, and goes on from its cursor', async () => {
    await using timers = await testTimers()
    await timers.setMany(mail, rowsOf(250))
    await timers.setMany(call, rowsOf(50))
    expect(await timers.count()).toEqual({ count: 300, cursor: undefined, complete: true, looked: 300 })
    expect(await timers.count({ kind: call })).toMatchObject({ count: 50, complete: true })
    const first = await timers.count({ kind: mail, atMost: 200 })
    expect(first).toMatchObject({ count: 200, complete: false, total: 300 })
    const rest = await timers.count({ kind: mail, cursor: first.cursor })
    expect(rest).toMatchObject({ count: 50, complete: true })
  })
})

/** A memory store whose lists look at some rows, then their budget is used up. */
class SlowStore extends MemoryStore {
  override async list(query: ListQuery): Promise<ListedRows> {
    return await super.list({ ...query, budgetMs: -1 })
  }
}

function rowsOf(count: number) {
  return Array.from({ length: count }, (_, n) => ({ key: `k${n}`, in: `${n + 1}h`, payload: n }))
}
