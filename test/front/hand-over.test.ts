import { describe, expect, it } from 'vitest'
import { type HistoryPolicy, openTimers, timer, type Timers } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { StoreLines } from './store-lines.js'

const START = Date.UTC(2026, 0, 1)
const kind = timer('kind')

/** Instances on one store. A cut-off instance cannot reach the store, as if its machine had lost the network. */
class Cluster {
  readonly clock = new VirtualClock({ start: START })
  readonly store = new MemoryStore({ clock: this.clock })
  readonly history: HistoryPolicy
  readonly #lines = new StoreLines()

  constructor(history: HistoryPolicy) {
    this.history = history
  }

  async open(name: string, handle: (key: string) => unknown): Promise<Timers> {
    const { history } = this
    const clock = this.clock.fork()
    const timers = await openTimers({ store: this.#lines.to(this.store.connect(), name), clock, history })
    timers.handle(kind, ({ key }) => handle(key))
    await this.during(timers.start())
    return timers
  }

  cutOff(name: string): void {
    this.#lines.cutOff(name)
  }

  async during<T>(work: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const watched = work.finally(() => {
      state.isOver = true
    })
    await this.clock.advance(0)
    while (!state.isOver) await this.clock.advance(100)
    return await watched
  }

  async at(seconds: number): Promise<void> {
    await this.clock.advance(START + seconds * 1000 - this.clock.now())
  }
}

async function crash(history: HistoryPolicy) {
  const cluster = new Cluster(history)
  const attempts: string[] = []
  const one = await cluster.open('one', (key) => {
    attempts.push(`one ${key}`)
    return key === 'begun' ? new Promise(() => undefined) : undefined
  })
  const rows = [
    { key: 'done', at: START + 5000 },
    { key: 'begun', at: START + 10_000 },
    // The first instance may not have noticed yet that it is cut off.
    { key: 'gap', at: START + 13_000 },
    { key: 'after', at: START + 300_000 },
  ]
  await cluster.during(one.setMany(kind, rows))
  await cluster.at(10)
  await cluster.clock.advance(10)
  cluster.cutOff('one')
  const two = await cluster.open('two', (key) => {
    attempts.push(`two ${key}`)
  })
  await cluster.at(301)
  const ids = { one: one.engine.memberId, two: two.engine.memberId }
  const told = async (key: string): Promise<string[]> =>
    (await two.why(kind, key)).told.map((line) =>
      line.replace(ids.one, 'one').replace(ids.two, 'two').replace(/^\S+ /, ''),
    )
  const eventsOf = async (key: string) => (await two.why(kind, key)).events
  const result = {
    attempts,
    done: await told('done'),
    begun: await told('begun'),
    gap: await told('gap'),
    after: await told('after'),
    handOver: (await eventsOf('gap')).find(({ event }) => event === 'handed-over'),
    ids,
  }
  await cluster.during(Promise.all([one.stop(), two.stop()]))
  return result
}

describe('the history of a timer whose shard changes owner while it is due', () => {
  it('lists set, hand-over and attempts in this order', async () => {
    const { attempts, done, begun, gap, after, handOver, ids } = await crash('all')
    expect(attempts).toEqual(['one done', 'one begun', 'one gap', 'two begun', 'two gap', 'two after'])
    expect(done.filter((line) => line.includes('handed over'))).toEqual([])
    expect(begun).toEqual([
      'set, due 2026-01-01T00:00:10.000Z',
      'handed over from one to two while it was due',
      'attempt 1: outcome unknown, because its owner was lost',
      expect.stringMatching(/^attempt 2 succeeded after 0 ms, \d+ ms late$/),
      'settled',
    ])
    expect(gap).toEqual([
      'set, due 2026-01-01T00:00:13.000Z',
      'handed over from one to two while it was due',
      ...gap.slice(2),
    ])
    expect(gap.at(-1)).toBe('settled')
    expect(after).toEqual([
      'set, due 2026-01-01T00:05:00.000Z',
      'attempt 1 succeeded after 0 ms, 0 ms late',
      'settled',
    ])
    expect(handOver).toMatchObject({ from: ids.one, to: ids.two, dueAt: START + 13_000 })
    expect(handOver!.at).toBeGreaterThan(START + 13_000)
  })

  it('lists the hand-over under the policy failures only if an attempt failed, and never under none', async () => {
    const { begun, after } = await crash('failures')
    expect(begun.slice(0, 2)).toEqual([
      'handed over from one to two while it was due',
      'attempt 1: outcome unknown, because its owner was lost',
    ])
    // Only the outcome is known.
    expect(after).toEqual([expect.stringMatching(/^as done, not before /)])
    const none = await crash('none')
    expect([...none.begun, ...none.gap].filter((line) => !line.startsWith('as done, '))).toEqual([])
  })

  it('says when no instance owned the shard at the due time', async () => {
    const cluster = new Cluster('all')
    const one = await cluster.open('one', () => undefined)
    await cluster.during(one.set(kind, 'a', { at: START + 60_000 }))
    await cluster.during(one.set(kind, 'b', { at: START + 600_000 }))
    await cluster.during(one.stop())
    await cluster.at(120)
    const two = await cluster.open('two', () => undefined)
    await cluster.during(two.set(kind, 'past', { at: START + 1000 }))
    await cluster.at(700)
    const told = async (key: string) =>
      (await two.why(kind, key)).told.map((line) => line.replace(/^\S+ /, ''))
    expect((await told('a'))[1]).toBe(
      `due while no instance had it, then taken over by ${two.engine.memberId}`,
    )
    expect((await told('b'))[1]).toBe('attempt 1 succeeded after 0 ms, 0 ms late')
    // Set with a past due time: there was no hand-over.
    expect((await told('past')).filter((line) => line.includes('no instance had it'))).toEqual([])
    await cluster.during(two.stop())
  })
})
