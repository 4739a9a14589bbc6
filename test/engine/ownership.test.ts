import { describe, expect, it } from 'vitest'
import type { Carriage, StoreCall } from '../../src/store/index.js'
import { StoreError } from '../../src/error/index.js'
import { Rig, START } from './rig.js'

/** A way to the store that a test can block or spoil. */
class Way implements Carriage {
  isCut = false
  /** Lets a call commit and then lose its answer. */
  loses: (call: StoreCall) => boolean = () => false
  fails: (call: StoreCall) => boolean = () => false
  readonly calls: StoreCall[] = []

  async carry<Answer>(call: StoreCall, commit: () => Answer): Promise<Answer> {
    this.calls.push(call)
    if (this.isCut || this.fails(call))
      throw new StoreError('store-unavailable', `${call.name} did not get through`)
    const answer = commit()
    if (this.loses(call)) throw new StoreError('unknown-outcome', `the answer to ${call.name} was lost`)
    return answer
  }

  wake(deliver: () => void): void {
    if (!this.isCut) queueMicrotask(deliver)
  }
}

const settings = { leaseMs: 10_000, acquireMs: 2000, heartbeatMs: 2000 }

describe('ownership', () => {
  it('starts nothing on a lease that is over, and hands over within lease and acquire interval', async () => {
    const way = new Way()
    const one = new Rig({ settings, carriage: way, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    await one.settled(one.engine.start())
    await one.submit(...Array.from({ length: 60 }, (_, second) => one.set(`s${second}`, second * 1000)))
    await one.clock.advance('5s')
    await one.settled(two.engine.start())
    expect(two.engine.shards).toHaveLength(0)
    way.isCut = true
    const cutAt = one.clock.now() - START
    await one.clock.advance('60s')
    // The one that is cut off fires until its lease is over, less the margin; then the other goes on.
    expect(Math.max(...one.fired.map(({ at }) => at))).toBeLessThan(cutAt + settings.leaseMs)
    const firstByTwo = Math.min(...two.fired.map(({ at }) => at))
    expect(firstByTwo).toBeLessThanOrEqual(cutAt + settings.leaseMs + settings.acquireMs)
    const keys = new Set([...one.fired, ...two.fired].map(({ key }) => key))
    expect(keys.size).toBe(60)
    // Back again it finds its shard gone.
    way.isCut = false
    await one.clock.advance('10s')
    expect(one.eventsOf('lost')).toHaveLength(1)
  })

  it('is shared out evenly, and only what has to changes hands when an instance comes, goes or dies', async () => {
    const way = new Way()
    const one = new Rig({ settings, shardCount: 16, memberId: 'one' })
    const others = ['two', 'three'].map((memberId) => new Rig({ settings, rig: one, memberId }))
    const mortal = new Rig({ settings, rig: one, memberId: 'mortal', carriage: way })
    const held = (rig: Rig): readonly unknown[] => rig.engine.shards
    const sizes = (...rigs: readonly Rig[]): number[] =>
      rigs.map((rig) => held(rig).length).toSorted((a, b) => b - a)
    const [two, three] = others as [Rig, Rig]
    for (const rig of [one, two, three, mortal]) {
      await one.settled(rig.engine.start())
      await one.clock.advance('10s')
    }
    expect(sizes(one, two, three, mortal)).toEqual([4, 4, 4, 4])
    const before = [one, two, three].map(held)
    await one.settled(three.engine.stop())
    await one.clock.advance('10s')
    expect(sizes(one, two, mortal)).toEqual([6, 5, 5])
    way.isCut = true
    await one.clock.advance('40s')
    expect(sizes(one, two)).toEqual([8, 8])
    // The very engines that were there all the time.
    for (const [rig, its] of [
      [one, before[0]!],
      [two, before[1]!],
    ] as const) {
      expect(its.filter((engine) => !held(rig).includes(engine))).toEqual([])
    }
    expect([...one.eventsOf('lost'), ...two.eventsOf('lost')]).toEqual([])
  })

  it('counts an attempt of unknown outcome after an unclean takeover, under the same firing id', async () => {
    const way = new Way()
    const one = new Rig({ settings, carriage: way, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    one.handle = () => undefined
    await one.settled(one.engine.start())
    await one.submit(one.set('a', 1000), one.set('later', 60_000))
    await one.clock.advance('2s')
    expect(one.fired).toMatchObject([{ key: 'a', attempt: 1 }])
    way.isCut = true
    await one.settled(two.engine.start())
    await one.clock.advance('90s')
    expect(two.fired).toMatchObject([
      { key: 'a', attempt: 2, id: one.fired[0]!.id },
      { key: 'later', attempt: 1 },
    ])
  })

  it('is not taken for a member any more once it has left, though a heartbeat of it was slow', async () => {
    let beats = 0
    const slow: Carriage = {
      async carry(call, commit) {
        // The second of them says that it fires, and takes its time.
        if (call.name === 'heartbeat' && ++beats === 2)
          await new Promise<void>((resolve) => void one.clock.wakeAfter(5000, resolve))
        return commit()
      },
      wake: (deliver) => queueMicrotask(deliver),
    }
    const one: Rig = new Rig({ settings, carriage: slow, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    const starting = one.engine.start()
    await one.clock.advance('3s')
    const stopping = one.engine.stop()
    await one.clock.advance('10s')
    await Promise.all([starting, stopping])
    expect(beats).toBeGreaterThan(2)
    await one.settled(two.engine.start())
    expect(two.engine.memberIds).toEqual(['two'])
  })

  it('gives a shard to a new member gracefully, with nothing suspected', async () => {
    const one = new Rig({ settings, memberId: 'one', shardCount: 4 })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    await one.settled(one.engine.start())
    await one.submit(...Array.from({ length: 40 }, (_, index) => one.set(`t${index}`, 30_000)))
    await one.settled(two.engine.start())
    await one.clock.advance('60s')
    expect(two.engine.shards.length).toBeGreaterThan(0)
    expect([...one.fired, ...two.fired].map(({ attempt }) => attempt)).toEqual(new Array(40).fill(1))
  })

  it('claims nothing and starts nothing while its clock is off', async () => {
    const one = new Rig({ settings, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    two.clock.jump(5000)
    await one.settled(two.engine.start())
    await one.clock.advance('10s')
    expect(two.engine.shards).toHaveLength(0)
    expect(two.eventsOf('clock-off')[0]).toMatchObject({ offsetMs: -5000 })
    two.clock.jump(-5000)
    await one.clock.advance('10s')
    expect(two.engine.shards).toHaveLength(1)
  })
})

describe('calls to the store that fail', () => {
  it.each(['write', 'settle', 'load', 'renew', 'find', 'sweep', 'requests'] as const)(
    'does no harm when %s loses its answers',
    async (name) => {
      const way = new Way()
      const rig = new Rig({ settings: { ...settings, sweepMs: 5000 }, carriage: way })
      await rig.settled(rig.engine.start())
      let count = 0
      way.loses = (call) => call.name === name && count++ % 2 === 0
      const answers = await rig.submit(
        ...Array.from({ length: 20 }, (_, index) => rig.set(`a${index}`, 2000 + index * 1000)),
        rig.set('c', 9000),
        rig.set('m', 9000),
      )
      expect(answers.every(({ outcome }) => outcome === 'set')).toBe(true)
      expect(await rig.submit(rig.cancel('c'))).toMatchObject([{ outcome: 'cancelled' }])
      expect(await rig.submit(rig.move('m', 15_000))).toMatchObject([{ outcome: 'moved' }])
      await rig.clock.advance('2m')
      expect(count).toBeGreaterThan(0)
      expect(rig.fired.map(({ key }) => key).toSorted()).toEqual(
        [...Array.from({ length: 20 }, (_, index) => `a${index}`), 'm'].toSorted(),
      )
      expect(await rig.store.counts()).toEqual({
        created: 22,
        settled: 21,
        cancelled: 1,
        replaced: 0,
        dead: 0,
      })
      expect(rig.eventsOf('lost')).toEqual([])
    },
  )

  it('says that timers are stalled when the store does not answer, and recovers', async () => {
    const way = new Way()
    const rig = new Rig({ settings: { ...settings, windowMs: 4000, stallMs: 10_000 }, carriage: way })
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('far', 30_000))
    way.fails = (call) => call.name === 'load'
    await rig.clock.advance('45s')
    expect(rig.fired).toEqual([])
    expect(rig.eventsOf('stalled')[0]!.reason).toContain('nothing was loaded')
    way.fails = () => false
    await rig.clock.advance('1s')
    expect(rig.fired).toMatchObject([{ key: 'far' }])
  })

  it('says how long nothing was loaded of a shard since it has it, not since nobody had it', async () => {
    const way = new Way()
    const rig = new Rig({ settings: { ...settings, stallMs: 10_000 }, carriage: way })
    way.fails = (call) => call.name === 'load'
    await rig.settled(rig.engine.start())
    await rig.clock.advance('9s')
    expect(rig.engine.stats().shards[0]).toMatchObject({ readPosition: 0, behindMs: 9000 })
    expect(rig.eventsOf('stalled')).toEqual([])
    await rig.clock.advance('6s')
    expect(rig.eventsOf('stalled')[0]!.overdueMs).toBeLessThan(15_001)
  })

  it('says that timers are stalled when their kind has no handler, by its name', async () => {
    const rig = new Rig({ settings, flow: { concurrencyOf: () => 0 } })
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('a', 1000))
    await rig.clock.advance('30s')
    expect(rig.eventsOf('stalled')[0]).toMatchObject({ reason: expect.stringContaining('kind k') as string })
  })

  it('refuses what cannot be stored without harm to what travels with it', async () => {
    const rig = new Rig({ settings })
    await rig.settled(rig.engine.start())
    const answers = await rig.submit(
      rig.set('good', 1000),
      rig.set('bad', 1000, { payload: new Uint8Array(300_000) }),
      rig.set('fine', 1000),
    )
    expect(answers).toMatchObject([
      { outcome: 'set' },
      { outcome: 'failed', error: { code: 'payload-too-large' } },
      { outcome: 'set' },
    ])
    await rig.clock.advance('5s')
    expect(rig.fired.map(({ key }) => key)).toEqual(['good', 'fine'])
  })

  it('refuses more than may wait, and operations after the stop', async () => {
    const way = new Way()
    const rig = new Rig({ settings: { ...settings, maxQueued: 10, writeBatch: 1 }, carriage: way })
    await rig.settled(rig.engine.start())
    way.fails = (call) => call.name === 'write'
    const first = rig.engine.submit(Array.from({ length: 9 }, (_, index) => rig.set(`q${index}`, 1000)))
    await rig.clock.advance(10)
    const second = await rig.engine.submit(
      Array.from({ length: 9 }, (_, index) => rig.set(`r${index}`, 1000)),
    )
    expect(second[0]).toMatchObject({ outcome: 'failed', error: { code: 'engine-busy' } })
    way.fails = () => false
    await rig.clock.advance('1s')
    expect((await first).every(({ outcome }) => outcome === 'set')).toBe(true)
    await rig.settled(rig.engine.stop())
    await expect(rig.engine.submit([rig.set('z', 1)])).rejects.toMatchObject({ code: 'stopped' })
  })
})
