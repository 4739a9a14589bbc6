import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/error/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { Rig, START } from './rig.js'

const settings = { sweepMs: 10_000, outcomesMs: 1 }

/** A rig whose store answers the first `left` sweeps with `more: true`. */
function rigWithLeft(left: number, more: object = {}): { rig: Rig; sweeps: () => number } {
  const rig = new Rig({ settings: { ...settings, ...more } })
  let calls = 0
  const sweep = MemoryStore.prototype.sweep.bind(rig.store)
  rig.store.sweep = async (fence, below) => {
    const answer = await sweep(fence, below)
    return { ...answer, more: ++calls <= left }
  }
  return { rig, sweeps: () => calls }
}

describe('sweeping', () => {
  it('goes on at once while the store has more to sweep', async () => {
    const { rig, sweeps } = rigWithLeft(25)
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('a', 1000))
    await rig.clock.advance('5s')
    expect(sweeps()).toBe(0)
    await rig.clock.advance('7s')
    expect(sweeps()).toBe(26)
    await rig.clock.advance('1m')
    expect(sweeps()).toBe(26)
  })

  it('pauses while due timers are not loaded yet', async () => {
    const { rig, sweeps } = rigWithLeft(25, { windowMs: 4000 })
    const load = MemoryStore.prototype.load.bind(rig.store)
    let isAway = false
    rig.store.load = (fence, request) =>
      isAway ? Promise.reject(new StoreError('store-unavailable', 'away')) : load(fence, request)
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('a', 1000))
    await rig.clock.advance('2s')
    isAway = true
    await rig.clock.advance('13s')
    expect(sweeps()).toBe(1)
    isAway = false
    await rig.clock.advance('5s')
    expect(sweeps()).toBe(26)
  })

  it.each([
    ['replaced', (rig: Rig) => rig.set('a', 7_200_000)],
    ['moved', (rig: Rig) => rig.move('a', 7_200_000)],
    ['cancelled', (rig: Rig) => rig.cancel('a')],
  ] as const)(
    'removes the old row of a timer that was %s, although nothing has fired',
    async (_, operation) => {
      const { rig, sweeps } = rigWithLeft(0)
      await rig.settled(rig.engine.start())
      await rig.submit(rig.set('a', 3_600_000))
      await rig.clock.advance('30s')
      expect(sweeps()).toBe(0)
      await rig.submit(operation(rig))
      await rig.clock.advance('30s')
      expect(sweeps()).toBe(1)
    },
  )

  it('waits for sweepMs while few rows are finished, and for a sixth of that while many are', async () => {
    const rig = new Rig({ settings: { sweepMs: 60_000, outcomesMs: 1000, maxOutcomes: 200 } })
    await rig.settled(rig.engine.start())
    const setEachSecond = async (count: number): Promise<void> => {
      for (let second = 0; second < 120; second++) {
        await rig.submit(...Array.from({ length: count }, (_, index) => rig.set(`${second}-${index}`, 500)))
        await rig.clock.advance('1s')
      }
    }
    await setEachSecond(1)
    expect(rig.eventsOf('swept')).toHaveLength(2)
    await setEachSecond(50)
    expect(rig.eventsOf('swept')).toHaveLength(14)
  })

  it('comes early if many bytes were replaced', async () => {
    const { rig, sweeps } = rigWithLeft(0)
    await rig.settled(rig.engine.start())
    const payload = new Uint8Array(100_000)
    for (let round = 0; round < 160; round++) {
      await rig.submit(rig.set('a', 3_600_000, { payload }))
      expect(sweeps()).toBe(0)
    }
    for (let round = 0; round < 20; round++) await rig.submit(rig.set('a', 3_600_000, { payload }))
    expect(rig.clock.now()).toBeLessThan(START + 5000)
    expect(sweeps()).toBe(1)
  })
})
