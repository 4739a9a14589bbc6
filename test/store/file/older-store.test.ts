import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../../src/front/index.js'
import { VirtualClock } from '../../../src/time/index.js'
import { during } from '../../during.js'
import { own } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

// An earlier build wrote the fixture: see fixtures/make-older-store.mjs. It has timers of six kinds. The build set
// them at START and fired those of the first ten minutes: ten orders, three timers that became dead letters, one that
// failed once, and five occurrences of a recurring one. It also moved, replaced, cancelled and paused timers, stored
// settings and history, and left one request in the inbox.
const fixture = new URL('fixtures/older-store.mdb.gz', import.meta.url)
const START = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
/** When the build stopped. */
const STOPPED_AT = START + 10.5 * MINUTE

const order = timer<{ i: unknown }>('order')
const tick = timer('tick')
const flaky = timer('flaky')
const doomed = timer<{ key: string }>('doomed')
const halted = timer('halted')
const slow = timer<string | null>('slow')

interface Fired {
  readonly key: string
  readonly attempt: number
  readonly dueAt: number
}

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

describe('a file store that an earlier build wrote', () => {
  it('lists the timers that were set, moved, replaced, retried and paused, with their contents', async () => {
    const { timers, settled } = await openOlder()
    const { items } = await settled(timers.list({ limit: 100 }))
    const dueInMinutes = items.map(({ kind, key, dueAt }) => `${kind} ${key} ${minutes(dueAt)}`)
    expect(dueInMinutes).toEqual([
      'halted h1 4',
      'order order-10 11',
      'order order-11 12',
      'tick often 12',
      'order order-16 17',
      'order order-17 18',
      'order order-18 19',
      'order order-19 20',
      'order inbox-answered 20',
      'order inbox-waiting 20',
      'flaky f1 25.3',
      'order Grüße 🔔 30',
      'tick hourly 60',
      'order order-14 90',
      'order order-12 120',
      'slow days 4320',
      'slow large 525600',
      'order order-15 16',
    ])
    expect(await settled(timers.get(order, 'order-10'))).toMatchObject({
      payload: { i: 10 },
      tags: ['fifth', 'number 10'],
    })
    expect(await settled(timers.get(order, 'Grüße 🔔'))).toMatchObject({ payload: { text: 'héllo' } })
    expect(await settled(timers.get(order, 'order-14'))).toMatchObject({ payload: { i: 'replaced' } })
    expect(await settled(timers.get(slow, 'large'))).toMatchObject({ payload: 'x'.repeat(40_000) })
    expect(await settled(timers.get(order, 'order-13'))).toBeUndefined()
    expect(await settled(timers.get(order, 'order-05'))).toMatchObject({ state: 'settled' })
  })

  it('moves and cancels timers', async () => {
    const { timers, settled } = await openOlder()
    expect(await settled(timers.move(order, 'order-16', { at: START + 50 * MINUTE }))).toBe('moved')
    expect(await settled(timers.cancel(order, 'order-17'))).toBe('cancelled')
    expect(await settled(timers.cancel(order, 'order-13'))).toBe('unknown')
    expect(await settled(timers.get(order, 'order-16'))).toMatchObject({ dueAt: START + 50 * MINUTE })
    expect(await settled(timers.get(order, 'order-17'))).toBeUndefined()
  })

  it('fires each timer once at its time, and none that was finished or cancelled', async () => {
    const { timers, clock, settled, advanceTo } = await openOlder()
    const fired: string[] = []
    const ticks: number[] = []
    const note = ({ key, attempt, dueAt }: Fired): void => {
      expect(clock.now()).toBeGreaterThanOrEqual(dueAt)
      fired.push(`${minutes(dueAt)} ${key}, attempt ${attempt}`)
    }
    timers.handle(order, note)
    timers.handle(flaky, note)
    timers.handle(doomed, note)
    timers.handle(halted, note)
    timers.handle(tick, ({ dueAt }) => void ticks.push(minutes(dueAt)))
    await settled(timers.start())
    await advanceTo(START + 31 * MINUTE, () => fired.length >= 10 && ticks.length >= 3)
    expect(fired.toSorted()).toEqual([
      '11 order-10, attempt 1',
      '12 order-11, attempt 1',
      '17 order-16, attempt 1',
      '18 order-17, attempt 1',
      '19 order-18, attempt 1',
      '20 inbox-answered, attempt 1',
      '20 inbox-waiting, attempt 1',
      '20 order-19, attempt 1',
      '3 f1, attempt 2',
      '30 Grüße 🔔, attempt 1',
    ])
    // Where virtual time outruns the disk, an occurrence may be missed: the schedule says `missed: once`.
    expect(ticks.slice(0, 3)).toEqual([12, expect.any(Number), expect.any(Number)])
    expect(ticks.every((at) => at % 2 === 0)).toBe(true)
    expect(new Set(ticks).size).toBe(ticks.length)
  })

  it('fires paused timers once they are resumed', async () => {
    const { timers, clock, settled, advanceTo } = await openOlder()
    const fired: string[] = []
    const note = ({ key, dueAt }: Fired): void => {
      expect(clock.now()).toBeGreaterThanOrEqual(dueAt)
      fired.push(`${minutes(dueAt)} ${key}`)
    }
    timers.handle(halted, note)
    timers.handle(order, note)
    await settled(timers.start())
    expect(await settled(timers.paused())).toEqual({
      all: false,
      kinds: ['halted'],
      ofKinds: [{ kind: 'halted' }],
    })
    await settled(timers.resume(halted))
    expect(await settled(timers.resume(order, 'order-15'))).toBe('resumed')
    await advanceTo(START + 16.5 * MINUTE, () => fired.length >= 4)
    expect(fired.toSorted()).toEqual(['11 order-10', '12 order-11', '16 order-15', '4 h1'])
  })

  it('has the dead letters, and redrives them', async () => {
    const { timers, settled, advanceTo } = await openOlder()
    const { items } = await settled(timers.dead())
    expect(items.map(({ key, reason, payload }) => ({ key, reason, payload }))).toEqual(
      ['d1', 'd2', 'd3'].map((key) => ({ key, reason: 'no such account', payload: { key } })),
    )
    const fired: string[] = []
    timers.handle(doomed, ({ key }) => void fired.push(key))
    await settled(timers.start())
    expect(await settled(timers.redrive([items[1]!.id]))).toMatchObject({ count: 1 })
    await advanceTo(STOPPED_AT + MINUTE, () => fired.length > 0)
    expect(fired).toEqual(['d2'])
    expect((await settled(timers.dead())).items.map(({ key }) => key)).toEqual(['d1', 'd3'])
  })

  it('has the history and the settings', async () => {
    const { timers, settled } = await openOlder()
    const eventsOf = async (kind: typeof order, key: string): Promise<string[]> =>
      (await settled(timers.history({ kind, key }))).items.map(({ event }) => event)
    expect(await eventsOf(order, 'order-12')).toEqual(['created', 'moved'])
    expect(await eventsOf(order, 'order-13')).toEqual(['created', 'cancelled'])
    expect(await eventsOf(order, 'order-05')).toEqual(['created', 'attempt', 'settled'])
    expect(await settled(timers.listTargets())).toMatchObject([{ kind: 'logged', type: 'log' }])
    expect(await settled(timers.getQuota())).toMatchObject({ maxTimers: 1000 })
  })

  it('has the counts, the waiting request and the answered one, and lets an owner acquire its shard', async () => {
    const store = await openIn(unpacked(), { clock: new VirtualClock({ start: STOPPED_AT }) })
    expect(await store.countRows()).toBe(17)
    expect(await store.counts()).toEqual({ created: 32, settled: 10, cancelled: 1, replaced: 1, dead: 3 })
    expect(await store.answers(0, ['answered', 'waiting'])).toEqual(['set', undefined])
    const fence = await own(store)
    expect((await store.requests(fence, 10)).map(({ id }) => id)).toEqual(['waiting'])
    expect((await store.shards())[0]).toMatchObject({
      owner: 'test',
      epoch: 3,
      lateBefore: expect.any(Number),
    })
  })
})

function minutes(at: number): number {
  return Math.round((at - START) / MINUTE / 0.1) / 10
}

function unpacked(): string {
  const folder = newFolder()
  writeFileSync(path.join(folder, 'data.mdb'), gunzipSync(readFileSync(fixture)))
  return folder
}

/** Timers on a copy of the fixture, at the time when the earlier build stopped. */
async function openOlder() {
  const clock = new VirtualClock({ start: STOPPED_AT })
  const settled = <Answer>(work: Promise<Answer>): Promise<Answer> => during(clock, work, 0, () => sleep(1))
  // Virtual time may run ahead of a slow disk, but not so far that the lease ends.
  const engine = { leaseMs: 3_600_000 }
  const store = `file:${unpacked()}` as const
  const timers: Timers = await settled(openTimers({ store, clock, engine, history: 'all' }))
  stops.push(() => settled(timers.stop()))
  /** Advances to an instant in steps, and then gives the disk time until the condition holds. */
  const advanceTo = async (at: number, isReached: () => boolean): Promise<void> => {
    while (clock.now() < at) {
      await clock.advance(Math.min(1000, at - clock.now()))
      await sleep(2)
    }
    for (let waits = 0; waits < 5000 && !isReached(); waits++) {
      await clock.advance(0)
      await sleep(2)
    }
  }
  return { timers, clock, settled, advanceTo }
}
