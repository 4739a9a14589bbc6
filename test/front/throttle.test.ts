import { describe, expect, it } from 'vitest'
import { openTimers, timer, type TimerKind } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { shardOf } from '../../src/timer/index.js'

const START = Date.UTC(2026, 0, 1)
const SHARDS = 8
const shardOfKey = (key: string) => shardOf({ namespace: 'default', kind: 'kind', key }, SHARDS)

/** Keys of one shard, or of all shards. */
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

/** The most instants, in order of time, that fall into any window of `ms`. */
function mostWithin(ms: number, at: readonly number[]): number {
  let first = 0
  return Math.max(
    ...at.map((each, index) => {
      while (at[first]! <= each - ms) first++
      return index - first + 1
    }),
  )
}

/** An instance that owns every shard, and a record of what its handler gets. */
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

describe('in an instance with many shards', () => {
  it.each(['handle', 'handleMany'] as const)('a kind never exceeds its concurrency, with %s', async (how) => {
    const kind = timer('kind', { concurrency: 3 })
    const it8 = await instanceOf(kind, 100)
    if (how === 'handle') it8.timers.handle(kind, it8.handle)
    else it8.timers.handleMany(kind, async (firings) => void (await Promise.all(firings.map(it8.handle))))
    await it8.set(keysOf(240))
    await it8.clock.advance(START + 60_000 - it8.clock.now() + 240 * 34 + 2000)
    expect(it8.state.most).toBe(3)
    expect(it8.seen.map(({ key }) => key).toSorted()).toEqual(keysOf(240).toSorted())
    // Always three at a time: no shard waits while the concurrency allows a start.
    expect(it8.seen.at(-1)!.at - 60_000).toBe(79 * 100)
    await it8.stop()
  })

  it.each([
    { rate: 10, burst: 1 },
    { rate: 50, burst: 5 },
    { rate: 2000, burst: 200 },
  ])('no second has more starts than a rate of $rate and a burst of $burst', async ({ rate, burst }) => {
    const kind = timer('kind', { rate })
    const it8 = await instanceOf(kind, 0)
    it8.timers.handle(kind, it8.handle)
    const count = rate * 4
    await it8.set(keysOf(count))
    await it8.clock.advance(START + 60_000 - it8.clock.now() + 20_000)
    expect(it8.seen).toHaveLength(count)
    const at = it8.seen.map((each) => each.at)
    // Any span of one second counts, not only those from a full second on: two bursts could meet at a full second.
    expect(mostWithin(1000, at)).toBeLessThanOrEqual(rate + burst)
    expect(mostWithin(1, at)).toBeLessThanOrEqual(burst)
    // The rate is used up all the same: four seconds' worth takes four seconds.
    expect(at.at(-1)! - 60_000).toBeLessThanOrEqual(4100)
    await it8.stop()
  })

  it('a rate below one start per second waits between any two starts', async () => {
    const kind = timer('kind', { rate: 0.5 })
    const it8 = await instanceOf(kind, 0)
    it8.timers.handle(kind, it8.handle)
    await it8.set(keysOf(4))
    await it8.clock.advance(START + 60_000 - it8.clock.now() + 20_000)
    expect(it8.seen.map((each) => each.at - 60_000)).toEqual([0, 2000, 4000, 6000])
    await it8.stop()
  })

  it('a busy shard does not starve the others', async () => {
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

  it('a rate also holds for a handler that is added after timers became due', async () => {
    const kind = timer('kind', { rate: 10 })
    const it8 = await instanceOf(kind, 0)
    await it8.set(keysOf(50))
    await it8.clock.advance(START + 70_000 - it8.clock.now())
    expect(it8.seen).toEqual([])
    it8.timers.handle(kind, it8.handle)
    await it8.clock.advance(1000)
    expect(it8.seen.length).toBeLessThanOrEqual(11)
    expect(it8.seen.length).toBeGreaterThanOrEqual(10)
    await it8.clock.advance(10_000)
    expect(it8.seen).toHaveLength(50)
    await it8.stop()
  })

  it('a long attempt counts towards the concurrency until it ends, even if its row is carried', async () => {
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
