import { describe, expect, it } from 'vitest'
import { Dead } from '../../src/delivery/index.js'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { testTimers } from '../../src/testing/index.js'
import { VirtualClock } from '../../src/time/index.js'

const START = Date.UTC(2026, 0, 1)
const kind = timer<unknown>('kind', { retry: { attempts: 3, backoff: '100ms..100ms' } })

type Strategy = 'preload' | 'lookahead'

/** Two instances on one store: a worker that fires, and a web process that is never started. */
class Rig {
  readonly clock = new VirtualClock({ start: START })
  readonly store = new MemoryStore({ clock: this.clock, shardCount: 4 })

  async open(engine: object): Promise<Timers> {
    const store = this.store.connect()
    return await this.during(openTimers({ store, clock: this.clock, logger: false, engine }))
  }

  async during<T>(work: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const watched = work.finally(() => {
      state.isOver = true
    })
    watched.catch(() => undefined)
    await this.clock.advance(0)
    while (!state.isOver) await this.clock.advance(1)
    return await watched
  }
}

async function workerAndWeb(strategy: Strategy, engine: object = {}) {
  const rig = new Rig()
  const worker = await rig.open({ strategy, ...engine })
  const web = await rig.open({ strategy, ...engine })
  worker.handle(kind, ({ key, attempt }) => {
    if (key === 'flaky' && attempt < 3) throw new Error('no')
    if (key === 'dead') throw new Dead('never')
  })
  await rig.during(worker.start())
  return { rig, worker, web }
}

describe.each<Strategy>(['preload', 'lookahead'])('the outcome of a timer, with %s', (strategy) => {
  it('is remembered for an hour, in every process', async () => {
    const { rig, worker, web } = await workerAndWeb(strategy)
    const { handle } = await rig.during(web.set(kind, 'done', { in: '1s', payload: { n: 7 } }))
    await rig.during(web.set(kind, 'flaky', { in: '1s' }))
    await rig.during(web.set(kind, 'dead', { in: '1s' }))
    await rig.clock.advance('5s')
    for (const passes of ['0s', '10m', '45m']) {
      await rig.clock.advance(passes)
      for (const timers of [worker, web]) {
        expect(await timers.get(kind, 'done')).toMatchObject({
          state: 'settled',
          handle,
          payload: { n: 7 },
          attempts: 1,
          settled: { outcome: 'done', at: START + 1000 },
        })
        expect(await timers.get(handle)).toMatchObject({ state: 'settled' })
        expect(await timers.get(kind, 'flaky')).toMatchObject({ attempts: 3, settled: { outcome: 'done' } })
        expect(await timers.get(kind, 'dead')).toMatchObject({
          settled: { outcome: 'dead', reason: 'never' },
        })
        expect((await timers.why(kind, 'done')).told.at(-1)).toContain('settled as done')
        for (const key of ['done', 'flaky', 'dead']) {
          expect(await rig.during(timers.cancel(kind, key))).toBe('settled')
          expect(await rig.during(timers.move(kind, key, { in: '1h' }))).toBe('settled')
        }
        const keys = ['done', 'never-set']
        expect(await rig.during(timers.cancelMany({ kind, keys }))).toEqual({
          found: 2,
          settled: 1,
          unknown: 1,
        })
        expect((await timers.list({})).items).toEqual([])
      }
    }
    await rig.clock.advance('10m')
    for (const timers of [worker, web]) {
      for (const key of ['done', 'flaky', 'dead']) expect(await timers.get(kind, key)).toBe(undefined)
      expect(await rig.during(timers.cancel(kind, 'done'))).toBe('unknown')
    }
  })

  it('is forgotten when the key is set again, and when that timer is cancelled', async () => {
    const { rig, worker } = await workerAndWeb(strategy)
    const first = await rig.during(worker.set(kind, 'a', { in: '1s' }))
    await rig.clock.advance('5s')
    await rig.during(worker.set(kind, 'a', { in: '1m' }))
    expect(await worker.get(kind, 'a')).toMatchObject({ state: 'waiting' })
    expect(await worker.get(first.handle)).toBe(undefined)
    expect(await rig.during(worker.cancel(kind, 'a'))).toBe('cancelled')
    expect(await rig.during(worker.cancel(kind, 'a'))).toBe('unknown')
  })

  it('is remembered by the next owner', async () => {
    const { rig, worker, web } = await workerAndWeb(strategy)
    await rig.during(worker.set(kind, 'a', { in: '1s' }))
    await rig.clock.advance('30m')
    await rig.during(worker.stop())
    web.handle(kind, () => undefined)
    await rig.during(web.start())
    await rig.clock.advance('25m')
    expect(await web.get(kind, 'a')).toMatchObject({ state: 'settled' })
    await rig.clock.advance('90m')
    expect(await web.get(kind, 'a')).toBe(undefined)
  })

  it('is remembered for the latest timers only, if there are too many', async () => {
    const { rig, worker } = await workerAndWeb(strategy, { maxOutcomes: 400 })
    for (let n = 0; n < 1000; n += 10) {
      const rows = Array.from({ length: 10 }, (_, index) => ({ key: `k${n + index}`, in: '1s' }))
      await rig.during(worker.setMany(kind, rows))
      await rig.clock.advance('5s')
    }
    await rig.clock.advance('1m')
    const found = await Promise.all(
      Array.from({ length: 1000 }, async (_, n) => (await worker.get(kind, `k${n}`)) !== undefined),
    )
    const count = found.filter(Boolean).length
    // About so many: half of that may wait for the next sweep.
    expect(count).toBeLessThanOrEqual(600)
    expect(count).toBeGreaterThan(300)
    expect(found.indexOf(true)).toBeGreaterThan(300)
  })
})

it('testTimers remembers outcomes as long as production does', async () => {
  await using timers = await testTimers()
  await timers.set(kind, 'a', { in: '1s' })
  await timers.advance('2s')
  expect(await timers.get(kind, 'a')).toMatchObject({ state: 'settled' })
  await timers.advance('55m')
  expect(await timers.cancel(kind, 'a')).toBe('settled')
  await timers.advance('10m')
  expect(await timers.cancel(kind, 'a')).toBe('unknown')
  expect(await timers.get(kind, 'a')).toBe(undefined)
})
