import { describe, expect, it } from 'vitest'
import type { Carriage } from '../../src/store/index.js'
import { Rig, START } from './rig.js'
import { FaultyCarriage } from './faulty-carriage.js'
import { ourProtocol } from '../../src/engine/cluster/protocol-version.js'

const settings = { leaseMs: 10_000, acquireMs: 2000, heartbeatMs: 2000 }

describe('ownership', () => {
  it('starts nothing after its lease is over, and passes to another within leaseMs + acquireMs', async () => {
    const carriage = new FaultyCarriage()
    const one = new Rig({ settings, carriage, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    await one.settled(one.engine.start())
    await one.submit(...Array.from({ length: 60 }, (_, second) => one.set(`s${second}`, second * 1000)))
    await one.clock.advance('5s')
    await one.settled(two.engine.start())
    expect(two.engine.shards).toHaveLength(0)
    carriage.isCut = true
    const cutAt = one.clock.now() - START
    await one.clock.advance('60s')
    // The instance that is cut off fires until its lease is over, less the margin. Then the other goes on.
    expect(Math.max(...one.fired.map(({ at }) => at))).toBeLessThan(cutAt + settings.leaseMs)
    const firstByTwo = Math.min(...two.fired.map(({ at }) => at))
    expect(firstByTwo).toBeLessThanOrEqual(cutAt + settings.leaseMs + settings.acquireMs)
    const keys = new Set([...one.fired, ...two.fired].map(({ key }) => key))
    expect(keys.size).toBe(60)
    // Connected again, it finds that it has lost its shard.
    carriage.isCut = false
    await one.clock.advance('10s')
    expect(one.eventsOf('lost')).toHaveLength(1)
  })

  it('is balanced, and no more shards than necessary move when an instance starts, stops or dies', async () => {
    const carriage = new FaultyCarriage()
    const one = new Rig({ settings, shardCount: 16, memberId: 'one' })
    const others = ['two', 'three'].map((memberId) => new Rig({ settings, rig: one, memberId }))
    const mortal = new Rig({ settings, rig: one, memberId: 'mortal', carriage })
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
    carriage.isCut = true
    await one.clock.advance('40s')
    expect(sizes(one, two)).toEqual([8, 8])
    // The same shard engines as before: their shards did not move.
    for (const [rig, its] of [
      [one, before[0]!],
      [two, before[1]!],
    ] as const) {
      expect(its.filter((engine) => !held(rig).includes(engine))).toEqual([])
    }
    expect([...one.eventsOf('lost'), ...two.eventsOf('lost')]).toEqual([])
  })

  it('counts an attempt of unknown outcome after an unclean takeover, under the same firing id', async () => {
    const carriage = new FaultyCarriage()
    const one = new Rig({ settings, carriage, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    one.handle = () => undefined
    await one.settled(one.engine.start())
    await one.submit(one.set('a', 1000), one.set('later', 60_000))
    await one.clock.advance('2s')
    expect(one.fired).toMatchObject([{ key: 'a', attempt: 1 }])
    carriage.isCut = true
    await one.settled(two.engine.start())
    await one.clock.advance('90s')
    expect(two.fired).toMatchObject([
      { key: 'a', attempt: 2, id: one.fired[0]!.id },
      { key: 'later', attempt: 1 },
    ])
  })

  it('ends membership at stop, even if a slow heartbeat arrives afterwards', async () => {
    let beats = 0
    const slow: Carriage = {
      async carry(call, commit) {
        // The second heartbeat, which says that the instance fires, takes five seconds.
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

  it('passes cleanly to a new member, without suspects', async () => {
    const one = new Rig({ settings, memberId: 'one', shardCount: 4 })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    await one.settled(one.engine.start())
    await one.submit(...Array.from({ length: 40 }, (_, index) => one.set(`t${index}`, 30_000)))
    await one.settled(two.engine.start())
    await one.clock.advance('60s')
    expect(two.engine.shards.length).toBeGreaterThan(0)
    expect([...one.fired, ...two.fired].map(({ attempt }) => attempt)).toEqual(new Array(40).fill(1))
  })

  it('is not acquired by an instance whose clock is off, until that is corrected', async () => {
    const one = new Rig({ settings, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    two.clock.jump(5000)
    await one.settled(two.engine.start())
    await one.clock.advance('10s')
    expect(two.engine.shards).toHaveLength(0)
    expect(two.eventsOf('clock-off')[0]!.offsetMs).toBeCloseTo(5000, -1)
    two.clock.jump(-5000)
    await one.clock.advance('10s')
    expect(two.engine.shards).toHaveLength(1)
  })

  it.each([5000, -5000, 30_000])(
    'passes to another instance while the clock of the owner is %d ms off',
    async (byMs) => {
      const one = new Rig({ settings, shardCount: 8, memberId: 'one' })
      const two = new Rig({ settings, rig: one, memberId: 'two' })
      await one.settled(one.engine.start())
      await one.settled(two.engine.start())
      await one.clock.advance('10s')
      expect([one.engine.shards.length, two.engine.shards.length]).toEqual([4, 4])
      const sets = Array.from({ length: 200 }, (_, i) => one.set(`k${i}`, 30_000 + 100 * i))
      await one.submit(...sets)
      await one.clock.advance('10s')
      two.clock.jump(byMs)
      await one.clock.advance('10s')
      // The instance whose clock is off owns no shard. The other one owns all of them and releases none for it.
      expect([one.engine.shards.length, two.engine.shards.length]).toEqual([8, 0])
      expect(one.engine.memberIds).toEqual(['one'])
      await one.clock.advance('40s')
      const late = one.fired.map(({ key, at }) => at - (30_000 + 100 * Number(key.slice(1))))
      expect(one.fired.length + two.fired.length).toBe(200)
      expect(two.fired).toEqual([])
      expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
      expect(Math.max(...late)).toBeLessThan(5000)
      two.clock.jump(-byMs)
      await one.clock.advance('20s')
      expect([one.engine.shards.length, two.engine.shards.length]).toEqual([4, 4])
    },
  )

  it('fires by the clock of the store, also if its own is off by almost the tolerance', async () => {
    const one = new Rig({ settings, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    two.clock.jump(300)
    await one.settled(two.engine.start())
    await one.settled(
      two.engine.submit(Array.from({ length: 50 }, (_, i) => two.set(`k${i}`, 20_000 + 77 * i))),
    )
    const storeTimes: number[] = []
    two.handle = (firing) => {
      storeTimes.push(one.clock.now() - firing.row.dueAt)
      firing.report({ type: 'done' })
    }
    await one.clock.advance('60s')
    expect(storeTimes).toHaveLength(50)
    expect(Math.min(...storeTimes)).toBeGreaterThanOrEqual(0)
  })

  it('is acquired by another member if the assigned one does not acquire it', async () => {
    const one = new Rig({ settings, shardCount: 4, memberId: 'one' })
    await one.settled(one.engine.start())
    addGhost(one)
    await one.submit(...Array.from({ length: 40 }, (_, i) => one.set(`k${i}`, 60_000 + i)))
    await one.clock.advance('120s')
    expect(one.fired).toHaveLength(40)
    expect(one.eventsOf('unowned').length).toBeGreaterThan(0)
  })

  it.each([1, 3])(
    'stays with the %d instances that acquired it, and is rarely offered to one that never does',
    async (count) => {
      const one = new Rig({ settings, shardCount: 8, memberId: 'one' })
      const others = ['two', 'three'].slice(0, count - 1)
      const rigs = [one, ...others.map((memberId) => new Rig({ settings, rig: one, memberId }))]
      for (const rig of rigs) await one.settled(rig.engine.start())
      await one.clock.advance('30s')
      addGhost(one)
      let unowned = 0
      for (let second = 0; second < 3600; second++) {
        await one.clock.advance('1s')
        unowned += 8 - rigs.reduce((sum, { engine }) => sum + engine.shards.length, 0)
      }
      const taken = rigs.flatMap((rig) => rig.eventsOf('acquired')).map(({ shard }) => shard)
      const most = Math.max(...taken.map((shard) => taken.filter((other) => other === shard).length))
      // The time between two offers doubles from 48 s to 384 s. That is about eleven in an hour, from each instance.
      expect(most).toBeLessThanOrEqual(2 + 12 * count)
      // At most 5 % of the time of 8 shards in 3600 s.
      expect(unowned).toBeLessThan(8 * 3600 * 0.05)
    },
  )

  it('passes to a member that could acquire nothing for a while, once it can, and stays there', async () => {
    const carriage = new FaultyCarriage()
    const one = new Rig({ settings, shardCount: 8, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two', carriage })
    carriage.fails = (call) => call.name === 'acquire'
    await one.settled(one.engine.start())
    await one.settled(two.engine.start())
    await one.clock.advance('10m')
    expect(two.engine.shards).toHaveLength(0)
    carriage.fails = () => false
    await one.clock.advance('10m')
    expect([one.engine.shards.length, two.engine.shards.length]).toEqual([4, 4])
    const before = one.eventsOf('acquired').length + two.eventsOf('acquired').length
    await one.clock.advance('30m')
    expect(one.eventsOf('acquired').length + two.eventsOf('acquired').length).toBe(before)
  })
})

/** Adds a member that says that it fires, but never acquires a shard. */
function addGhost({ store, clock }: Rig): void {
  let beats = 0
  const beat = (): void => {
    const details = JSON.stringify({ isFiring: true, beat: ++beats, life: 'ghost', protocol: ourProtocol })
    void store.heartbeat({ id: 'ghost', details }, 10_000)
    clock.wakeAfter(2000, beat)
  }
  beat()
}

describe('an engine whose calls to the store fail', () => {
  it.each(['write', 'settle', 'load', 'renew', 'find', 'sweep', 'requests'] as const)(
    'fires and settles each timer once if answers to %s are lost',
    async (name) => {
      const carriage = new FaultyCarriage()
      const rig = new Rig({ settings: { ...settings, windowMs: 60_000, sweepMs: 5000 }, carriage })
      await rig.settled(rig.engine.start())
      let count = 0
      carriage.loses = (call) => call.name === name && count++ % 2 === 0
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

  it('emits stalled if the store does not answer, and recovers', async () => {
    const carriage = new FaultyCarriage()
    const rig = new Rig({ settings: { ...settings, windowMs: 4000, stallMs: 10_000 }, carriage })
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('far', 30_000))
    carriage.fails = (call) => call.name === 'load'
    await rig.clock.advance('45s')
    expect(rig.fired).toEqual([])
    expect(rig.eventsOf('stalled')[0]!.reason).toContain('nothing was loaded')
    carriage.fails = () => false
    await rig.clock.advance('1s')
    expect(rig.fired).toMatchObject([{ key: 'far' }])
  })

  it('measures how long nothing was loaded only since it acquired the shard', async () => {
    const carriage = new FaultyCarriage()
    const rig = new Rig({ settings: { ...settings, stallMs: 10_000 }, carriage })
    carriage.fails = (call) => call.name === 'load'
    await rig.settled(rig.engine.start())
    await rig.clock.advance('9s')
    expect(rig.engine.stats().shards[0]).toMatchObject({ readPosition: 0, behindMs: 9000 })
    expect(rig.eventsOf('stalled')).toEqual([])
    await rig.clock.advance('6s')
    expect(rig.eventsOf('stalled')[0]!.overdueMs).toBeLessThan(15_001)
  })

  it('emits stalled with the name of the kind if that has no handler', async () => {
    const rig = new Rig({ settings, policy: { concurrencyOf: () => 0 } })
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('a', 1000))
    await rig.clock.advance('30s')
    expect(rig.eventsOf('stalled')[0]).toMatchObject({ reason: expect.stringContaining('kind k') as string })
  })

  it('rejects an operation that cannot be stored, without affecting others in its batch', async () => {
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

  it('rejects operations beyond maxQueued, and operations after stop', async () => {
    const carriage = new FaultyCarriage()
    const rig = new Rig({ settings: { ...settings, maxQueued: 10, writeBatch: 1 }, carriage })
    await rig.settled(rig.engine.start())
    carriage.fails = (call) => call.name === 'write'
    const first = rig.engine.submit(Array.from({ length: 9 }, (_, index) => rig.set(`q${index}`, 1000)))
    await rig.clock.advance(10)
    const second = await rig.engine.submit(
      Array.from({ length: 9 }, (_, index) => rig.set(`r${index}`, 1000)),
    )
    expect(second[0]).toMatchObject({ outcome: 'failed', error: { code: 'engine-busy' } })
    carriage.fails = () => false
    await rig.clock.advance('1s')
    expect((await first).every(({ outcome }) => outcome === 'set')).toBe(true)
    await rig.settled(rig.engine.stop())
    await expect(rig.engine.submit([rig.set('z', 1)])).rejects.toMatchObject({ code: 'stopped' })
  })
})
