import { describe, expect, it } from 'vitest'
import type { TimerFiring } from '../../src/delivery/index.js'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'
import { StoreLines } from './store-lines.js'

const START = Date.UTC(2026, 0, 1)
const tick = timer('tick', { retry: { attempts: 5, backoff: '100ms..100ms' } })
const everyTenSeconds = { on: every('10s') }

type Strategy = 'preload' | 'lookahead' | 'claim'

/** Instances on one store, with one clock. A cut-off instance cannot reach the store. */
class Rig {
  readonly clock = new VirtualClock({ start: START })
  readonly seen: string[] = []
  readonly #strategy: Strategy
  readonly #store: MemoryStore
  readonly #lines = new StoreLines()
  readonly #finish = new Map<string, ((error?: Error) => void)[]>()

  constructor(strategy: Strategy, shardCount = 1) {
    const { clock } = this
    this.#strategy = strategy
    this.#store = new MemoryStore({ clock, shardCount, ...(strategy === 'claim' && { strategy }) })
  }

  /** An instance whose attempts run until `finish`. */
  async open(name: string, handle?: (firing: TimerFiring) => unknown): Promise<Timers> {
    const timers = await this.openOnly(name)
    timers.handle(tick, (firing) => {
      this.seen.push(`${name} ${firing.occurrence}/${firing.attempt}`)
      if (handle !== undefined) return handle(firing)
      return new Promise<void>((resolve, reject) => {
        const finish = (error?: Error): void => (error === undefined ? resolve() : reject(error))
        this.#finish.set(name, [...(this.#finish.get(name) ?? []), finish])
      })
    })
    await this.during(timers.start())
    return timers
  }

  async openOnly(name: string): Promise<Timers> {
    const strategy = this.#strategy
    const clock = this.clock.fork()
    return await this.during(
      openTimers({
        store: this.#lines.to(this.#store.connect(), name),
        clock,
        history: 'all',
        logger: false,
        engine: { strategy },
      }),
    )
  }

  finish(name: string, error?: Error): void {
    for (const finish of this.#finish.get(name)!.splice(0)) finish(error)
  }

  cutOff(name: string): void {
    this.#lines.cutOff(name)
  }

  during<T>(work: Promise<T>): Promise<T> {
    return during(this.clock, work, 1)
  }
}

describe.each<Strategy>(['preload', 'lookahead', 'claim'])('a recurring timer, with %s', (strategy) => {
  it('ends when its handler calls firing.end()', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one', (firing) => {
      if (firing.occurrence === 2) firing.end()
    })
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1', 'one 1/1', 'one 2/1'])
    expect((await one.get(tick, 'a'))?.state ?? 'settled').toBe('settled')
    expect((await one.dead()).items).toEqual([])
  })

  it('goes on when the last word of its handler is firing.again(), and ends when it is firing.end()', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one', (firing) => {
      if (firing.occurrence === 1) firing.again({ in: '1s' })
      firing.end()
      if (firing.occurrence === 0) firing.again({ in: '1s' })
    })
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1', 'one 1/1'])
  })

  it('is retried if its handler throws after firing.end()', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one', (firing) => {
      firing.end()
      if (firing.attempt === 1) throw new Error('no')
    })
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1', 'one 0/2'])
  })

  it('ends after the attempt that runs when it is cancelled, and answers ending', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('11s')
    expect(await rig.during(one.cancel(tick, 'a'))).toBe('ending')
    expect(await rig.during(one.cancel(tick, 'a'))).toBe('ending')
    rig.finish('one')
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1'])
    expect((await one.get(tick, 'a'))?.state ?? 'settled').toBe('settled')
    expect((await one.dead()).items).toEqual([])
    const events = (await one.history({ kind: tick, key: 'a' })).items.map(({ event }) => event)
    expect(events).toEqual(['created', 'ending', 'ending', 'attempt', 'settled'])
  })

  it('becomes a dead letter if the attempt fails during which it was cancelled', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('11s')
    expect(await rig.during(one.cancel(tick, 'a'))).toBe('ending')
    rig.finish('one', new Error('no'))
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1'])
    const { items } = await one.dead()
    expect(items.map(({ key, attempts }) => [key, attempts])).toEqual([['a', 1]])
    // A redriven letter is a new timer that fires once.
    await rig.during(one.redrive({}))
    await rig.clock.advance('1s')
    rig.finish('one')
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1', 'one 0/1'])
  })

  it('can be cancelled by another instance while it fires', async () => {
    const rig = new Rig(strategy)
    await rig.open('one')
    const web = await rig.openOnly('web')
    await rig.during(web.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('15s')
    expect(await rig.during(web.cancel(tick, 'a'))).toBe('ending')
    rig.finish('one')
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1'])
  })

  it('starts no more after ending was answered and its instance was lost', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('11s')
    expect(await rig.during(one.cancel(tick, 'a'))).toBe('ending')
    rig.cutOff('one')
    const two = await rig.open('two')
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1'])
    expect((await two.dead()).items.map(({ key }) => key)).toEqual(['a'])
    expect((await two.get(tick, 'a'))?.state ?? 'settled').toBe('settled')
  })

  it('is replaced by a set after ending was answered', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('11s')
    expect(await rig.during(one.cancel(tick, 'a'))).toBe('ending')
    await rig.during(one.set(tick, 'a', { in: '1m' }))
    rig.finish('one')
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1', 'one 0/1'])
  })

  it('answers firing while an attempt runs and it fires once', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(tick, 'a', { in: '1s' }))
    await rig.clock.advance('2s')
    expect(await rig.during(one.cancel(tick, 'a'))).toBe('firing')
  })

  it('keeps its long attempt after ending was answered', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(tick, 'a', everyTenSeconds))
    await rig.clock.advance('11s')
    expect(await rig.during(one.cancel(tick, 'a'))).toBe('ending')
    await rig.clock.advance('2m')
    rig.finish('one')
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one 0/1'])
    expect((await one.dead()).items).toEqual([])
    expect((await one.stats()).store.settled).toBe(1)
  })
})

describe('a recurring timer whose attempt was offered to another instance', () => {
  it.each([undefined, new Error('no')])(
    'ends after that attempt when it is cancelled (%s)',
    async (error) => {
      const rig = new Rig('preload', 4)
      // Only the first instance handles the kind, and the second owns some of the shards.
      const one = await rig.open('one')
      const two = await rig.openOnly('two')
      await rig.during(two.start())
      await rig.clock.advance('20s')
      expect(two.engine.stats().shards.length).toBeGreaterThan(0)
      const keys = Array.from({ length: 12 }, (_, n) => `k${n}`)
      await rig.during(
        one.setMany(
          tick,
          keys.map((key) => ({ key, ...everyTenSeconds })),
        ),
      )
      await rig.clock.advance('15s')
      expect(rig.seen.length).toBe(12)
      for (const timers of [two, one]) {
        expect(await rig.during(timers.cancelMany({ kind: tick, keys }))).toEqual({ found: 12, ending: 12 })
      }
      rig.finish('one', error)
      await rig.clock.advance('5m')
      expect(rig.seen.length).toBe(12)
      expect((await two.dead()).items.length).toBe(error === undefined ? 0 : 12)
    },
  )
})

describe('a recurring timer whose attempt was handed over', () => {
  it.each([undefined, new Error('no')])(
    'ends after that attempt when it is cancelled (%s)',
    async (error) => {
      const rig = new Rig('preload', 8)
      const one = await rig.open('one')
      const keys = Array.from({ length: 30 }, (_, n) => `k${n}`)
      await rig.during(
        one.setMany(
          tick,
          keys.map((key) => ({ key, ...everyTenSeconds })),
        ),
      )
      await rig.clock.advance('11s')
      const two = await rig.open('two')
      await rig.clock.advance('1m')
      // Some shards have moved, and the attempts in them go on at the first instance.
      expect(two.engine.stats().shards.length).toBeGreaterThan(1)
      expect(rig.seen.filter((line) => line === 'one 0/1').length).toBe(30)
      for (const timers of [two, one]) {
        expect(await rig.during(timers.cancelMany({ kind: tick, keys }))).toEqual({ found: 30, ending: 30 })
      }
      rig.finish('one', error)
      await rig.clock.advance('5m')
      expect(rig.seen.length).toBe(30)
      expect((await two.dead()).items.length).toBe(error === undefined ? 0 : 30)
      expect((await two.stats()).store).toMatchObject({ settled: error === undefined ? 30 : 0 })
    },
  )
})
