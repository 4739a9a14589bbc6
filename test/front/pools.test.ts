import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers, type TimersOptions } from '../../src/front/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { eventually } from '../eventually.js'
import { MemoryFixture, PostgresFixture, RedisFixture } from '../server/store-fixtures.js'

const mail = timer('mail')
const image = timer('image')
const START = Date.UTC(2026, 0, 1)

/** Instances on one store in virtual time. It records which instance fired which key. */
class Fleet {
  readonly clock = new VirtualClock({ start: START })
  readonly store = new MemoryStore({ clock: this.clock, shardCount: 8 })
  readonly fired = new Map<string, string[]>()

  async open(
    name: string,
    kinds: readonly string[],
    options: Omit<Partial<TimersOptions>, 'store'> = {},
  ): Promise<Timers> {
    const timers = await openTimers({ store: this.store.connect(), clock: this.clock, ...options })
    for (const kind of kinds) timers.handle(timer(kind), ({ key }) => this.record(name, key))
    return timers
  }

  async start(
    name: string,
    kinds: readonly string[],
    options: Omit<Partial<TimersOptions>, 'store'> = {},
  ): Promise<Timers> {
    const timers = await this.open(name, kinds, options)
    await this.during(timers.start())
    return timers
  }

  record(name: string, key: string): void {
    this.fired.set(name, [...(this.fired.get(name) ?? []), key])
  }

  countOf(name: string): number {
    return this.fired.get(name)?.length ?? 0
  }

  async set(timers: Timers, kind: string, count: number, inMs: number, prefix = kind): Promise<void> {
    const rows = Array.from({ length: count }, (_, index) => ({ key: `${prefix}-${index}`, in: inMs }))
    await this.during(timers.setMany(timer(kind), rows))
  }

  async during<T>(work: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const watched = work.finally(() => {
      state.isOver = true
    })
    await this.clock.advance(0)
    while (!state.isOver) await this.clock.advance(10)
    return await watched
  }
}

describe('a rolling deploy', () => {
  it('that adds a kind fires its timers at the instances that have it', async () => {
    const fleet = new Fleet()
    const one = await fleet.start('one', ['mail'])
    const two = await fleet.start('two', ['mail'])
    await fleet.clock.advance('20s')
    const next = await fleet.start('next', ['mail', 'image'])
    await fleet.set(next, 'image', 40, 1000)
    await fleet.clock.advance('2s')
    expect(fleet.countOf('next')).toBe(40)
    for (const timers of [one, two, next]) await fleet.during(timers.stop())
  })

  it('that renames a kind fires the old name at old instances and the new one at new instances', async () => {
    const fleet = new Fleet()
    const old = await fleet.start('old', ['mail'])
    await fleet.set(old, 'mail', 40, 60_000)
    const next = await fleet.start('next', ['e-mail'])
    await fleet.set(next, 'e-mail', 40, 60_000)
    await fleet.clock.advance('63s')
    expect(fleet.countOf('old')).toBe(40)
    expect(fleet.countOf('next')).toBe(40)
    for (const timers of [old, next]) await fleet.during(timers.stop())
  })

  it('that drops a kind keeps its timers, names the kind, and fires them when it is handled again', async () => {
    const fleet = new Fleet()
    const old = await fleet.start('old', ['mail', 'image'])
    await fleet.set(old, 'image', 40, 60_000)
    const next = await fleet.start('next', ['mail'])
    await fleet.during(old.stop())
    await fleet.clock.advance('90s')
    expect(fleet.fired.size).toBe(0)
    expect(next.engine.stats().unhandled).toEqual([{ namespace: 'default', kind: 'image', waiting: 40 }])
    const back = await fleet.start('back', ['mail', 'image'])
    await fleet.clock.advance('2s')
    expect(fleet.countOf('back')).toBe(40)
    expect(next.engine.stats().unhandled).toEqual([])
    for (const timers of [next, back]) await fleet.during(timers.stop())
  })

  it('loses nothing and repeats nothing while instances are replaced one by one', async () => {
    const fleet = new Fleet()
    let running = [
      await fleet.start('a0', ['mail']),
      await fleet.start('a1', ['mail']),
      await fleet.start('a2', ['mail', 'image']),
    ]
    for (let wave = 0; wave < 6; wave++) {
      await fleet.set(running[0]!, 'mail', 40, 1000 + wave * 500, `mail-${wave}`)
      await fleet.set(running[0]!, 'image', 40, 1000 + wave * 500, `image-${wave}`)
    }
    for (const [index, timers] of [...running].entries()) {
      const kinds = index === 0 ? ['mail', 'image', 'new'] : ['mail', 'new']
      const next = await fleet.start(`b${index}`, kinds)
      await fleet.during(timers.stop())
      running = [...running.filter((other) => other !== timers), next]
      await fleet.clock.advance('1s')
    }
    await fleet.set(running[0]!, 'new', 40, 0)
    await fleet.clock.advance('30s')
    const all = [...fleet.fired.values()].flat()
    expect(new Set(all).size).toBe(520)
    expect(all.length).toBe(520)
    for (const timers of running) await fleet.during(timers.stop())
  })
})

describe('an instance', () => {
  it('that handles all other kinds gets them from the shards of the others', async () => {
    const fleet = new Fleet()
    const some = await fleet.start('some', ['mail'])
    const rest = await fleet.open('rest', [])
    rest.handleOthers(({ key }) => fleet.record('rest', key))
    await fleet.during(rest.start())
    await fleet.clock.advance('10s')
    await fleet.set(some, 'image', 40, 1000)
    await fleet.clock.advance('2s')
    expect(fleet.countOf('rest')).toBe(40)
    for (const timers of [some, rest]) await fleet.during(timers.stop())
  })

  it('gets no timers of a paused kind, and all of them once it is resumed', async () => {
    const fleet = new Fleet()
    const mails = await fleet.start('mails', ['mail'])
    const images = await fleet.start('images', ['image'])
    await fleet.clock.advance('10s')
    await fleet.during(mails.pause(mail))
    await fleet.clock.advance('5s')
    await fleet.set(images, 'mail', 40, 1000)
    await fleet.clock.advance('20s')
    expect(fleet.countOf('mails')).toBe(0)
    await fleet.during(mails.resume(mail))
    await fleet.clock.advance('5s')
    expect(fleet.countOf('mails')).toBe(40)
    for (const timers of [mails, images]) await fleet.during(timers.stop())
  })

  it('that drains fires what the owners of other shards cannot', async () => {
    const fleet = new Fleet()
    const images = await fleet.start('images', ['image'])
    await fleet.set(images, 'mail', 40, 0)
    await fleet.clock.advance('5s')
    const lambda = await fleet.open('function', ['mail'])
    const drained = await fleet.during(lambda.drain())
    expect(fleet.countOf('function')).toBe(40)
    expect(drained.fired).toBe(40)
    await fleet.clock.advance('5s')
    expect((await images.list()).items).toEqual([])
    for (const timers of [images, lambda]) await fleet.during(timers.stop())
  })

  it('keeps the retries and the history of a timer that another instance fires', async () => {
    const fleet = new Fleet()
    const images = await fleet.start('images', ['image'], { history: 'all' })
    const mails = await fleet.open('mails', [], { history: 'all' })
    mails.handle(mail, ({ key, attempt }) => {
      fleet.record('mails', `${key} ${attempt}`)
      if (attempt === 1) throw new Error('busy')
    })
    await fleet.during(mails.start())
    await fleet.clock.advance('10s')
    await fleet.during(images.set(mail, 'one', { in: '1s', retry: { backoff: '1s..1s', attempts: 3 } }))
    await fleet.clock.advance('30s')
    expect(fleet.fired.get('mails')).toEqual(['one 1', 'one 2'])
    const events = (await images.history({ kind: 'mail', key: 'one' })).items.map(({ event }) => event)
    expect(events).toEqual(['created', 'attempt', 'attempt', 'settled'])
    expect(await images.get(mail, 'one')).toMatchObject({ state: 'settled' })
    for (const timers of [images, mails]) await fleet.during(timers.stop())
  })
})

describe.each([new MemoryFixture(), new PostgresFixture(), new RedisFixture()])(
  'on a $name store, instances with kinds and namespaces of their own',
  (fixture) => {
    let stores: Store[] = []

    beforeAll(() => fixture.start(), 60_000)
    afterAll(() => fixture.stop())

    async function open(): Promise<Timers> {
      const [first] = stores
      const store = first instanceof MemoryStore ? first.connect() : await fixture.open()
      stores.push(store)
      return await openTimers({ store, logger: false })
    }

    it('fire each timer where it is handled', async () => {
      stores = []
      const one = await open()
      const two = await open()
      const fired = { one: new Set<string>(), two: new Set<string>(), inner: new Set<string>() }
      one.handle(mail, ({ key }) => void fired.one.add(key))
      two.handle(image, ({ key }) => void fired.two.add(key))
      const inner = await two.within('inner')
      inner.handle(mail, ({ key }) => void fired.inner.add(key))
      await one.start()
      await two.start()
      await eventually(() => {
        expect(one.engine.stats().shards.length).toBeGreaterThan(0)
        if (one.engine.stats().shards.length > 1) expect(two.engine.stats().shards.length).toBeGreaterThan(0)
      })
      const rows = Array.from({ length: 40 }, (_, index) => ({ key: `k${index}`, in: 300 }))
      await one.setMany(mail, rows)
      await one.setMany(image, rows)
      await inner.setMany(mail, rows)
      await eventually(() => {
        expect(fired.one.size).toBe(40)
        expect(fired.two.size).toBe(40)
        expect(fired.inner.size).toBe(40)
      }, 20_000)
      await eventually(async () => expect((await one.list()).items).toEqual([]))
      await Promise.all([one.stop(), two.stop()])
      await Promise.all(stores.map((store) => store.stop()))
    }, 60_000)
  },
)
