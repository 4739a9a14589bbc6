import { describe, expect, it } from 'vitest'
import { type EngineOptions, type EngineSettings, KindFilter } from '../../src/engine/index.js'
import { done, shardOf, type TimerName } from '../../src/timer/index.js'
import { FaultyCarriage } from './faulty-carriage.js'
import { Rig } from './rig.js'

const SHARDS = 8

/** The policy of an instance that handles these kinds and no others. */
function handling(...kinds: string[]): EngineOptions['policy'] {
  return {
    handles: (_namespace, kind) => kinds.includes(kind),
    concurrencyOf: (_namespace, kind) => (kinds.includes(kind) ? 100 : 0),
    takes: () => KindFilter.of([{ namespace: 'n', only: kinds }]),
  }
}

interface PoolOptions {
  readonly settings?: Partial<EngineSettings>
  readonly carriage?: FaultyCarriage
}

/** Instances on one store, each with kinds of its own. */
class Pools {
  readonly base = new Rig({ shardCount: SHARDS, memberId: 'base' })
  readonly rigs: Rig[] = []

  async start(memberId: string, policy: EngineOptions['policy'], options: PoolOptions = {}): Promise<Rig> {
    const rig = new Rig({ rig: this.base, memberId, policy: policy!, ...options })
    this.rigs.push(rig)
    await this.base.settled(rig.engine.start())
    return rig
  }

  /** Waits until the shards are shared out. */
  async rest(): Promise<void> {
    await this.base.clock.advance('10s')
  }

  /** Sets timers that are due this long from now. */
  async set(kind: string, count: number, inMs: number): Promise<string[]> {
    const keys = Array.from({ length: count }, (_, index) => `${kind}-${index}`)
    const now = this.base.clock.now()
    const sets = keys.map((key) => this.base.set(key, 0, { kind, dueAt: now + inMs }))
    await this.base.settled(this.rigs[0]!.engine.submit(sets))
    return keys
  }

  isOwnedBy({ engine }: Rig, name: TimerName): boolean {
    return engine.shards.some(({ shard }) => shard === shardOf(name, SHARDS))
  }

  async stop(): Promise<void> {
    await this.base.settled(Promise.all(this.rigs.map((rig) => rig.engine.stop())))
  }
}

const keysOf = (rig: Rig): string[] => rig.fired.map(({ key }) => key).toSorted()

describe('instances that handle different kinds', () => {
  it.each(['preload', 'lookahead'] as const)(
    'get the due timers of their kinds within a second, wherever the shards are owned, with %s',
    async (strategy) => {
      const pools = new Pools()
      const mail = await pools.start('mail', handling('mail'), { settings: { strategy } })
      const image = await pools.start('image', handling('image'), { settings: { strategy } })
      await pools.rest()
      expect(mail.engine.shards.length).toBe(SHARDS / 2)
      const mails = await pools.set('mail', 40, 5000)
      const images = await pools.set('image', 40, 5000)
      await pools.base.clock.advance('6s')
      expect(keysOf(mail)).toEqual(mails.toSorted())
      expect(keysOf(image)).toEqual(images.toSorted())
      await pools.base.clock.advance('20s')
      expect(mail.fired.length + image.fired.length).toBe(80)
      expect(await pools.base.store.counts()).toMatchObject({ created: 80, settled: 80, dead: 0 })
      await pools.stop()
    },
  )

  it('share a kind that several of them handle', async () => {
    const pools = new Pools()
    const owner = await pools.start('owner', handling('other'))
    const one = await pools.start('one', handling('mail'))
    const two = await pools.start('two', handling('mail'))
    await pools.rest()
    await pools.set('mail', 200, 5000)
    await pools.base.clock.advance('7s')
    expect(owner.fired).toEqual([])
    expect(one.fired.length + two.fired.length).toBe(200)
    expect(Math.min(one.fired.length, two.fired.length)).toBeGreaterThan(50)
    await pools.stop()
  })

  it('try a timer again at an instance that handles it, and go on with its next occurrence there', async () => {
    const pools = new Pools()
    const mail = await pools.start('mail', handling('mail'))
    await pools.start('other', handling('other'))
    mail.handle = (firing) => {
      if (firing.attempt === 1 && firing.row.occurrence === 0)
        firing.report({ type: 'retry', dueAt: mail.clock.now() + 500, reason: 'busy' })
      else if (firing.row.occurrence === 0) firing.report({ type: 'next', dueAt: mail.clock.now() + 500 })
      else firing.report(done)
    }
    await pools.rest()
    await pools.set('mail', 16, 1000)
    await pools.base.clock.advance('10s')
    expect(mail.fired.length).toBe(48)
    expect(await pools.base.store.counts()).toMatchObject({ created: 16, settled: 16 })
    await pools.stop()
  })

  it('answer firing to a cancel and a move of a timer that was offered, and a set replaces it', async () => {
    const pools = new Pools()
    const mail = await pools.start('mail', handling('mail'))
    const other = await pools.start('other', handling('other'))
    const running: (() => void)[] = []
    mail.handle = (firing) => running.push(() => firing.report(done))
    await pools.rest()
    const keys = await pools.set('mail', 16, 1000)
    await pools.base.clock.advance('3s')
    expect(mail.fired.length).toBe(16)
    const cancels = keys.map((key) => ({ type: 'cancel', namespace: 'n', kind: 'mail', key }) as const)
    const answers = await pools.base.settled(other.engine.submit(cancels))
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['firing']))
    mail.handle = (firing) => firing.report(done)
    await pools.set('mail', 16, 1000)
    await pools.base.clock.advance('3s')
    for (const end of running) end()
    await pools.base.clock.advance('5s')
    expect(mail.fired.length).toBe(32)
    expect(await pools.base.store.counts()).toMatchObject({ created: 32, replaced: 16, settled: 16 })
    await pools.stop()
  })

  it('start a kind that a new instance brings, and keep what no instance handles', async () => {
    const pools = new Pools()
    const old = await pools.start('old', handling('mail'))
    await pools.rest()
    await pools.set('image', 24, 1000)
    await pools.base.clock.advance('30s')
    expect(old.fired).toEqual([])
    expect(old.engine.stats().unhandled).toEqual([{ namespace: 'n', kind: 'image', waiting: 24 }])
    expect(old.eventsOf('stalled').map(({ reason }) => reason)).toContain(
      'no instance handles kind image of namespace n',
    )
    const added = await pools.start('new', handling('mail', 'image'))
    await pools.base.clock.advance('1s')
    expect(added.fired.length).toBe(24)
    expect(old.engine.stats().unhandled).toEqual([])
    await pools.stop()
  })

  it('take over from an instance that stops, without counting what it had not started', async () => {
    const pools = new Pools()
    const one = await pools.start('one', handling('mail'), { settings: { stopMs: 2000 } })
    const two = await pools.start('two', handling('mail'))
    await pools.start('other', handling('other'))
    await pools.rest()
    await pools.set('mail', 400, 1000)
    await pools.base.clock.advance(990)
    const stopped = one.engine.stop()
    await pools.base.clock.advance('10s')
    await pools.base.settled(stopped)
    await pools.base.clock.advance('20s')
    const fired = [...one.fired, ...two.fired]
    expect(fired.length).toBe(400)
    expect(fired.filter(({ attempt }) => attempt > 1)).toEqual([])
    await pools.stop()
  })

  it('give back what they cannot start, so that others start it', async () => {
    const pools = new Pools()
    const busy = await pools.start('busy', { ...handling('mail'), concurrencyOf: () => 1 })
    const free = await pools.start('free', handling('mail'))
    await pools.start('other', handling('other'))
    busy.handle = () => undefined
    await pools.rest()
    const keys = await pools.set('mail', 100, 1000)
    const ofOthers = keys.filter((key) => !pools.isOwnedBy(busy, { namespace: 'n', kind: 'mail', key }))
    expect(ofOthers.length).toBeLessThan(keys.length)
    await pools.base.clock.advance('30s')
    expect(busy.fired.length).toBe(1)
    const fired = new Set([...keysOf(busy), ...keysOf(free)])
    expect(ofOthers.filter((key) => !fired.has(key))).toEqual([])
    await pools.stop()
  })
})

describe('an offer', () => {
  it('is made again when its member dies, as one attempt of unknown outcome', async () => {
    const pools = new Pools()
    const carriage = new FaultyCarriage()
    const dying = await pools.start('dying', handling('mail'), { carriage })
    await pools.start('other', handling('other'))
    dying.handle = () => undefined
    await pools.rest()
    await pools.set('mail', 8, 1000)
    await pools.base.clock.advance('2s')
    expect(dying.fired.length).toBe(8)
    carriage.fails = () => true
    const next = await pools.start('next', handling('mail'))
    await pools.base.clock.advance('60s')
    expect(next.fired.length).toBe(8)
    expect(new Set(next.fired.map(({ attempt }) => attempt))).toEqual(new Set([2]))
    await pools.stop()
  })

  it('is not made to a member whose heartbeats are overdue', async () => {
    const pools = new Pools()
    const carriage = new FaultyCarriage()
    const owner = await pools.start('owner', handling('other'))
    const blocked = await pools.start('blocked', handling('mail'), { carriage })
    await pools.rest()
    const keys = await pools.set('mail', 40, 8000)
    const offered = keys.filter((key) => pools.isOwnedBy(owner, { namespace: 'n', kind: 'mail', key }))
    expect(offered.length).toBeGreaterThan(0)
    // It counts as alive until its heartbeat ends after ten seconds. An offer that is open then counts an attempt.
    carriage.fails = () => true
    await pools.base.clock.advance('15s')
    carriage.fails = () => false
    await pools.base.clock.advance('30s')
    const attempts = blocked.fired.filter(({ key }) => offered.includes(key)).map(({ attempt }) => attempt)
    expect(attempts).toEqual(offered.map(() => 1))
    await pools.stop()
  })

  it('is notified again if the notification got lost', async () => {
    const pools = new Pools()
    const carriage = new FaultyCarriage()
    const mail = await pools.start('mail', handling('mail'))
    const owner = await pools.start('owner', handling('other'), { carriage })
    await pools.rest()
    expect(owner.engine.shards.length).toBeGreaterThan(0)
    carriage.fails = ({ name }) => name === 'post'
    await pools.set('mail', 32, 1000)
    await pools.base.clock.advance(1500)
    expect(mail.fired.length).toBeLessThan(32)
    carriage.fails = () => false
    await pools.base.clock.advance('3s')
    expect(mail.fired.length).toBe(32)
    await pools.stop()
  })

  it('is taken once, however often it is notified', async () => {
    const pools = new Pools()
    const mail = await pools.start('mail', handling('mail'))
    await pools.start('other', handling('other'))
    const { store } = pools.base
    const post = store.post.bind(store)
    const posted: Parameters<typeof store.post>[0][] = []
    for (const rig of pools.rigs) {
      rig.store.post = async (messages) => {
        posted.push(messages)
        await post([...messages, ...messages])
      }
    }
    mail.handle = (firing) => void mail.clock.wakeAfter(40_000, () => firing.report(done))
    await pools.rest()
    await pools.set('mail', 16, 1000)
    for (let times = 0; times < 12; times++) {
      await pools.base.clock.advance('5s')
      for (const messages of posted.slice(-4)) await post(messages)
    }
    expect(mail.fired.length).toBe(16)
    expect(await pools.base.store.counts()).toMatchObject({ settled: 16 })
    await pools.stop()
  })
})

it('a fleet in which everybody handles everything neither posts nor takes mail', async () => {
  const pools = new Pools()
  const carriages = [new FaultyCarriage(), new FaultyCarriage()]
  await pools.start('one', handling('mail'), { carriage: carriages[0]! })
  await pools.start('two', handling('mail'), { carriage: carriages[1]! })
  await pools.rest()
  await pools.set('mail', 50, 1000)
  await pools.base.clock.advance('10s')
  expect(pools.rigs.flatMap(keysOf).length).toBe(50)
  const calls = carriages.flatMap(({ calls: each }) => each.map(({ name }) => name))
  expect(calls.filter((name) => name === 'post' || name === 'takeMail')).toEqual([])
  await pools.stop()
})
