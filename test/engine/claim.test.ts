import { describe, expect, it } from 'vitest'
import { ClaimEngine, type Ending, OwnerEngine } from '../../src/engine/index.js'
import { StoreError } from '../../src/error/index.js'
import { type Carriage, MemoryStore } from '../../src/store/index.js'
import type { VirtualClock } from '../../src/time/index.js'
import { done, type Firing } from '../../src/timer/index.js'
import { ClaimRig, START } from './claim-rig.js'

const HOUR_MS = 3_600_000

describe('claimed rows', () => {
  it('fire once, at their due time, and are settled', async () => {
    const rig = new ClaimRig()
    const engine = rig.engine('a')
    await rig.settled(engine.start())
    const keys = Array.from({ length: 2500 }, (_, i) => `key-${i}`)
    await rig.submit(engine, ...keys.map((key, i) => rig.set(key, 200 + i)))
    await rig.clock.advance(199 - (rig.clock.now() - START))
    expect(rig.fired).toEqual([])
    await rig.clock.advance(2600)
    expect(rig.keys.toSorted()).toEqual(keys.toSorted())
    for (const { key, at } of rig.fired) {
      const dueAt = 200 + Number(key.slice(4))
      expect(at).toBeGreaterThanOrEqual(dueAt)
      expect(at).toBeLessThan(dueAt + 10)
    }
    expect(await rig.store.countRows()).toBe(0)
    expect(engine.stats().counts).toMatchObject({ fired: 2500, done: 2500, settled: 2500 })
    await rig.settled(engine.stop())
  })

  it('are spread over the instances, and each row goes to one of them', async () => {
    const rig = new ClaimRig()
    const engines = ['a', 'b', 'c'].map((name) => rig.engine(name, { settings: { claimRows: 7 } }))
    await rig.settled(engines[0]!.open())
    const keys = Array.from({ length: 500 }, (_, i) => `key-${i}`)
    await rig.submit(engines[0]!, ...keys.map((key) => rig.set(key, 1000)))
    await rig.settled(Promise.all(engines.map((engine) => engine.start())))
    await rig.clock.advance(3000)
    expect(rig.keys.toSorted()).toEqual(keys.toSorted())
    expect(new Set(rig.fired.map(({ by }) => by))).toEqual(new Set(['a', 'b', 'c']))
    expect(await rig.store.countRows()).toBe(0)
  })

  it('are fired at their due time by an instance that another instance wakes', async () => {
    const rig = new ClaimRig()
    const [setter, firer] = [rig.engine('setter'), rig.engine('firer')]
    await rig.settled(Promise.all([setter.open(), firer.start()]))
    await rig.clock.advance(3123)
    const at = rig.clock.now() - START
    await rig.submit(setter, rig.set('soon', at + 77), rig.set('later', at + 5432))
    await rig.clock.advance(10_000)
    expect(rig.fired.map(({ key, by }) => [key, by])).toEqual([
      ['soon', 'firer'],
      ['later', 'firer'],
    ])
    expect(rig.fired[0]!.at - (at + 77)).toBeLessThan(10)
    expect(rig.fired[1]!.at - (at + 5432)).toBeLessThan(10)
  })

  it('fire although a batch takes the store longer than a lease, because the next batches are smaller', async () => {
    const rig = new ClaimRig()
    const settings = { leaseMs: 1500, leaseMarginMs: 300 }
    const engine = rig.engine('a', { carriage: new SlowCarriage(rig.clock, 2), settings })
    await rig.settled(engine.open())
    const keys = Array.from({ length: 3000 }, (_, i) => `key-${i}`)
    await rig.submit(engine, ...keys.map((key) => rig.set(key, 0)))
    await rig.settled(engine.start())
    await rig.clock.advance(30_000)
    expect(rig.keys.toSorted()).toEqual(keys.toSorted())
    expect(await rig.store.countRows()).toBe(0)
    await rig.settled(engine.stop())
  })

  it('are claimed again when their holder dies, and count one more attempt', async () => {
    const rig = new ClaimRig()
    const carriage = new CutCarriage()
    const policy = { notesOf: noted }
    const [dying, living] = [rig.engine('dying', { carriage, policy }), rig.engine('living', { policy })]
    const stuck: Firing[] = []
    rig.handle = (firing) => (firing.attempt === 1 ? stuck.push(firing) : firing.report(done))
    await rig.settled(dying.start())
    await rig.submit(dying, rig.set('a', 100))
    await rig.clock.advance(200)
    expect(rig.fired).toHaveLength(1)
    carriage.isCut = true
    const cutAt = rig.clock.now() - START
    await rig.settled(living.start())
    await rig.clock.advance(20_000)
    expect(rig.fired.map(({ by, attempt }) => [by, attempt])).toEqual([
      ['dying', 1],
      ['living', 2],
    ])
    expect(rig.fired[1]!.id).toBe(rig.fired[0]!.id)
    // At most a whole lease, and then the next poll.
    expect(rig.fired[1]!.at - cutAt).toBeLessThanOrEqual(10_000 + 1000 + 10)
    carriage.isCut = false
    stuck[0]!.report(done)
    await rig.clock.advance(5000)
    const { items } = await rig.store.history({ namespace: 'n', limit: 10 })
    expect(items.map(({ event }) => event)).toEqual(['unknown 1 from dying', 'done 2', 'done 1 not followed'])
    expect((await rig.store.counts()).settled).toBe(1)
    expect(dying.stats().counts).toMatchObject({ done: 0, superseded: 1 })
    expect(rig.events.filter(({ type }) => type === 'lease-lost')).toHaveLength(1)
  })

  it('are claimed again, with an event, when their holder died while the clock was ahead', async () => {
    const rig = new ClaimRig()
    const { clock } = rig
    const carriage = new CutCarriage()
    const [dying, living] = [rig.engine('dying', { carriage, clock }), rig.engine('living', { clock })]
    rig.handle = (firing) => void (firing.attempt === 2 && firing.report(done))
    await rig.settled(dying.start())
    clock.jump(HOUR_MS)
    await rig.submit(dying, rig.set('a', 100), rig.set('b', 100))
    await clock.advance(20_000)
    expect(rig.keys).toEqual(['a', 'b'])
    carriage.isCut = true
    clock.jump(-HOUR_MS)
    await rig.settled(living.start())
    // Two leases, because nobody renews these claims, and then the next poll.
    await clock.advance(30_000)
    expect(rig.fired.slice(2).map(({ key, by, attempt }) => [key, by, attempt])).toEqual([
      ['a', 'living', 2],
      ['b', 'living', 2],
    ])
    expect(rig.events.filter(({ type }) => type === 'lease-ahead')).toMatchObject([{ count: 2 }])
    expect(await rig.store.counts()).toMatchObject({ settled: 2 })
  })

  it('stay with a living holder when the clock is set', async () => {
    const rig = new ClaimRig()
    const { clock } = rig
    const engines = [rig.engine('a', { clock }), rig.engine('b', { clock })]
    rig.handle = (firing) => void clock.wakeAfter(120_000, () => firing.report(done))
    clock.jump(HOUR_MS)
    await rig.settled(engines[0]!.start())
    await rig.submit(engines[0]!, rig.set('slow', 100))
    await clock.advance(1000)
    await rig.settled(engines[1]!.start())
    clock.jump(-HOUR_MS)
    await clock.advance(150_000)
    expect(rig.fired).toHaveLength(1)
    expect(rig.events.filter(({ type }) => type === 'lease-ahead')).toEqual([])
    expect(await rig.store.counts()).toMatchObject({ settled: 1 })
  })

  it('are polled for as often as before after the clock was ahead', async () => {
    const rig = new ClaimRig()
    const { clock } = rig
    const [setter, firer] = [rig.engine('setter', { clock }), rig.engine('firer', { clock })]
    await rig.settled(Promise.all([setter.open(), firer.start()]))
    clock.jump(HOUR_MS)
    await clock.advance(5000)
    clock.jump(-HOUR_MS)
    // Too soon for an event.
    await rig.submit(setter, rig.set('later', clock.now() - START + 5000))
    await clock.advance(7000)
    expect(rig.fired.map(({ key, by }) => [key, by])).toEqual([['later', 'firer']])
  })

  it('stay with a handler that runs longer than a lease', async () => {
    const rig = new ClaimRig()
    const engines = [rig.engine('a'), rig.engine('b')]
    rig.handle = (firing) => void rig.clock.wakeAfter(60_000, () => firing.report(done))
    await rig.settled(Promise.all(engines.map((engine) => engine.start())))
    await rig.submit(engines[0]!, rig.set('slow', 100))
    await rig.clock.advance(90_000)
    expect(rig.fired).toHaveLength(1)
    expect(await rig.store.counts()).toMatchObject({ settled: 1 })
  })

  it('are answered firing to cancel and move while they are claimed', async () => {
    const rig = new ClaimRig()
    const [a, b] = [rig.engine('a'), rig.engine('b')]
    rig.handle = (firing) => void rig.clock.wakeAfter(1000, () => firing.report(done))
    await rig.settled(Promise.all([a.start(), b.open()]))
    await rig.submit(a, rig.set('x', 500), rig.set('y', 500), rig.set('z', 500))
    expect(await rig.submit(b, rig.cancel('x'), rig.move('y', 4000))).toEqual(['cancelled', 'moved'])
    await rig.clock.advance(600)
    expect(rig.keys).toEqual(['z'])
    const [z] = await rig.store.find([{ namespace: 'n', kind: 'k', key: 'z' }])
    expect(a.progressOf(z!)).toBe('firing')
    expect(await rig.submit(b, rig.cancel('z'), rig.move('z', 9000))).toEqual(['firing', 'firing'])
    expect(await rig.submit(b, rig.cancel('x'))).toEqual(['unknown'])
    await rig.clock.advance(1500)
    expect(await rig.submit(b, rig.cancel('z'))).toEqual(['unknown'])
    await rig.clock.advance(5000)
    expect(rig.keys).toEqual(['z', 'y'])
  })

  it('get no follow-up if the timer was set again meanwhile', async () => {
    const rig = new ClaimRig()
    const engine = rig.engine('a', { policy: { notesOf: noted } })
    const under: Firing[] = []
    rig.handle = (firing) => void under.push(firing)
    await rig.settled(engine.start())
    await rig.submit(engine, rig.set('x', 100))
    await rig.clock.advance(200)
    await rig.submit(engine, rig.set('x', 5000))
    under[0]!.report({ type: 'retry', dueAt: START + 300, reason: 'no' })
    await rig.clock.advance(3000)
    expect(rig.fired).toHaveLength(1)
    await rig.clock.advance(3000)
    expect(rig.fired.map(({ attempt }) => attempt)).toEqual([1, 1])
    under[1]!.report(done)
    await rig.clock.advance(100)
    const { items } = await rig.store.history({ namespace: 'n', limit: 10 })
    expect(items.map(({ event }) => event)).toEqual(['retry 1 not followed', 'done 1'])
    expect(await rig.store.counts()).toMatchObject({ created: 2, replaced: 1, settled: 1 })
  })

  it('are retried, go on to the next occurrence or become dead letters, as their outcome says', async () => {
    const rig = new ClaimRig()
    const engine = rig.engine('a')
    rig.handle = (firing) => {
      const { attempt, row } = firing
      if (row.key === 'flaky' && attempt < 3) {
        firing.report({ type: 'retry', dueAt: rig.clock.now() + 300, reason: 'no', details: 'tried' })
      } else if (row.key === 'cyclic' && row.occurrence < 3) {
        firing.report({ type: 'next', dueAt: rig.clock.now() + 1000 })
      } else if (row.key === 'dying') {
        const next = { dueAt: rig.clock.now() + 2000 }
        firing.report({ type: 'dead', reason: 'gone', ...(row.occurrence === 0 && { next }) })
      } else firing.report(done)
    }
    await rig.settled(engine.start())
    await rig.submit(engine, rig.set('flaky', 100), rig.set('cyclic', 100), rig.set('dying', 100))
    await rig.clock.advance(10_000)
    const timesOf = (key: string) => rig.fired.filter((each) => each.key === key)
    expect(timesOf('flaky').map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expect(new Set(timesOf('flaky').map(({ id }) => id)).size).toBe(1)
    expect(timesOf('cyclic').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
    expect(new Set(timesOf('cyclic').map(({ id }) => id)).size).toBe(4)
    expect(timesOf('dying')).toHaveLength(2)
    const { items } = await rig.store.deadLetters({ namespace: 'n', limit: 9 })
    expect(items.map(({ reason }) => reason)).toEqual(['gone', 'gone'])
    expect(await rig.store.counts()).toEqual({ created: 3, settled: 2, dead: 1, cancelled: 0, replaced: 0 })
    expect(await rig.store.countRows()).toBe(0)
  })

  it('are claimed only by instances with free handlers, so that none waits in a busy one', async () => {
    const rig = new ClaimRig()
    const policy = {
      concurrencyOf: () => 2,
      kinds: () => [{ namespace: 'n', kind: 'k' }],
    }
    const [a, b] = [rig.engine('a', { policy }), rig.engine('b', { policy })]
    rig.handle = (firing) => void rig.clock.wakeAfter(700, () => firing.report(done))
    await rig.settled(a.start())
    await rig.submit(a, ...Array.from({ length: 8 }, (_, i) => rig.set(`k${i}`, 100)))
    await rig.clock.advance(500)
    expect(rig.fired).toHaveLength(2)
    await rig.settled(b.start())
    await rig.clock.advance(150)
    expect(rig.fired.map(({ by }) => by)).toEqual(['a', 'a', 'b', 'b'])
    await rig.clock.advance(1500)
    expect(rig.fired).toHaveLength(8)
    // As soon as a handler is free, not at the next poll.
    const [first, , , , fifth, sixth] = rig.fired
    for (const next of [fifth!, sixth!]) expect(next.at - first!.at).toBeLessThan(700 + 20)
  })

  it('are settled once, with one history entry, when the answer to the settlement is lost', async () => {
    const rig = new ClaimRig()
    const carriage = new CutCarriage()
    const engine = rig.engine('a', { carriage, policy: { notesOf: noted } })
    await rig.settled(engine.start())
    carriage.losesAnswersOf = 'settleClaimed'
    await rig.submit(engine, rig.set('x', 100))
    await rig.clock.advance(1000)
    expect(carriage.lost).toBeGreaterThan(1)
    carriage.losesAnswersOf = undefined
    await rig.clock.advance(30_000)
    expect(rig.fired).toHaveLength(1)
    const { items } = await rig.store.history({ namespace: 'n', limit: 10 })
    expect(items.map(({ event }) => event)).toEqual(['done 1'])
    expect(rig.events.filter(({ type }) => type === 'lease-lost')).toEqual([])
    await rig.settled(engine.stop())
  })

  it('are looked up after a set without an answer, but a cancel without an answer fails', async () => {
    const rig = new ClaimRig()
    const carriage = new CutCarriage()
    const engine = rig.engine('a', { carriage })
    await rig.settled(engine.open())
    carriage.losesAnswersOf = 'write'
    expect(await rig.submit(engine, rig.set('x', 60_000))).toEqual(['set'])
    const [answer] = await rig.settled(engine.submit([rig.cancel('x')]))
    expect(answer).toMatchObject({ outcome: 'failed', error: { code: 'unknown-outcome' } })
    carriage.losesAnswersOf = undefined
    carriage.isCut = true
    const waiting = engine.submit([rig.set('y', 60_000)])
    await rig.clock.advance(500)
    carriage.isCut = false
    expect((await rig.settled(waiting)).map(({ outcome }) => outcome)).toEqual(['set'])
  })

  it('start by the clock of the store, and not at an instance whose clock is far off', async () => {
    const rig = new ClaimRig()
    const behind = shifted(rig.clock, -300)
    const engine = rig.engine('behind', { clock: behind })
    await rig.settled(engine.start())
    await rig.submit(engine, rig.set('x', 1000))
    await rig.clock.advance(5000)
    expect(rig.fired).toHaveLength(1)
    expect(rig.fired[0]!.at).toBeGreaterThanOrEqual(1000)
    expect(rig.fired[0]!.at).toBeLessThan(1300)
    const off = rig.engine('off', { clock: shifted(rig.clock, -900) })
    await rig.settled(engine.stop())
    await rig.settled(off.start())
    await rig.submit(off, rig.set('y', 6000))
    await rig.clock.advance(20_000)
    expect(rig.fired).toHaveLength(1)
    expect(rig.events.some(({ type }) => type === 'clock-off')).toBe(true)
    await rig.settled(rig.engine('right').start())
    await rig.clock.advance(100)
    expect(rig.fired.map(({ by }) => by)).toEqual(['behind', 'right'])
  })

  it('are given back unstarted when their kind is paused', async () => {
    const rig = new ClaimRig()
    // The kind is paused while the answer to the claim is on its way.
    let room = 10
    const carriage: Carriage = {
      carry: async (call, commit) => {
        const answer = commit()
        if (call.name === 'claimDue' && Array.isArray(answer) && answer.length > 0) {
          room = 0
          engine.refresh()
        }
        return answer
      },
      wake: (deliver) => deliver(),
    }
    const engine = rig.engine('a', { carriage, policy: { concurrencyOf: () => room } })
    const other = rig.engine('b')
    await rig.settled(engine.start())
    await rig.submit(engine, rig.set('x', 1000))
    await rig.clock.advance(1100 - (rig.clock.now() - START))
    expect(rig.fired).toEqual([])
    await rig.settled(engine.rest())
    await rig.settled(other.start())
    await rig.clock.advance(100)
    expect(rig.fired.map(({ by, attempt }) => [by, attempt])).toEqual([['b', 1]])
  })

  it('need a store of mode claim', () => {
    const clock = new ClaimRig().clock
    const parts = { clock, deliver: () => undefined }
    const claims = new MemoryStore({ clock, strategy: 'claim' })
    const owned = new MemoryStore({ clock })
    expect(() => new ClaimEngine({ ...parts, store: owned, settings: { strategy: 'claim' } })).toThrow(
      /made for owners \(preload, lookahead\), the engine was asked for claim/,
    )
    expect(() => new OwnerEngine({ ...parts, store: claims })).toThrow(
      /made for the strategy claim, the engine was asked for preload/,
    )
  })
})

/** A connection so slow that a large batch takes longer than its leases. */
class SlowCarriage implements Carriage {
  readonly #clock: VirtualClock
  readonly #msEach: number

  constructor(clock: VirtualClock, msEach: number) {
    this.#clock = clock
    this.#msEach = msEach
  }

  async carry<Answer>(call: { readonly name: string }, commit: () => Answer): Promise<Answer> {
    const answer = commit()
    if (call.name !== 'claimDue') return answer
    const ms = (answer as readonly unknown[]).length * this.#msEach
    await new Promise<void>((resolve) => void this.#clock.wakeAfter(ms, resolve))
    return answer
  }

  wake(deliver: () => void): void {
    queueMicrotask(deliver)
  }
}

/** A connection to the store that can be cut, or lose answers. */
class CutCarriage implements Carriage {
  isCut = false
  losesAnswersOf: string | undefined
  lost = 0

  async carry<Answer>(call: { readonly name: string }, commit: () => Answer): Promise<Answer> {
    if (this.isCut) throw new StoreError('store-unavailable', 'cut')
    const answer = commit()
    if (call.name !== this.losesAnswersOf) return answer
    this.lost++
    throw new StoreError('unknown-outcome', 'lost')
  }

  wake(deliver: () => void): void {
    if (!this.isCut) queueMicrotask(deliver)
  }
}

function noted(firing: Firing, ending: Ending) {
  const { at } = ending
  const event =
    ending.type === 'unknown'
      ? `unknown ${firing.attempt} from ${ending.ownerChange?.from}`
      : ending.type === 'given-up'
        ? `given up: ${ending.reason}`
        : `${ending.outcome.type} ${firing.attempt}${ending.isFollowed ? '' : ' not followed'}`
  return [{ at, event, details: '{}' }]
}

/** The clock of a machine that is wrong by `byMs`. */
function shifted(clock: VirtualClock, byMs: number): VirtualClock {
  const fork = clock.fork()
  fork.jump(byMs)
  return fork
}
