import { describe, expect, it } from 'vitest'
import { MIN_SETTLEMENT_ROWS } from '../../src/engine/defaults.js'
import type { Firing, Outcome } from '../../src/timer/index.js'
import { Rig } from './rig.js'
import { FaultyCarriage } from './faulty-carriage.js'

const settings = { leaseMs: 10_000, acquireMs: 2000, heartbeatMs: 2000, stopMs: 10_000 }

describe.each(['preload', 'lookahead'] as const)('a rebalance with %s', (strategy) => {
  const rigOf = (rest: ConstructorParameters<typeof Rig>[0]): Rig =>
    new Rig({ settings: { ...settings, strategy }, shardCount: 8, ...rest })

  /** Handlers of keys that begin with `long` take 30 s. The others take no time. */
  function longHandler(rig: Rig, outcome: (firing: Firing) => Outcome = () => ({ type: 'done' })) {
    rig.handle = (firing) => {
      if (firing.row.key.startsWith('long')) rig.clock.wakeAfter(30_000, () => firing.report(outcome(firing)))
      else firing.report({ type: 'done' })
    }
  }

  it('runs no long attempt twice, and delays no other timer', async () => {
    const one = rigOf({ memberId: 'one' })
    const two = rigOf({ rig: one, memberId: 'two' })
    for (const rig of [one, two]) longHandler(rig)
    await one.settled(one.engine.start())
    await one.submit(...Array.from({ length: 32 }, (_, i) => one.set(`long-${i}`, 5000)))
    await one.submit(...Array.from({ length: 400 }, (_, i) => one.set(`short-${i}`, 6000 + 100 * i)))
    await one.clock.advance('8s')
    await one.settled(two.engine.start())
    await one.clock.advance('20s')
    expect([one.engine.shards.length, two.engine.shards.length]).toEqual([4, 4])
    // The handed-over attempts still run.
    expect(one.fired.filter(({ key }) => key.startsWith('long'))).toHaveLength(32)
    await one.clock.advance('60s')
    const fired = [...one.fired, ...two.fired]
    expect(fired.map(({ attempt }) => attempt)).toEqual(fired.map(() => 1))
    expect(new Set(fired.map(({ key }) => key)).size).toBe(fired.length)
    expect(fired).toHaveLength(432)
    const lateMs = fired
      .filter(({ key }) => key.startsWith('short'))
      .map(({ key, at }) => at - (6000 + 100 * Number(key.slice(6))))
    // A shard has no owner only from its release until the new owner, which the release wakes, acquires it.
    expect(Math.max(...lateMs)).toBeLessThan(1000)
    expect(await one.store.countRows()).toBe(0)
    expect(await one.store.counts()).toMatchObject({ created: 432, settled: 432, dead: 0 })
  })

  it('applies the outcome of a handed-over attempt: a retry, a next occurrence, a dead letter', async () => {
    const base = rigOf({ memberId: 'base', shardCount: 1 })
    const one = rigOf({ rig: base, memberId: 'one' })
    const two = rigOf({ rig: base, memberId: 'two' })
    const outcome = ({ row, attempt }: Firing): Outcome => {
      if (row.key === 'long-retry' && attempt === 1)
        return { type: 'retry', dueAt: base.clock.now() + 1000, reason: 'once more' }
      if (row.key === 'long-next' && row.occurrence === 0)
        return { type: 'next', dueAt: base.clock.now() + 1000 }
      return row.key === 'long-dead' ? { type: 'dead', reason: 'no more' } : { type: 'done' }
    }
    for (const rig of [one, two]) longHandler(rig, outcome)
    await base.settled(one.engine.start())
    const sets = ['retry', 'next', 'dead'].map((key) => one.set(`long-${key}`, 5000))
    await base.settled(one.engine.submit(sets))
    await base.clock.advance('8s')
    await base.settled(two.engine.start())
    // An instance whose clock is off releases the only shard.
    one.clock.jump(3000)
    await base.clock.advance('20s')
    one.clock.jump(-3000)
    expect(two.engine.shards).toHaveLength(1)
    await base.clock.advance('90s')
    expect(Object.fromEntries(two.fired.map(({ key, attempt }) => [key, attempt]))).toEqual({
      'long-next': 1,
      'long-retry': 2,
    })
    expect((await base.store.deadLetters({ namespace: 'n', limit: 10 })).items).toMatchObject([
      { reason: 'no more', row: { key: 'long-dead' } },
    ])
    expect(await base.store.countRows()).toBe(0)
  })

  it('lets the new owner start a firing that was delivered and had not started', async () => {
    const base = rigOf({ memberId: 'base', shardCount: 1 })
    const one = rigOf({ rig: base, memberId: 'one' })
    const two = rigOf({ rig: base, memberId: 'two' })
    const started: boolean[] = []
    one.handle = (firing) => void one.clock.wakeAfter(30_000, () => started.push(firing.start()))
    await base.settled(one.engine.start())
    await base.settled(one.engine.submit([one.set('late', 1000)]))
    await base.clock.advance('2s')
    // An instance whose clock is off releases its shard.
    one.clock.jump(3000)
    await base.settled(two.engine.start())
    await base.clock.advance('20s')
    expect(two.fired).toEqual([])
    await base.clock.advance('20s')
    expect(started).toEqual([false])
    expect(two.fired).toMatchObject([{ key: 'late', attempt: 1 }])
    await base.settled(Promise.all([one.engine.stop(), two.engine.stop()]))
  })

  it('applies the outcome of an attempt whose hand-over was stored without an answer', async () => {
    const carriage = new FaultyCarriage()
    const base = rigOf({ memberId: 'base', shardCount: 1 })
    const brief = { ...settings, stopMs: 1000, strategy }
    const one = rigOf({ rig: base, memberId: 'one', carriage, settings: brief })
    const two = rigOf({ rig: base, memberId: 'two' })
    const aborted: string[] = []
    one.handle = (firing) => {
      firing.onAbandoned = () => aborted.push(firing.row.key)
      base.clock.wakeAfter(60_000, () => firing.report({ type: 'done' }))
    }
    await base.settled(one.engine.start())
    await base.settled(one.engine.submit([one.set('long', 1000)]))
    await base.clock.advance('2s')
    await base.settled(two.engine.start())
    let lost = 0
    carriage.loses = ({ name }) => name === 'settle' && ++lost > 0
    // It cannot find out what happened before another owns the shard.
    carriage.fails = ({ name }) => lost > 0 && two.engine.shards.length === 0 && /refence|renew/.test(name)
    one.clock.jump(3000)
    await base.clock.advance('20s')
    one.clock.jump(-3000)
    expect(lost).toBe(1)
    expect(one.eventsOf('lost')).toHaveLength(1)
    expect(two.engine.shards).toHaveLength(1)
    await base.clock.advance('60s')
    expect([one.fired.length, two.fired.length, aborted.length]).toEqual([1, 0, 0])
    expect(await base.store.countRows()).toBe(0)
    expect(await base.store.counts()).toMatchObject({ created: 1, settled: 1 })
  })

  // More outcomes than one settlement takes must wait when an attempt is handed over, so seeds hardly ever meet this
  // (mutant 'the level passes a row that was handed over').
  it('keeps an attempt that was handed over while the last outcomes are settled after it', async () => {
    const carriage = new FaultyCarriage()
    const base = rigOf({ memberId: 'base', shardCount: 1 })
    const brief = { ...settings, stopMs: 3000, settleCount: 1, strategy }
    const one = rigOf({ rig: base, memberId: 'one', carriage, settings: brief })
    const two = rigOf({ rig: base, memberId: 'two' })
    const dueAt = base.clock.now() + 3_600_000
    const retry = { type: 'retry', dueAt, reason: 'once more' } as const
    one.handle = (firing) => {
      const afterMs = firing.row.key === 'long' ? 60_000 : 0
      one.clock.wakeAfter(afterMs, () => firing.report(retry))
    }
    await base.settled(one.engine.start())
    const short = Array.from({ length: MIN_SETTLEMENT_ROWS + 1 }, (_, i) => one.set(`short-${i}`, 2000))
    await base.settled(one.engine.submit([one.set('long', 1000), ...short]))
    carriage.fails = ({ name }) => name === 'settle'
    await base.clock.advance('3s')
    await base.settled(two.engine.start())
    // An instance whose clock is off releases its shard.
    one.clock.jump(3000)
    while (one.eventsOf('clock-off').length === 0) await base.clock.advance(20)
    // It waits for the long attempt for as long as `stopMs`, and then settles for as long.
    await base.clock.advance(brief.stopMs + 500)
    const settled = (): number => carriage.calls.filter(({ name }) => name === 'settle').length
    carriage.fails = () => false
    const before = settled()
    await base.clock.advance('20s')
    one.clock.jump(-3000)
    expect(settled() - before).toBeGreaterThanOrEqual(2)
    expect(two.engine.shards).toHaveLength(1)
    await base.clock.advance('60s')
    expect(await base.store.countRows()).toBe(short.length + 1)
    await base.clock.advance('1h')
    expect(two.fired.filter(({ key }) => key === 'long')).toMatchObject([{ attempt: 2 }])
  })

  it('aborts an attempt whose hand-over was not stored, and the next owner tries again', async () => {
    const carriage = new FaultyCarriage()
    const base = rigOf({ memberId: 'base', shardCount: 1 })
    const brief = { ...settings, stopMs: 1000, strategy }
    const one = rigOf({ rig: base, memberId: 'one', carriage, settings: brief })
    const two = rigOf({ rig: base, memberId: 'two' })
    const aborted: string[] = []
    one.handle = (firing) => {
      firing.onAbandoned = () => aborted.push(firing.row.key)
    }
    await base.settled(one.engine.start())
    await base.settled(one.engine.submit([one.set('long', 1000)]))
    await base.clock.advance('2s')
    await base.settled(two.engine.start())
    const isOwner = (): boolean => two.engine.shards.length === 0
    // The hand-over waits until the outcome of another call is known. Before that the shard is lost.
    carriage.loses = ({ name }) => isOwner() && name === 'requests'
    carriage.fails = ({ name }) => isOwner() && /refence|renew/.test(name)
    one.clock.jump(3000)
    await base.clock.advance('30s')
    expect(aborted).toEqual(['long'])
    expect(two.fired).toMatchObject([{ key: 'long', attempt: 2 }])
  })

  it('retries an attempt whose holder died, and counts the lost one', async () => {
    const carriage = new FaultyCarriage()
    const base = rigOf({ memberId: 'base', shardCount: 1 })
    const one = rigOf({ rig: base, memberId: 'one', carriage })
    const two = rigOf({ rig: base, memberId: 'two' })
    for (const rig of [one, two]) longHandler(rig)
    await base.settled(one.engine.start())
    await base.settled(one.engine.submit([one.set('long', 5000)]))
    await base.clock.advance('8s')
    await base.settled(two.engine.start())
    one.clock.jump(3000)
    await base.clock.advance('20s')
    expect(two.engine.shards).toHaveLength(1)
    expect(two.fired).toEqual([])
    expect(await base.settled(two.engine.submit([two.cancel('long')]))).toMatchObject([{ outcome: 'firing' }])
    carriage.isCut = true
    await base.clock.advance('60s')
    expect(two.fired.map(({ key, attempt }) => [key, attempt])).toEqual([['long', 2]])
    expect(await base.store.countRows()).toBe(0)
  })
})
