import { describe, expect, it } from 'vitest'
import { openTimers, timer, type TimerKind } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { shardOf } from '../../src/timer/index.js'

const START = Date.UTC(2026, 0, 1)
const SHARDS = 8
const shardOfKey = (key: string) => shardOf({ namespace: 'default', kind: 'kind', key }, SHARDS)

/** Keys of a shard, or of all of them. */
function keysOf(count: number, shard?: number): string[] {
  const keys: string[] = []
  for (let n = 0; keys.length < count; n++) {
    if (shard === undefined || shardOfKey(`k${n}`) === shard) keys.push(`k${n}`)
  }
  return keys
}

interface Seen {
  readonly key: string
  readonly at: number
}

/** One instance that owns every shard, and what its handler sees. */
async function instanceOf(kind: TimerKind<undefined>, takesMs: number) {
  const clock = new VirtualClock({ start: START })
  const store = new MemoryStore({ clock, shardCount: SHARDS })
  const timers = await openTimers({ store, clock })
  const seen: Seen[] = []
  const state = { underWay: 0, most: 0 }
  const handle = async ({ key }: { readonly key: string }): Promise<void> => {
    seen.push({ key, at: clock.now() - START })
    state.most = Math.max(state.most, ++state.underWay)
    if (takesMs > 0) {
      await new Promise<void>((resolve) => {
        clock.wakeAfter(takesMs, resolve)
      })
    }
    state.underWay--
  }
  const during = async <T>(work: Promise<T>): Promise<T> => {
    const after = { isOver: false }
    const watched = work.finally(() => {
      after.isOver = true
    })
    await clock.advance(0)
    while (!after.isOver) await clock.advance(50)
    return await watched
  }
  const set = async (keys: readonly string[]): Promise<void> => {
    await during(
      timers.setMany(
        kind,
        keys.map((key) => ({ key, at: START + 60_000 })),
      ),
    )
  }
  await during(timers.start())
  await clock.advance(START + 30_000 - clock.now())
  return { clock, timers, seen, state, handle, during, set, stop: () => during(timers.stop()) }
}

describe('of one instance with many shards', () => {
  it.each(['handle', 'handleMany'] as const)('a kind has the concurrency it says, by %s', async (how) => {
    const kind = timer('kind', { concurrency: 3 })
    const it8 = await instanceOf(kind, 100)
    if (how === 'handle') it8.timers.handle(kind, it8.handle)
    else it8.timers.handleMany(kind, async (firings) => void (await Promise.all(firings.map(it8.handle))))
    await it8.set(keysOf(240))
    await it8.clock.advance(START + 60_000 - it8.clock.now() + 240 * 34 + 2000)
    expect(it8.state.most).toBe(3)
    expect(it8.seen.map(({ key }) => key).toSorted()).toEqual(keysOf(240).toSorted())
    // Three at a time, all the time: no shard waits while there is room.
    expect(it8.seen.at(-1)!.at - 60_000).toBe(79 * 100)
    await it8.stop()
  })

  it('a kind has the rate it says', async () => {
    const kind = timer('kind', { rate: 10 })
    const it8 = await instanceOf(kind, 0)
    it8.timers.handle(kind, it8.handle)
    await it8.set(keysOf(100))
    await it8.clock.advance(START + 60_000 - it8.clock.now() + 20_000)
    expect(it8.seen).toHaveLength(100)
    for (let second = 0; second < 9; second++) {
      const from = 60_000 + second * 1000
      const inIt = it8.seen.filter(({ at }) => at >= from && at < from + 1000)
      // A second's worth may start at once.
      expect(inIt.length, `second ${second}`).toBeLessThanOrEqual(second === 0 ? 20 : 11)
    }
    expect(it8.seen.at(-1)!.at).toBeGreaterThanOrEqual(60_000 + 8900)
    expect(it8.seen.at(-1)!.at).toBeLessThan(60_000 + 9500)
    await it8.stop()
  })

  it('a shard with much to do leaves the others their turn', async () => {
    for (const kind of [timer('kind', { concurrency: 1 }), timer('kind', { rate: 1 })]) {
      const it8 = await instanceOf(kind, kind.rate === undefined ? 100 : 0)
      it8.timers.handle(kind, it8.handle)
      const few = [1, 2, 3].map((shard) => keysOf(1, shard)[0]!)
      await it8.set([...keysOf(100, 0), ...few])
      await it8.clock.advance(START + 60_000 - it8.clock.now() + 120_000)
      expect(it8.seen).toHaveLength(103)
      for (const key of few) {
        const turn = it8.seen.findIndex((each) => each.key === key)
        expect(turn, `the turn of ${key}`).toBeLessThan(8)
      }
      await it8.stop()
    }
  })

  it('a rate holds also for a handler that came when timers were due already', async () => {
    const kind = timer('kind', { rate: 10 })
    const it8 = await instanceOf(kind, 0)
    await it8.set(keysOf(50))
    await it8.clock.advance(START + 70_000 - it8.clock.now())
    expect(it8.seen).toEqual([])
    it8.timers.handle(kind, it8.handle)
    await it8.clock.advance(1000)
    expect(it8.seen.length).toBeLessThanOrEqual(21)
    expect(it8.seen.length).toBeGreaterThanOrEqual(19)
    await it8.clock.advance(10_000)
    expect(it8.seen).toHaveLength(50)
    await it8.stop()
  })

  it('a long attempt counts until it ends, also while its row is carried', async () => {
    const kind = timer('kind', { concurrency: 2 })
    const it8 = await instanceOf(kind, 40_000)
    it8.timers.handle(kind, it8.handle)
    await it8.set(keysOf(4, 0))
    await it8.clock.advance(START + 61_000 - it8.clock.now())
    expect(it8.state.underWay).toBe(2)
    await it8.clock.advance(200_000)
    expect(it8.state.most).toBe(2)
    expect(it8.seen).toHaveLength(4)
    await it8.stop()
  })
})
