import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/error/index.js'
import { openTimers, timer, type Timers, type TimersEvent } from '../../src/front/index.js'
import { daily, every } from '../../src/schedule/index.js'
import { FileStore, MemoryStore, type Store } from '../../src/store/index.js'
import { testTimers } from '../../src/testing/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { troubled } from './troubled-store.js'

const START = Date.UTC(2026, 0, 1, 20)
const MIDNIGHT = Date.UTC(2026, 0, 2)
const DAY = 86_400_000
const MINUTE = 60_000
const kind = timer('kind')
const atMidnight = daily({ at: '00:00', zone: 'UTC', window: '10m' })

/** How many timers are due in each second of ten minutes. */
async function secondsFrom(timers: Timers, from: number): Promise<readonly number[]> {
  return (await timers.forecast({ from, over: '10m', slice: '1s' })).map(({ count }) => count)
}

function rowsFrom(first: number, count: number) {
  return Array.from({ length: count }, (_, n) => ({ key: `k${first + n}`, on: atMidnight }))
}

/** Deviations: a wrong sum, and the seconds whose count differs from the mean by more than one. */
function unevenIn(seconds: readonly number[], all: number): number[] {
  const mean = all / seconds.length
  const sum = seconds.reduce((before, count) => before + count, 0)
  const odd = seconds.filter((count) => count < Math.floor(mean) - 1 || count > Math.ceil(mean) + 1)
  return sum === all ? odd : [sum, ...odd]
}

describe('10,000 timers at midnight with a firing window of ten minutes', () => {
  it('are spread evenly when they are set in several batches and one by one', async () => {
    await using timers = await testTimers({ start: START, history: 'none' })
    for (let n = 0; n < 9000; n += 1500) await timers.setMany(kind, rowsFrom(n, 1500))
    for (const row of rowsFrom(9000, 1000)) await timers.set(kind, row.key, { on: atMidnight })
    expect(unevenIn(await secondsFrom(timers, MIDNIGHT), 10_000)).toEqual([])
    await timers.advanceTo(MIDNIGHT - 1)
    expect(timers.fired(kind)).toEqual([])
    await timers.advanceTo(MIDNIGHT + 10 * MINUTE)
    const fired = timers.fired(kind)
    expect(new Set(fired.map(({ key }) => key)).size).toBe(10_000)
    const bySecond = new Array<number>(600).fill(0)
    for (const { at } of fired) bySecond[Math.floor((at - MIDNIGHT) / 1000)]!++
    expect(unevenIn(bySecond, 10_000)).toEqual([])
    // The next day is spread too, and each timer keeps its time of day.
    expect(unevenIn(await secondsFrom(timers, MIDNIGHT + DAY), 10_000)).toEqual([])
    const placeOf = new Map(fired.map(({ key, dueAt }) => [key, dueAt - MIDNIGHT]))
    const next = await timers.list({ kind, limit: 10_000 })
    for (const { key, dueAt } of next.items) expect(dueAt - MIDNIGHT - DAY).toBe(placeOf.get(key))
  }, 60_000)

  it('are spread evenly when several instances set them, each after reading the forecast', async () => {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock, shardCount: 4 })
    const owner = await openTimers({ store: store.connect(), clock })
    const starting = owner.start()
    await clock.advance('5s')
    await starting
    const others = [await openTimers({ store: store.connect(), clock }), await openTimers({ store, clock })]
    for (const [index, timers] of [owner, ...others, owner].entries()) {
      const setting = timers.setMany(kind, rowsFrom(index * 2500, 2500))
      await clock.advance('15s')
      await setting
    }
    expect(unevenIn(await secondsFrom(owner, MIDNIGHT), 10_000)).toEqual([])
    const stopping = Promise.all([owner, ...others].map((timers) => timers.stop()))
    await clock.advance('20s')
    await stopping
  }, 60_000)

  it('are spread evenly on a file store with restarts', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-spread-'))
    const far = Date.UTC(2099, 0, 1)
    const on = daily({ at: '00:00', zone: 'UTC', from: far, window: '10m' })
    try {
      // Few at a time: an instance that ignores the existing timers would choose the same seconds again.
      for (let n = 0; n < 1500; n += 150) {
        const store = await FileStore.open(path.join(folder, 'timers'))
        const timers = await openTimers({ store })
        await timers.setMany(
          kind,
          rowsFrom(n, 150).map(({ key }) => ({ key, on })),
        )
        expect(unevenIn(await secondsFrom(timers, far), n + 150)).toEqual([])
        await timers.stop()
        await store.stop()
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  }, 60_000)
})

describe('a firing window', () => {
  it('gets new timers where few others are due', async () => {
    await using timers = await testTimers({ start: START })
    // The first half of the window is taken.
    const taken = Array.from({ length: 6000 }, (_, n) => ({ at: MIDNIGHT + (n % 300) * 1000 }))
    await timers.setMany(timer('other'), taken)
    await timers.setMany(kind, rowsFrom(0, 6000))
    expect(unevenIn(await secondsFrom(timers, MIDNIGHT), 12_000)).toEqual([])
  })

  it('gives the same offsets in the same run', async () => {
    const places = async () => {
      await using timers = await testTimers({ start: START, seed: 7 })
      const set = await timers.setMany(kind, rowsFrom(0, 50))
      return set.map(({ dueAt }) => dueAt)
    }
    const first = await places()
    expect(await places()).toEqual(first)
    expect(new Set(first).size).toBe(50)
  })

  it('works for a schedule that occurs once, for milliseconds, and when it is longer than the period', async () => {
    await using timers = await testTimers({ start: START })
    const once = daily({ at: '00:00', zone: 'UTC', from: START, times: 1, window: '1h' })
    await timers.set(kind, 'once', { on: once })
    await timers.set(kind, 'short', { on: daily({ at: '00:00', zone: 'UTC', window: 7 }) })
    await timers.set(kind, 'long', { on: every('10m', { anchor: START, window: '1h' }) })
    await timers.advance('2d')
    const dueAts = (key: string) =>
      timers.fired(kind).flatMap((each) => (each.key === key ? [each.dueAt] : []))
    expect(dueAts('once')).toEqual([expect.any(Number)])
    expect(dueAts('once')[0]! - MIDNIGHT).toBeGreaterThanOrEqual(0)
    expect(dueAts('once')[0]! - MIDNIGHT).toBeLessThan(60 * MINUTE)
    for (const [index, dueAt] of dueAts('short').entries()) {
      expect(dueAt - MIDNIGHT - index * DAY).toBeGreaterThanOrEqual(0)
      expect(dueAt - MIDNIGHT - index * DAY).toBeLessThan(7)
    }
    const long = dueAts('long')
    expect(long.length).toBeGreaterThan(280)
    for (const [index, dueAt] of long.entries()) expect(dueAt - long[0]!).toBe(index * 10 * MINUTE)
  })

  it('does not repeat an occurrence that was moved inside the window', async () => {
    await using timers = await testTimers({ start: START })
    const { dueAt } = await timers.set(kind, 'a', { on: atMidnight })
    expect(dueAt).toBeGreaterThan(MIDNIGHT + 1)
    await timers.move(kind, 'a', { at: MIDNIGHT + 1 })
    await timers.advance('2d')
    expect(timers.fired(kind).map(({ dueAt: at }) => at)).toEqual([MIDNIGHT + 1, dueAt + DAY])
  })

  it('keeps the offset through retries, dead letters and catching up', async () => {
    await using timers = await testTimers({ start: START })
    const failing = timer('failing', { retry: { attempts: 2, backoff: '30m..30m' } })
    const seen: number[] = []
    timers.handle(failing, ({ dueAt, occurrence }) => {
      seen.push(dueAt)
      if (occurrence < 2) throw new Error('no')
    })
    const { dueAt } = await timers.set(failing, 'a', { on: atMidnight })
    await timers.advance('3d')
    expect(seen).toEqual([dueAt, dueAt, dueAt + DAY, dueAt + DAY, dueAt + 2 * DAY])
    expect((await timers.dead()).items).toHaveLength(2)
  })

  it('works without a forecast when the store fails, and reports it', async () => {
    const clock = new VirtualClock({ start: START })
    const store: Store = new MemoryStore({ clock })
    const events: TimersEvent[] = []
    const timers = await openTimers({
      store: troubled(store, {
        histogram: async () => {
          throw new StoreError('store-unavailable', 'no forecast')
        },
      }),
      clock,
      onEvent: (event) => events.push(event),
    })
    const set = await timers.setMany(kind, rowsFrom(0, 600))
    expect(events).toMatchObject([{ type: 'store-trouble', call: 'histogram' }])
    // It knows its own choices.
    expect(new Set(set.map(({ dueAt }) => Math.floor(dueAt / 1000))).size).toBe(600)
    await timers.stop()
  })

  it('reads forecasts rarely when they are slow', async () => {
    const clock = new VirtualClock({ start: START })
    const store: Store = new MemoryStore({ clock })
    let forecasts = 0
    const timers = await openTimers({
      store: troubled(store, {
        histogram: async (query) => {
          forecasts++
          await new Promise<void>((resolve) => {
            clock.wakeAfter(600, resolve)
          })
          return await store.histogram(query)
        },
      }),
      clock,
    })
    for (let n = 0; n < 100; n++) {
      const hour = `${String(n % 24).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}`
      const setting = timers.set(kind, `k${n}`, { on: daily({ at: hour, zone: 'UTC', window: '1m' }) })
      await clock.advance(1000)
      await setting
    }
    // Two reads at once, then a twentieth of a hundred seconds.
    expect(forecasts).toBeGreaterThanOrEqual(8)
    expect(forecasts).toBeLessThanOrEqual(12)
    const stopping = timers.stop()
    await clock.advance('20s')
    await stopping
  })
})
