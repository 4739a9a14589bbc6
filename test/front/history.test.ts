import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openTimers, timer, type TimersOptions } from '../../src/front/index.js'
import { daily } from '../../src/schedule/index.js'
import { testTimers } from '../../src/testing/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'

const START = Date.UTC(2026, 0, 1)
const kind = timer<string>('kind', { retry: { attempts: 3, backoff: '10s..10s' } })

async function life(history: 'none' | 'failures' | 'all') {
  await using timers = await testTimers({ history })
  timers.handle(kind, ({ payload, attempt }) => {
    if (payload === 'fails once' && attempt === 1) throw new Error('no luck')
    if (payload === 'dies') throw new Error('never')
  })
  for (const payload of ['good', 'fails once', 'dies']) await timers.set(kind, payload, { in: '1h', payload })
  await timers.set(kind, 'cancelled', { in: '1h', payload: 'good' })
  await timers.cancel(kind, 'cancelled')
  await timers.move(kind, 'good', { in: '2h' })
  await timers.advance('1d')
  const tell = async (key: string) =>
    (await timers.history({ kind, key })).items.map(({ event, outcome }) => [event, outcome].join(' ').trim())
  return {
    good: await tell('good'),
    once: await tell('fails once'),
    dies: await tell('dies'),
    cancelled: await tell('cancelled'),
  }
}

describe('the history', () => {
  it('keeps all events, failures, or nothing, by its policy', async () => {
    expect(await life('all')).toEqual({
      good: ['created', 'moved', 'attempt done', 'settled'],
      once: ['created', 'attempt retry', 'attempt done', 'settled'],
      dies: ['created', 'attempt retry', 'attempt retry', 'attempt dead', 'dead'],
      cancelled: ['created', 'cancelled'],
    })
    expect(await life('failures')).toEqual({
      good: [],
      once: ['attempt retry', 'attempt done', 'settled'],
      dies: ['attempt retry', 'attempt retry', 'attempt dead', 'dead'],
      cancelled: [],
    })
    expect(await life('none')).toEqual({ good: [], once: [], dies: [], cancelled: [] })
  })

  it('lists the events of a timer in order, as facts and as sentences', async () => {
    await using timers = await testTimers()
    timers.handle(kind, async ({ attempt }) => {
      await new Promise<void>((resolve) => {
        timers.clock.wakeAfter(40, resolve)
      })
      if (attempt === 1) throw new Error('mail server is away')
    })
    await timers.set(kind, 'a', { in: '1h', payload: 'x' })
    await timers.move(kind, 'a', { in: '2h' })
    await timers.pause(kind, 'a')
    await timers.advance('30m')
    await timers.resume(kind, 'a')
    expect((await timers.why(kind, 'a')).told.at(-1)).toBe('now waiting, due 2026-01-01T02:00:00.000Z')
    await timers.advance('1d')
    const { told, events, timer: current, dead } = await timers.why(kind, 'a')
    expect(current).toBe(undefined)
    expect(dead).toEqual([])
    expect(told.map((line) => line.replace(/retry at \S+$/, 'retry at T').replace(/^\S+/, ''))).toEqual([
      ' set, due 2026-01-01T01:00:00.000Z',
      ' moved, due 2026-01-01T02:00:00.000Z',
      ' paused',
      ' resumed, due 2026-01-01T02:00:00.000Z',
      ' attempt 1 failed (mail server is away) after 40 ms, 0 ms late; retry at T',
      ' attempt 2 succeeded after 40 ms, 0 ms late',
      ' settled',
    ])
    // Both attempts belong to the occurrence that was due at two o'clock.
    const attempts = events.filter(({ event }) => event === 'attempt')
    expect(attempts.map(({ dueAt }) => dueAt! - START)).toEqual([7_200_000, 7_200_000])
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted((a, b) => a - b))
  })

  it('shows a set during an attempt, and the events of the new timer', async () => {
    await using timers = await testTimers()
    let count = 0
    timers.handle(kind, async () => {
      if (++count > 1) return
      await new Promise<void>((resolve) => {
        timers.clock.wakeAfter(60_000, resolve)
      })
      throw new Error('too late to matter')
    })
    await timers.set(kind, 'a', { in: '1s', payload: 'first' })
    await timers.advance('10s')
    expect(await timers.set(kind, 'a', { in: '1h', payload: 'second' })).toMatchObject({ outcome: 'set' })
    await timers.advance('1d')
    expect(count).toBe(2)
    const { events } = await timers.why(kind, 'a')
    expect(new Set(events.map(({ identity }) => identity)).size).toBe(2)
    expect(events.find(({ isSuperseded }) => isSuperseded)).toMatchObject({ outcome: 'retry' })
    expect((await timers.dead()).items).toEqual([])
  })

  it('is read in pages with a cursor, filtered by kind and time', async () => {
    await using timers = await testTimers()
    await timers.set(timer('daily'), 'd', { on: daily({ at: '09:00', zone: 'UTC' }) })
    await timers.advance('100d')
    const seen: number[] = []
    let cursor: string | undefined
    do {
      const page = await timers.history({ kind: 'daily', limit: 7, cursor })
      seen.push(...page.items.filter(({ event }) => event === 'attempt').map(({ at }) => at))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(seen).toHaveLength(100)
    const week = await timers.history({
      from: START + 10 * 86_400_000,
      until: new Date(START + 17 * 86_400_000),
    })
    expect(week.items).toHaveLength(7)
  })
})

describe.each(['memory', 'file'])('a store on %s', (store) => {
  async function within(
    options: Partial<TimersOptions>,
    work: (clock: VirtualClock, open: () => ReturnType<typeof openTimers>) => Promise<void>,
  ): Promise<void> {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-history-'))
    const url = store === 'memory' ? 'memory:' : `file:${folder}/timers`
    const clock = new VirtualClock({ start: START })
    try {
      // Virtual time passes much faster than the disk works, so calls get a day of it.
      await work(clock, () => openTimers({ store: url, clock, callTimeout: '1d', ...options }))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  const settled = <T>(clock: VirtualClock, promise: Promise<T>, stepMs = 5): Promise<T> =>
    during(clock, promise, stepMs, turn)

  /** Advances virtual time, and gives the disk real time to work. */
  async function pass(clock: VirtualClock, ms: number, stepMs = 500): Promise<void> {
    for (let step = 0; step < ms; step += stepMs) {
      await clock.advance(stepMs)
      await new Promise((resolve) => {
        setTimeout(resolve, 1)
      })
    }
  }

  /** Advances virtual time until a condition holds, because the time that the disk takes is unknown. */
  async function until(clock: VirtualClock, isSo: () => Promise<boolean>): Promise<void> {
    for (let step = 0; step < 5000; step++) {
      if (await isSo()) return
      await pass(clock, 200, 200)
    }
    throw new Error('the condition never held')
  }

  it('removes history that is older than its retention', async () => {
    await within({ history: 'all', historyRetention: '1h' }, async (clock, open) => {
      const countOf = async (key: string) => (await timers.history({ key })).items.length
      const timers = await settled(clock, open())
      timers.handle(kind, () => undefined)
      await settled(clock, timers.start())
      await settled(clock, timers.set(kind, 'old', { in: '1s', payload: 'x' }))
      await until(clock, async () => (await countOf('old')) === 3)
      await pass(clock, 3_000_000, 20_000)
      expect(await countOf('old')).toBe(3)
      await pass(clock, 1_400_000, 20_000)
      await settled(clock, timers.set(kind, 'young', { in: '1s', payload: 'x' }))
      await until(clock, async () => (await countOf('old')) === 0)
      await until(clock, async () => (await countOf('young')) === 3)
      await settled(clock, timers.stop())
    })
  })

  it('keeps dead letters with reason, attempts and payload, and redrives one, some or all', async () => {
    await within({}, async (clock, open) => {
      const timers = await settled(clock, open())
      let isWell = false
      const fired: string[] = []
      timers.handle(kind, ({ key }) => {
        if (!isWell) throw new Error('not well')
        fired.push(key)
      })
      await settled(clock, timers.start())
      const rows = Array.from({ length: 10 }, (_, n) => ({ key: `k${n}`, in: '1s', payload: `p${n}` }))
      await settled(clock, timers.setMany(kind, rows))
      await pass(clock, 60_000)
      const { items } = await timers.dead({ kind })
      expect(items).toHaveLength(10)
      expect(items.find(({ key }) => key === 'k3')).toMatchObject({
        attempts: 3,
        payload: 'p3',
        dueAt: START + 1000 + (items[0]!.dueAt - START - 1000),
        reason: 'attempt 3 of 3 failed: not well',
      })
      const page = await timers.dead({ limit: 4 })
      expect(page.items).toHaveLength(4)
      expect((await timers.dead({ limit: 100, cursor: page.cursor })).items).toHaveLength(6)
      isWell = true
      const [first, second, third] = items
      expect(await settled(clock, timers.redrive([first!.id]))).toEqual({ count: 1, beside: [] })
      expect(await settled(clock, timers.redrive([second!.id, third!.id, 'nonsense']))).toMatchObject({
        count: 2,
      })
      const twice = await settled(clock, Promise.all([timers.redrive({ kind }), timers.redrive({})]))
      expect(twice[0].count + twice[1].count).toBe(7)
      await pass(clock, 5000)
      expect(fired.toSorted()).toEqual(rows.map(({ key }) => key))
      expect((await timers.dead()).items).toEqual([])
      await settled(clock, timers.stop())
    })
  })

  it('keeps one timer of two racing sets, and both callers know which', async () => {
    await within({}, async (clock, open) => {
      const timers = await settled(clock, open())
      for (let round = 0; round < 50; round++) {
        const key = `r${round}`
        const set = await settled(
          clock,
          Promise.all([1, 2, 3].map((n) => timers.set(kind, key, { in: `${n}h`, payload: String(n) }))),
          0,
        )
        const current = (await settled(clock, timers.get(kind, key), 0))!
        const winner = set.find(({ handle }) => handle === current.handle)!
        expect(winner.revision).toBe(current.revision)
        expect(Math.max(...set.map(({ revision }) => revision!))).toBe(current.revision)
        for (const { handle } of set) {
          const found = await settled(clock, timers.get(handle), 0)
          expect(found === undefined).toBe(handle !== current.handle)
        }
      }
      await settled(clock, timers.stop())
    })
  })

  it('lets one of many sets with ifAbsent or ifRevision win, and the others get the winner', async () => {
    await within({}, async (clock, open) => {
      const timers = await settled(clock, open())
      for (let round = 0; round < 50; round++) {
        const key = `r${round}`
        const race = async (condition: object) =>
          await settled(
            clock,
            Promise.all(
              [1, 2, 3, 4].map((n) =>
                timers.set(kind, key, { in: `${n}h`, payload: String(n), ...condition }),
              ),
            ),
            0,
          )
        const first = await race({ ifAbsent: true })
        expect(first.filter(({ outcome }) => outcome === 'set')).toHaveLength(1)
        expect(new Set(first.map(({ handle }) => handle)).size).toBe(1)
        const second = await race({ ifRevision: first[0]!.revision })
        expect(second.filter(({ outcome }) => outcome === 'set')).toHaveLength(1)
        expect(new Set(second.map(({ handle }) => handle)).size).toBe(1)
        expect(second[0]!.handle).not.toBe(first[0]!.handle)
      }
      expect((await settled(clock, timers.list({ limit: 1000 }), 0)).items).toHaveLength(50)
      await settled(clock, timers.stop())
    })
  })
})
