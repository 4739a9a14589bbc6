import { describe, expect, it } from 'vitest'
import { every } from '../../src/schedule/index.js'
import { openTimers, timer, type Timers, type TimersOptions } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'

const START = Date.UTC(2026, 0, 1)

/** Instances on one memory store with the strategy claim, with one clock. */
class Rig {
  readonly clock = new VirtualClock({ start: START })
  readonly store = new MemoryStore({ clock: this.clock, strategy: 'claim', shardCount: 4 })

  async open(options: Omit<Partial<TimersOptions>, 'store'> = {}): Promise<Timers> {
    const store = this.store.connect()
    return await this.during(openTimers({ store, clock: this.clock, history: 'all', ...options }))
  }

  /** Advances the clock until the promise settles. */
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

  get at(): number {
    return this.clock.now() - START
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.wakeAfter(ms, resolve)
    })
  }
}

describe('timers of a store with the strategy claim', () => {
  it('recur, are retried, become dead letters, are redriven, and keep a history', async () => {
    const rig = new Rig()
    const [timers, other] = [await rig.open(), await rig.open()]
    const tick = timer('tick')
    const flaky = timer('flaky', { retry: { attempts: 3, backoff: '100ms..100ms' } })
    const seen: string[] = []
    let isMended = false
    for (const each of [timers, other]) {
      each.handle(tick, ({ occurrence }) => void seen.push(`tick ${occurrence}`))
      each.handle(flaky, ({ attempt }) => {
        seen.push(`flaky ${attempt}`)
        if (!isMended) throw new Error('no')
      })
      await rig.during(each.start())
    }
    await rig.during(timers.set(tick, 'a', { on: every('10s') }))
    await rig.during(timers.set(flaky, 'b', { in: '1s' }))
    await rig.clock.advance('35s')
    expect(seen.filter((line) => line.startsWith('tick'))).toEqual(['tick 0', 'tick 1', 'tick 2'])
    expect(seen.filter((line) => line.startsWith('flaky'))).toEqual(['flaky 1', 'flaky 2', 'flaky 3'])
    const { items } = await other.dead()
    expect(items.map(({ key, attempts, reason }) => [key, attempts, reason])).toEqual([
      ['b', 3, 'attempt 3 of 3 failed: no'],
    ])
    isMended = true
    await rig.during(other.redrive({ kind: flaky }))
    await rig.clock.advance('1s')
    expect(seen.at(-1)).toBe('flaky 1')
    const why = await timers.why(flaky, 'b')
    expect(why.events.map(({ event }) => event)).toEqual([
      'created',
      'attempt',
      'attempt',
      'attempt',
      'dead',
      'created',
      'attempt',
      'settled',
    ])
    expect((await timers.get(tick, 'a'))?.occurrence).toBe(3)
    await rig.during(timers.stop())
    await rig.clock.advance('10s')
    expect(seen.filter((line) => line.startsWith('tick'))).toHaveLength(4)
    expect(await other.stats()).toMatchObject({
      strategy: 'claim',
      pending: 1,
      store: { settled: 1, dead: 1 },
    })
    await rig.during(other.stop())
  })

  it('can be cancelled, moved and read while they fire', async () => {
    const rig = new Rig()
    const timers = await rig.open()
    const slow = timer('slow')
    timers.handle(slow, () => rig.sleep(500))
    await rig.during(timers.start())
    await rig.during(timers.set(slow, 'a', { in: 100 }))
    await rig.clock.advance(200)
    expect(await timers.get(slow, 'a')).toMatchObject({ state: 'firing' })
    expect(await rig.during(timers.cancel(slow, 'a'))).toBe('firing')
    expect(await rig.during(timers.fireNow(slow, 'a'))).toBe('firing')
    await rig.clock.advance(1000)
    expect(await timers.get(slow, 'a')).toBeUndefined()
    expect(await rig.during(timers.cancel(slow, 'a'))).toBe('unknown')
  })

  it('wait while they or their kind are paused, also by another instance', async () => {
    const rig = new Rig()
    const [timers, other] = [await rig.open(), await rig.open()]
    const kind = timer('kind')
    const seen: string[] = []
    timers.handle(kind, ({ key }) => void seen.push(key))
    await rig.during(timers.start())
    await rig.during(other.set(kind, 'a', { in: '5s' }))
    await rig.during(other.set(kind, 'b', { in: '20s' }))
    await rig.during(other.pause(kind))
    await rig.during(other.pause(kind, 'b'))
    await rig.clock.advance('10s')
    expect(seen).toEqual([])
    await rig.during(other.resume(kind))
    await rig.clock.advance('3s')
    expect(seen).toEqual(['a'])
    await rig.clock.advance('30s')
    expect(seen).toEqual(['a'])
    await rig.during(other.resume(kind, 'b'))
    await rig.clock.advance('1s')
    expect(seen).toEqual(['a', 'b'])
  })

  it('respect the concurrency and rate of their kind, and do not block other kinds', async () => {
    const rig = new Rig()
    const timers = await rig.open()
    const narrow = timer('narrow', { concurrency: 3 })
    const rated = timer('rated', { rate: 10 })
    const free = timer('free')
    const state = { underWay: 0, most: 0 }
    const seen: { kind: string; at: number }[] = []
    const note = (kind: string) => void seen.push({ kind, at: rig.at })
    timers.handle(narrow, async () => {
      note('narrow')
      state.most = Math.max(state.most, ++state.underWay)
      await rig.sleep(1000)
      state.underWay--
    })
    timers.handle(rated, () => note('rated'))
    timers.handle(free, () => note('free'))
    await rig.during(timers.start())
    const at = START + 2000
    await rig.during(
      timers.setMany(
        narrow,
        Array.from({ length: 30 }, () => ({ at })),
      ),
    )
    await rig.during(
      timers.setMany(
        rated,
        Array.from({ length: 40 }, () => ({ at })),
      ),
    )
    await rig.during(
      timers.setMany(
        free,
        Array.from({ length: 50 }, () => ({ at: at + 100 })),
      ),
    )
    await rig.clock.advance(30_000)
    const of = (kind: string) => seen.filter((each) => each.kind === kind).map((each) => each.at)
    expect(of('free')).toHaveLength(50)
    expect(Math.max(...of('free'))).toBeLessThan(2120)
    expect(of('narrow')).toHaveLength(30)
    expect(state.most).toBe(3)
    expect(Math.max(...of('narrow'))).toBeLessThan(2000 + 9 * 1020)
    const rate = of('rated')
    expect(rate).toHaveLength(40)
    // The rate allows one at once, then ten a second.
    expect(rate.filter((time) => time < 2050)).toHaveLength(1)
    expect(Math.max(...rate)).toBeGreaterThanOrEqual(2000 + 3900)
    expect(Math.max(...rate)).toBeLessThan(2000 + 4200)
  })

  it('fire in the instance that handles their kind, or in the one with handleOthers', async () => {
    const rig = new Rig()
    const [mail, rest, setter] = [await rig.open(), await rig.open(), await rig.open()]
    const [mailKind, callKind] = [timer('mail'), timer('call')]
    const seen: string[] = []
    mail.handle(mailKind, () => void seen.push('mail by mail'))
    rest.handleOthers(({ kind }) => void seen.push(`${kind} by rest`))
    await rig.during(mail.start())
    await rig.during(setter.set(callKind, 'a', { in: 100 }))
    await rig.during(setter.set(mailKind, 'a', { in: 100 }))
    await rig.clock.advance('5s')
    expect(seen).toEqual(['mail by mail'])
    await rig.during(rest.start())
    await rig.clock.advance('3s')
    expect(seen).toEqual(['mail by mail', 'call by rest'])
    // This kind did not exist at the last refresh.
    await rig.during(setter.set(timer('new'), 'a', { in: 100 }))
    await rig.clock.advance('3s')
    expect(seen.at(-1)).toBe('new by rest')
  })
})

describe('a drain of a store with the strategy claim', () => {
  it('fires due timers up to maxTimers and maxTime, and leaves the rest', async () => {
    const rig = new Rig()
    const timers = await rig.open({ engine: { spacingMs: 1 } })
    const kind = timer('kind')
    const seen: string[] = []
    timers.handle(kind, ({ key }) => void seen.push(key))
    const rows = Array.from({ length: 30 }, (_, i) => ({ key: `k${i}`, in: i }))
    await rig.during(timers.setMany(kind, [...rows, { key: 'later', in: '1h' }]))
    await rig.clock.advance('1s')
    expect(await rig.during(timers.drain({ maxTimers: 10 }))).toEqual({ fired: 10, isCaughtUp: false })
    expect(seen).toEqual(rows.slice(0, 10).map(({ key }) => key))
    await rig.clock.advance('1h')
    expect(seen).toHaveLength(10)
    expect(await rig.during(timers.drain())).toEqual({ fired: 21, isCaughtUp: true })
    expect(await rig.during(timers.drain())).toEqual({ fired: 0, isCaughtUp: true })
    expect(seen.toSorted()).toEqual([...rows.map(({ key }) => key), 'later'].toSorted())
    expect((await timers.list()).items).toEqual([])
    await rig.during(timers.stop())
  })

  it('ends after maxTime, and settles the attempts that it started', async () => {
    const rig = new Rig()
    const timers = await rig.open()
    const kind = timer('kind', { concurrency: 1 })
    timers.handle(kind, () => rig.sleep(400))
    await rig.during(
      timers.setMany(
        kind,
        Array.from({ length: 20 }, () => ({ in: 0 })),
      ),
    )
    const before = rig.at
    expect(await rig.during(timers.drain({ maxTime: '1s' }))).toMatchObject({ fired: 3, isCaughtUp: false })
    expect(rig.at - before).toBeLessThan(1500)
    expect((await timers.list()).items).toHaveLength(17)
  })

  it('fires each timer once when several drains run at the same time', async () => {
    const rig = new Rig()
    const kind = timer('kind')
    const seen: string[] = []
    const instances: Timers[] = []
    for (let i = 0; i < 3; i++) instances.push(await rig.open({ engine: { claimRows: 10 } }))
    for (const each of instances) {
      each.handle(kind, async ({ key }) => {
        seen.push(key)
        await rig.sleep(3)
      })
    }
    const rows = Array.from({ length: 1000 }, (_, i) => ({ key: `k${i}`, in: 0 }))
    await rig.during(instances[0]!.setMany(kind, rows))
    const drained = await rig.during(Promise.all(instances.map((each) => each.drain())))
    expect(drained.every(({ isCaughtUp }) => isCaughtUp)).toBe(true)
    expect(drained.every(({ fired }) => fired > 0)).toBe(true)
    expect(seen.toSorted()).toEqual(rows.map(({ key }) => key).toSorted())
    expect((await instances[0]!.list()).items).toEqual([])
  })
})

describe('the strategy of a store', () => {
  it('comes from the option for a new store, and from the store when no option is given', async () => {
    const clock = new VirtualClock()
    const chosen = await openTimers({ store: 'memory:', clock, engine: { strategy: 'claim' } })
    expect((await chosen.stats()).strategy).toBe('claim')
    const found = await openTimers({ store: new MemoryStore({ clock, strategy: 'claim' }), clock })
    expect((await found.stats()).strategy).toBe('claim')
    const owned = await openTimers({ store: 'memory:', clock })
    expect((await owned.stats()).strategy).toBe('preload')
  })

  it('cannot be changed by the option, and the error says what to do', async () => {
    const clock = new VirtualClock()
    const claims = new MemoryStore({ clock, strategy: 'claim' })
    await expect(
      openTimers({ store: claims, clock, engine: { strategy: 'lookahead' } }),
    ).rejects.toMatchObject({
      code: 'wrong-strategy',
      message: expect.stringContaining('leave engine.strategy out') as unknown,
    })
    const owned = new MemoryStore({ clock })
    await expect(openTimers({ store: owned, clock, engine: { strategy: 'claim' } })).rejects.toMatchObject({
      code: 'wrong-strategy',
    })
    await expect(
      openTimers({ store: 'memory:', clock, engine: { strategy: 'other' as 'claim' } }),
    ).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
