import { describe, expect, it } from 'vitest'
import { timer } from '../../src/front/index.js'
import { cron, daily, every, yearly } from '../../src/schedule/index.js'
import { testTimers } from '../../src/testing/index.js'

const START = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000
const mail = timer<{ n: number }>('mail')
const tick = timer('tick')
const rows = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    key: `${n % 2 === 0 ? 'even' : 'odd'}:${String(n).padStart(3, '0')}`,
    in: `${n + 1}h`,
    payload: { n },
    tags: n % 10 === 0 ? ['tenth'] : [],
  }))

describe('list', () => {
  it('filters by kind, prefix, tag and due time, and pages with a cursor', async () => {
    await using timers = await testTimers()
    await timers.setMany(mail, rows(100))
    await timers.set(tick, 't', { in: '1h' })
    expect((await timers.list({ limit: 1000 })).items).toHaveLength(101)
    expect((await timers.list({ kind: mail, limit: 1000 })).items).toHaveLength(100)
    expect((await timers.list({ kind: 'tick' })).items.map(({ key }) => key)).toEqual(['t'])
    expect((await timers.list({ keyPrefix: 'odd:' })).items).toHaveLength(50)
    expect((await timers.list({ tag: 'tenth' })).items).toHaveLength(10)
    const due = await timers.list({
      kind: mail,
      dueFrom: START + 10 * HOUR,
      dueUntil: new Date(START + 20 * HOUR),
    })
    expect(due.items.map(({ dueAt }) => (dueAt - START) / HOUR)).toEqual([
      10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    ])
    const keys: string[] = []
    let cursor: string | undefined
    let pages = 0
    do {
      const page = await timers.list({ kind: mail, limit: 7, cursor })
      keys.push(...page.items.map(({ key }) => key))
      cursor = page.cursor
      pages++
    } while (cursor !== undefined)
    expect(new Set(keys).size).toBe(100)
    expect(keys).toHaveLength(100)
    expect(pages).toBeGreaterThanOrEqual(15)
  })

  it('leaves out finished timers, and shows which ones are firing', async () => {
    await using timers = await testTimers()
    let release: () => void = () => undefined
    timers.handle(mail, async () => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
    })
    await timers.set(mail, 'a', { in: '1s', payload: { n: 1 } })
    await timers.set(tick, 'b', { in: '1s' })
    await timers.advance('1s')
    expect((await timers.list()).items).toMatchObject([{ key: 'a', state: 'firing' }])
    expect(await timers.cancel(tick, 'b')).toBe('settled')
    expect(await timers.move(mail, 'a', { in: '1h' })).toBe('firing')
    release()
    await timers.advance(0)
    expect((await timers.list()).items).toEqual([])
  })

  it('returns an empty page only at the end, even if many timers before it are done', async () => {
    await using timers = await testTimers()
    timers.handle(tick, () => undefined)
    timers.handle(mail, () => undefined)
    await timers.setMany(
      tick,
      Array.from({ length: 250 }, (_, n) => ({ key: `t${n}`, in: '1s' })),
    )
    await timers.set(mail, 'last', { in: '1h', payload: { n: 1 } })
    await timers.advance('1s')
    expect((await timers.list({ limit: 100 })).items).toMatchObject([{ key: 'last' }])
  })
})

describe('calls on many timers', () => {
  it('set, move and cancel by keys', async () => {
    await using timers = await testTimers()
    const set = await timers.setMany(mail, rows(10))
    expect(set.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 10 }, () => 'set'))
    const keys = ['even:000', 'odd:001', 'nobody']
    expect(await timers.moveMany({ kind: mail, keys }, { in: '50h' }, { dryRun: true })).toEqual({ found: 3 })
    expect(await timers.get(mail, 'even:000')).toMatchObject({ dueAt: START + HOUR })
    expect(await timers.moveMany({ kind: mail, keys }, { in: '50h' })).toEqual({
      found: 3,
      moved: 2,
      unknown: 1,
    })
    expect(await timers.get(mail, 'even:000')).toMatchObject({ dueAt: START + 50 * HOUR, payload: { n: 0 } })
    expect(await timers.cancelMany({ kind: mail, keys })).toEqual({ found: 3, cancelled: 2, unknown: 1 })
    expect((await timers.list()).items).toHaveLength(8)
  })

  it('move and cancel the timers that match a query, and only count in a dry run', async () => {
    await using timers = await testTimers()
    await timers.setMany(mail, rows(2500))
    expect(await timers.cancelMany({ tag: 'tenth' }, { dryRun: true })).toEqual({ found: 250 })
    expect(await timers.cancelMany({ tag: 'tenth' })).toEqual({ found: 250, cancelled: 250 })
    const odd = { kind: mail, keyPrefix: 'odd:' }
    expect(await timers.moveMany(odd, { at: START + 9999 * HOUR })).toEqual({ found: 1250, moved: 1250 })
    const due = await timers.list({ dueFrom: START + 9999 * HOUR, limit: 10_000 })
    expect(due.items).toHaveLength(1250)
    expect(await timers.cancelMany({})).toEqual({ found: 2250, cancelled: 2250 })
  })

  it('do not change a later timer with the key of a timer that the query found', async () => {
    await using timers = await testTimers()
    const { handle } = await timers.set(mail, 'a', { in: '1h', payload: { n: 1 } })
    const cancelling = timers.cancelMany({ kind: mail })
    const replacing = timers.set(mail, 'a', { in: '2h', payload: { n: 2 } })
    const [outcome, second] = await Promise.all([cancelling, replacing])
    const current = await timers.get(mail, 'a')
    // Either the first timer was cancelled before the second was set, or the second was not changed.
    expect(current).toMatchObject({ handle: second.handle, payload: { n: 2 } })
    expect(outcome.found).toBeLessThanOrEqual(1)
    expect(await timers.cancel(handle)).toBe('unknown')
  })
})

describe('fireNow', () => {
  it('fires a later timer at once, by key and by handle, and its schedule goes on', async () => {
    await using timers = await testTimers()
    const { handle } = await timers.set(mail, 'a', { in: '10h', payload: { n: 1 } })
    await timers.set(tick, 'h', { on: every('1h') })
    expect(await timers.fireNow(handle)).toBe('moved')
    expect(await timers.fireNow(mail, 'nobody')).toBe('unknown')
    await timers.advance('10m')
    expect(timers.fired(mail)).toMatchObject([{ key: 'a', at: START }])
    expect(await timers.fireNow(tick, 'h')).toBe('moved')
    await timers.advance('2h')
    expect(timers.fired(tick).map(({ at }) => (at - START) / HOUR)).toEqual([1 / 6, 1, 2])
  })
})

describe('pause and resume', () => {
  it('keep the due time of a timer, which fires at once if it is resumed after that time', async () => {
    await using timers = await testTimers()
    await timers.set(mail, 'a', { in: '1h', payload: { n: 1 } })
    await timers.set(mail, 'b', { in: '1h', payload: { n: 2 } })
    expect(await timers.pause(mail, 'a')).toBe('paused')
    expect(await timers.pause(mail, 'a')).toBe('paused')
    expect(await timers.get(mail, 'a')).toMatchObject({ state: 'paused', dueAt: START + HOUR })
    expect(await timers.next()).toMatchObject({ key: 'b' })
    await timers.advance('3h')
    expect(timers.fired(mail).map(({ key }) => key)).toEqual(['b'])
    expect(await timers.resume(mail, 'a')).toBe('resumed')
    await timers.advance(1)
    expect(timers.fired(mail).map(({ key, dueAt, at }) => [key, dueAt - START, at - START])).toEqual([
      ['b', HOUR, HOUR],
      ['a', HOUR, 3 * HOUR],
    ])
    expect(await timers.pause(mail, 'nobody')).toBe('unknown')
    expect(await timers.resume(mail, 'nobody')).toBe('unknown')
  })

  it('change nothing if a timer is resumed before its due time', async () => {
    await using timers = await testTimers()
    await timers.set(mail, 'a', { in: '5h', payload: { n: 1 }, retry: { attempts: 1 } })
    await timers.pause(mail, 'a')
    await timers.advance('1h')
    await timers.resume(mail, 'a')
    expect(await timers.get(mail, 'a')).toMatchObject({ state: 'waiting', dueAt: START + 5 * HOUR })
    await timers.advance('4h')
    expect(timers.fired(mail)).toMatchObject([{ at: START + 5 * HOUR }])
  })

  it('let a move, a fireNow and a set end the pause of a timer', async () => {
    await using timers = await testTimers()
    for (const key of ['moved', 'now', 'set']) await timers.set(mail, key, { in: '5h', payload: { n: 1 } })
    for (const key of ['moved', 'now', 'set']) await timers.pause(mail, key)
    await timers.move(mail, 'moved', { in: '2h' })
    expect(await timers.get(mail, 'moved')).toMatchObject({ state: 'waiting', dueAt: START + 2 * HOUR })
    await timers.fireNow(mail, 'now')
    await timers.set(mail, 'set', { in: '3h', payload: { n: 2 } })
    await timers.advance('4h')
    expect(timers.fired(mail).map(({ key, at }) => [key, (at - START) / HOUR])).toEqual([
      ['now', 0],
      ['moved', 2],
      ['set', 3],
    ])
    // Its record still has the earlier pause: it can be paused once more.
    await timers.set(mail, 'moved', { in: '5h', payload: { n: 1 } })
    await timers.pause(mail, 'moved')
    await timers.move(mail, 'moved', { in: '2h' })
    expect(await timers.pause(mail, 'moved')).toBe('paused')
    await timers.advance('9h')
    expect(timers.fired(mail)).toHaveLength(3)
    expect(await timers.get(mail, 'moved')).toMatchObject({ state: 'paused', dueAt: START + 6 * HOUR })
  })

  it('apply the missed rule of a schedule to occurrences during the pause', async () => {
    await using timers = await testTimers()
    await timers.set(tick, 'h', { on: every('1h') })
    await timers.advance('150m')
    await timers.pause(tick, 'h')
    await timers.advance('5h')
    await timers.resume(tick, 'h')
    await timers.advance('2h')
    const at = timers.fired(tick).map((fired) => (fired.at - START) / HOUR)
    expect(at.slice(0, 3)).toEqual([1, 2, 7.5])
    expect(at.at(-1)).toBe(9)
  })

  it('let due timers of a kind or of all kinds wait, and fire in order', async () => {
    await using timers = await testTimers()
    await timers.set(mail, 'late', { in: '2h', payload: { n: 1 } })
    await timers.set(mail, 'early', { in: '1h', payload: { n: 1 } })
    await timers.set(tick, 't', { in: '1h' })
    expect(await timers.pause(mail)).toBe('paused')
    await timers.advance('3h')
    expect(timers.fired(mail)).toEqual([])
    expect(timers.fired(tick)).toHaveLength(1)
    expect(await timers.get(mail, 'early')).toMatchObject({ dueAt: START + HOUR })
    await timers.resume(mail)
    await timers.advance(1)
    expect(timers.fired(mail).map(({ key, at }) => [key, (at - START) / HOUR])).toEqual([
      ['early', 3],
      ['late', 3],
    ])
    await timers.pause()
    await timers.set(tick, 'u', { in: '1h' })
    await timers.set(mail, 'm', { in: '1h', payload: { n: 1 } })
    await timers.advance('2h')
    expect([timers.fired(mail).length, timers.fired(tick).length]).toEqual([2, 1])
    await timers.resume()
    await timers.advance(1)
    expect([timers.fired(mail).length, timers.fired(tick).length]).toEqual([3, 2])
  })

  it('keep namespaces apart whose names contain slashes', async () => {
    const { MemoryStore } = await import('../../src/store/index.js')
    const { Pauses } = await import('../../src/front/change/pauses.js')
    const store = new MemoryStore()
    const outer = new Pauses(store, 'a')
    const inner = new Pauses(store, 'a/b')
    await inner.put('c', { since: 1 })
    await outer.refresh()
    expect([outer.isPaused('b/c'), inner.isPaused('c')]).toEqual([false, true])
    await store.stop()
  })
})

describe('forecast', () => {
  it('counts the timers that are due in each slice', async () => {
    await using timers = await testTimers()
    await timers.setMany(mail, rows(10))
    await timers.set(tick, 't', { in: '90m' })
    const slices = await timers.forecast({ over: '4h', slice: '1h' })
    expect(slices.map(({ count }) => count)).toEqual([0, 2, 1, 1])
    expect(slices[1]).toEqual({ fromInclusive: START + HOUR, untilExclusive: START + 2 * HOUR, count: 2 })
    const mails = await timers.forecast({ kind: mail, from: START + HOUR, over: '150m', slice: '1h' })
    expect(mails.map(({ count }) => count)).toEqual([1, 1, 1])
    expect(mails.at(-1)!.untilExclusive).toBe(START + 3.5 * HOUR)
    await expect(timers.forecast({ over: '365d', slice: '1s' })).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })
})

describe('the due time of a set', () => {
  it('may be epoch milliseconds, a Date, a string with an offset or a Temporal instant', async () => {
    await using timers = await testTimers()
    const at = START + 5 * HOUR
    const instants = [
      at,
      new Date(at),
      '2026-01-01T05:00:00Z',
      '2026-01-01T06:00:00+01:00',
      { epochMilliseconds: at },
    ]
    for (const instant of instants) {
      expect(await timers.set(tick, 'x', { at: instant })).toMatchObject({ outcome: 'set', dueAt: at })
    }
    await timers.set(tick, 'y', { in: 1500 })
    await timers.set(tick, 'z', { in: 'PT1H30M' })
    expect(await timers.get(tick, 'z')).toMatchObject({ dueAt: START + 1.5 * HOUR })
  })

  it('may be in the past, and then the timer fires now', async () => {
    await using timers = await testTimers()
    await timers.set(tick, 'x', { at: START - 100 * HOUR })
    await timers.set(tick, 'y', { at: 0 })
    await timers.advance(1)
    expect(timers.fired(tick).map(({ key, at }) => [key, at])).toEqual([
      ['x', START],
      ['y', START],
    ])
  })

  it('may come from cron and calendar schedules, which repeat', async () => {
    await using timers = await testTimers()
    await timers.set(tick, 'c', { on: cron('0 */6 * * *') })
    await timers.advance('1d')
    expect(timers.fired(tick).map(({ at, occurrence }) => [(at - START) / HOUR, occurrence])).toEqual([
      [6, 0],
      [12, 1],
      [18, 2],
      [24, 3],
    ])
    expect(await timers.get(tick, 'c')).toMatchObject({ occurrence: 4, on: { type: 'cron' } })
  })
})

describe('a refused call', () => {
  const code = (name: string) => ({ code: name })

  it('throws a typed error and sets nothing', async () => {
    await using timers = await testTimers()
    const set = (options: object, key = 'x') => timers.set(tick, key, options as { in: number })
    await expect(set({})).rejects.toMatchObject(code('invalid-when'))
    await expect(set({ in: '1h', at: 5 })).rejects.toMatchObject(code('invalid-when'))
    await expect(set({ in: 'soon' })).rejects.toMatchObject(code('invalid-duration'))
    await expect(set({ in: -5 })).rejects.toMatchObject(code('invalid-duration'))
    await expect(set({ at: 'tomorrow' })).rejects.toMatchObject(code('invalid-instant'))
    await expect(set({ at: '2026-01-01T05:00:00' })).rejects.toMatchObject(code('invalid-instant'))
    await expect(set({ at: Number.NaN })).rejects.toMatchObject(code('invalid-instant'))
    await expect(set({ at: new Date('nonsense') })).rejects.toMatchObject(code('invalid-instant'))
    await expect(set({ in: 1, delay: 5 })).rejects.toMatchObject(code('unknown-option'))
    await expect(set({ in: 1, tags: 'a' })).rejects.toMatchObject(code('invalid-tag'))
    await expect(set({ in: 1, retry: { tries: 5 } })).rejects.toMatchObject(code('unknown-option'))
    await expect(set({ in: 1, retry: { attempts: 0 } })).rejects.toMatchObject(code('invalid-option'))
    await expect(set({ in: 1, payload: 5n })).rejects.toMatchObject(code('invalid-payload'))
    await expect(set({ in: 1, payload: 'x'.repeat(300_000) })).rejects.toMatchObject(
      code('payload-too-large'),
    )
    await expect(set({ in: 1 }, 'k'.repeat(513))).rejects.toMatchObject(code('invalid-key'))
    await expect(set({ in: 1 }, '')).rejects.toMatchObject(code('invalid-key'))
    await expect(set({ on: 'daily' })).rejects.toMatchObject(code('invalid-when'))
    const past = daily({ at: '09:00', zone: 'UTC', until: START - 1 })
    await expect(set({ on: past })).rejects.toMatchObject(code('schedule-ended'))
    expect(() => daily({ at: '09:00', zone: 'Mars/Olympus' })).toThrowError(
      expect.objectContaining(code('invalid-zone')),
    )
    expect(() => cron('61 * * * *')).toThrowError(expect.objectContaining(code('invalid-cron')))
    expect(() => yearly({ month: 2, day: 30, at: '09:00' })).toThrowError(
      expect.objectContaining(code('invalid-option')),
    )
    expect(() => timer('')).toThrowError(expect.objectContaining(code('invalid-kind')))
    expect(() => timer('x', { concurrency: 0 })).toThrowError(expect.objectContaining(code('invalid-option')))
    expect(() => timer('x', { rate: -1 })).toThrowError(expect.objectContaining(code('invalid-option')))
    expect(() => timer('x', { speed: 1 } as object)).toThrowError(
      expect.objectContaining(code('unknown-option')),
    )
    await expect(timers.move(tick, 'x', { on: every('1h') })).rejects.toMatchObject(code('invalid-when'))
    await expect(timers.cancel('no handle')).rejects.toMatchObject(code('invalid-handle'))
    await expect(timers.list({ limit: 0 })).rejects.toMatchObject(code('invalid-option'))
    await expect(timers.list({ colour: 'red' } as object)).rejects.toMatchObject(code('unknown-option'))
    await expect(timers.list({ cursor: 'made up' })).rejects.toMatchObject(code('invalid-cursor'))
    await expect(timers.cancelMany({ prefix: 'a' } as object)).rejects.toMatchObject(code('unknown-option'))
    await expect(timers.redrive({ kinds: 'a' } as object)).rejects.toMatchObject(code('unknown-option'))
    await expect(timers.drain()).rejects.toMatchObject(code('started'))
    expect((await timers.list()).items).toEqual([])
  })

  it('is one that adds a second handler, or comes after stop', async () => {
    const timers = await testTimers()
    timers.handle(tick, () => undefined)
    expect(() => timers.handle(tick, () => undefined)).toThrowError(
      expect.objectContaining(code('handler-exists')),
    )
    expect(() => timers.handleOthers(() => undefined)).toThrowError(
      expect.objectContaining(code('handler-exists')),
    )
    expect(() => timers.handle(mail, 5 as never)).toThrowError(
      expect.objectContaining(code('invalid-option')),
    )
    await timers.stop()
    const stopped = code('stopped')
    await expect(timers.set(tick, 'x', { in: 1 })).rejects.toMatchObject(stopped)
    await expect(timers.setMany(tick, [{ in: 1 }])).rejects.toMatchObject(stopped)
    await expect(timers.move(tick, 'x', { in: 1 })).rejects.toMatchObject(stopped)
    await expect(timers.cancel(tick, 'x')).rejects.toMatchObject(stopped)
    await expect(timers.get(tick, 'x')).rejects.toMatchObject(stopped)
    await expect(timers.list()).rejects.toMatchObject(stopped)
    await expect(timers.pause()).rejects.toMatchObject(stopped)
    await expect(timers.start()).rejects.toMatchObject(stopped)
    await expect(timers.drain()).rejects.toMatchObject(stopped)
    await expect(timers.why(tick, 'x')).rejects.toMatchObject(stopped)
  })

  it('is one with a handle from another namespace', async () => {
    await using one = await testTimers({ namespace: 'one' })
    await using two = await testTimers({ namespace: 'two' })
    const { handle } = await one.set(tick, 'x', { in: '1h' })
    await expect(two.cancel(handle)).rejects.toMatchObject(code('invalid-handle'))
    expect(await one.cancel(handle)).toBe('cancelled')
  })
})

describe('a conditional set', () => {
  it('returns the existing timer when its condition fails', async () => {
    await using timers = await testTimers()
    const first = await timers.set(mail, 'a', { in: '1h', payload: { n: 1 }, ifAbsent: true })
    expect(first.outcome).toBe('set')
    const second = await timers.set(mail, 'a', { in: '2h', payload: { n: 2 }, ifAbsent: true })
    expect(second).toEqual({ ...first, outcome: 'conflict' })
    const third = await timers.set(mail, 'a', { in: '3h', payload: { n: 3 }, ifRevision: first.revision! })
    expect(third).toMatchObject({ outcome: 'set' })
    expect(third.handle).not.toBe(first.handle)
    const fourth = await timers.set(mail, 'a', { in: '4h', payload: { n: 4 }, ifRevision: first.revision! })
    expect(fourth).toEqual({ ...third, outcome: 'conflict' })
    expect(await timers.get(mail, 'a')).toMatchObject({ payload: { n: 3 } })
    const none = await timers.set(mail, 'b', { in: '4h', payload: { n: 4 }, ifRevision: 77 })
    expect(none).toMatchObject({ outcome: 'conflict', revision: undefined })
    expect(await timers.get(none.handle)).toBe(undefined)
  })
})
