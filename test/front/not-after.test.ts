import { describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'
import { StoreLines } from './store-lines.js'

const START = Date.UTC(2026, 0, 1)
const kind = timer('kind', { retry: { attempts: 9, backoff: '4s..4s' }, concurrency: 1 })

type Strategy = 'preload' | 'lookahead' | 'claim'

/** Instances on one store, with one clock. A cut-off instance cannot reach the store. */
class Rig {
  readonly clock = new VirtualClock({ start: START })
  readonly seen: string[] = []
  /** How late the latest start was after its due time. */
  latestMs = 0
  readonly #strategy: Strategy
  readonly #store: MemoryStore
  readonly #lines = new StoreLines()

  constructor(strategy: Strategy) {
    const { clock } = this
    this.#strategy = strategy
    this.#store = new MemoryStore({ clock, shardCount: 1, ...(strategy === 'claim' && { strategy }) })
  }

  async open(name: string, handle: (key: string) => unknown = () => undefined): Promise<Timers> {
    const strategy = this.#strategy
    const clock = this.clock.fork()
    const store = this.#lines.to(this.#store.connect(), name)
    const timers = await this.during(openTimers({ store, clock, logger: false, engine: { strategy } }))
    timers.handle(kind, ({ key, occurrence, attempt, dueAt }) => {
      const seconds = Math.floor((this.clock.now() - START) / 1000)
      this.seen.push(`${name} ${key} ${occurrence}/${attempt} at ${seconds}`)
      this.latestMs = Math.max(this.latestMs, this.clock.now() - dueAt)
      return handle(key)
    })
    await this.during(timers.start())
    return timers
  }

  cutOff(name: string): void {
    this.#lines.cutOff(name)
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.wakeAfter(ms, resolve)
    })
  }

  during<T>(work: Promise<T>): Promise<T> {
    return during(this.clock, work, 1)
  }
}

describe.each<Strategy>(['preload', 'lookahead', 'claim'])('notAfter, with %s', (strategy) => {
  it('lets a timer start in time', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(kind, 'a', { at: START + 60_000, notAfter: { within: '1s' } }))
    await rig.during(one.set(kind, 'b', { at: START + 61_000, notAfter: { at: START + 62_000 } }))
    await rig.clock.advance('2m')
    expect(rig.seen).toEqual(['one a 0/1 at 60', 'one b 0/1 at 61'])
    expect(one.engine.stats().counts.missed).toBe(0)
  })

  it('settles a timer as missed that has waited too long for its handler', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one', (key) => (key === 'slow' ? rig.sleep(10_000) : undefined))
    await rig.during(one.set(kind, 'slow', { at: START + 60_000 }))
    await rig.during(one.set(kind, 'late', { at: START + 61_000, notAfter: { within: '5s' } }))
    await rig.during(one.set(kind, 'patient', { at: START + 62_000, notAfter: { at: START + 90_000 } }))
    await rig.clock.advance('2m')
    expect(rig.seen).toEqual(['one slow 0/1 at 60', 'one patient 0/1 at 70'])
    const { counts } = one.engine.stats()
    expect([counts.missed, counts.fired]).toEqual([1, 2])
    expect(await one.get(kind, 'late')).toMatchObject({
      state: 'settled',
      attempts: 0,
      settled: { outcome: 'missed', reason: 'missed: it may not start after 2026-01-01T00:01:06.000Z' },
    })
    const { items } = await one.history({ kind, key: 'late' })
    expect(items.map(({ event }) => event)).toEqual(['missed'])
    // A letter that is redriven has no latest start any more.
    await rig.during(one.redrive({}))
    await rig.clock.advance('1s')
    expect(rig.seen.at(-1)).toContain('one late 0/1')
  })

  it('settles a timer as missed when its instance comes back too late', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one')
    await rig.during(one.set(kind, 'a', { at: START + 60_000, notAfter: { within: '30s' } }))
    await rig.during(one.set(kind, 'b', { on: every('1m'), notAfter: { within: '30s' } }))
    await rig.during(one.stop())
    await rig.clock.advance('150s')
    const two = await rig.open('two')
    await rig.clock.advance('65s')
    // The recurring timer goes on with its next occurrence.
    expect(rig.seen.length).toBeGreaterThan(0)
    expect(rig.seen.filter((line) => !line.startsWith('two b '))).toEqual([])
    expect(rig.latestMs).toBeLessThanOrEqual(30_000)
    const { items } = await two.dead()
    expect(items.map(({ key }) => key)).toContain('a')
    expect(items.map(({ key }) => key)).toContain('b')
    expect(items.map(({ attempts }) => attempts)).toEqual(items.map(() => 0))
    expect(two.engine.stats().counts.missed).toBe(items.length)
  })

  it('ends the retries', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one', () => {
      throw new Error('no')
    })
    await rig.during(one.set(kind, 'a', { at: START + 60_000, notAfter: { within: '10s' } }))
    await rig.clock.advance('5m')
    expect(rig.seen.length).toBeGreaterThan(1)
    for (const line of rig.seen) expect(Number(line.split(' at ')[1])).toBeLessThanOrEqual(70)
    const [letter] = (await one.dead()).items
    expect(letter).toMatchObject({ key: 'a', attempts: rig.seen.length })
    expect(letter!.reason).toContain('may not start later: no')
    expect(one.engine.stats().counts.missed).toBe(0)
  })

  it('starts nothing again after a crash that outlasts it', async () => {
    const rig = new Rig(strategy)
    const one = await rig.open('one', () => new Promise(() => undefined))
    await rig.during(one.set(kind, 'a', { at: START + 60_000, notAfter: { within: '1s' } }))
    await rig.clock.advance('61s')
    rig.cutOff('one')
    const two = await rig.open('two')
    await rig.clock.advance('5m')
    expect(rig.seen).toEqual(['one a 0/1 at 60'])
    const [letter] = (await two.dead()).items
    expect(letter!.reason).toMatch(/^1 attempts were made, and it may not start after/)
  })
})

it('notAfter is checked', async () => {
  const rig = new Rig('preload')
  const one = await rig.open('one')
  const failing = [
    { in: '1s', notAfter: '5s' },
    { in: '1s', notAfter: {} },
    { in: '1s', notAfter: { within: '1s', at: 5 } },
    { in: '1s', notAfter: { until: 5 } },
    { on: every('1m'), notAfter: { at: START } },
  ]
  for (const options of failing) {
    await expect(one.set(kind, 'a', options as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^(invalid|unknown)-option$/),
    })
  }
})
