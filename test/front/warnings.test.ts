import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTimers, timer, type Timers, type TimersOptions } from '../../src/front/index.js'
import { StoreError } from '../../src/error/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { testTimers } from '../../src/testing/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'

const printed: string[] = []

beforeEach(() => {
  printed.length = 0
  vi.spyOn(console, 'warn').mockImplementation((...parts: unknown[]) => void printed.push(parts.join(' ')))
})

afterEach(() => {
  vi.restoreAllMocks()
})

interface Opened {
  readonly clock: VirtualClock
  readonly store: MemoryStore
  readonly timers: Timers
  readonly run: <T>(work: Promise<T>) => Promise<T>
}

async function open(options: Partial<TimersOptions> & { readonly store?: Store } = {}): Promise<Opened> {
  const clock = new VirtualClock({ start: Date.UTC(2026, 0, 1) })
  const store = new MemoryStore({ clock, shardCount: 4 })
  const timers = await openTimers({ store, clock: clock.fork(), ...options })
  const run = <T>(work: Promise<T>) => during(clock, work, 5)
  return { clock, store, timers, run }
}

/** A store whose calls fail while `isDown` is true. */
function failing(store: Store, isDown: () => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (isDown() && name !== 'stop')
          return Promise.reject(new StoreError('store-unavailable', 'connection refused'))
        return Reflect.apply(value, target, args)
      }
    },
  })
}

const kind = timer('greet', { retry: { attempts: 1000, backoff: '1s' } })

function brokenHandler(): void {
  throw new TypeError('cannot read the name of undefined')
}

describe('without a logger', () => {
  it('a handler that throws is printed once with its stack, and later with a count', async () => {
    const { clock, timers, run } = await open()
    timers.handle(kind, brokenHandler)
    await run(timers.start())
    await run(
      timers.setMany(
        kind,
        Array.from({ length: 20 }, (_, n) => ({ key: `k${n}`, in: 0 })),
      ),
    )
    await clock.advance('10s')
    expect(printed).toHaveLength(1)
    expect(printed[0]).toMatch(/^carillon: attempt 1 at greet k\d+ failed: cannot read the name of undefined/)
    expect(printed[0]).toMatch(/at brokenHandler .*warnings\.test/)
    await clock.advance('55s')
    expect(printed).toHaveLength(2)
    expect(printed[1]).toMatch(/\d{3,} more like this/)
    await run(timers.stop())
  })

  it('errors of other kinds, and of another type, are printed as well', async () => {
    const { clock, timers, run } = await open()
    timers.handle(kind, ({ key }) => {
      throw key === 'a' ? new TypeError('a bug') : new RangeError('another bug')
    })
    timers.handle(timer('bill'), brokenHandler)
    await run(timers.start())
    await run(timers.set(kind, 'a', { in: 0 }))
    await run(timers.set(kind, 'b', { in: 0 }))
    await run(timers.set(timer('bill'), 'a', { in: 0 }))
    await clock.advance('20s')
    expect(printed).toHaveLength(3)
    await run(timers.stop())
  })

  it('a kind without a handler is printed by its name', async () => {
    const { clock, timers, run } = await open()
    timers.handle(kind, () => undefined)
    await run(timers.start())
    await run(
      timers.setMany(
        timer('forgotten'),
        Array.from({ length: 20 }, () => ({ in: 0 })),
      ),
    )
    await clock.advance('55s')
    expect(printed).toEqual([expect.stringContaining('forgotten')])
    await run(timers.stop())
  })

  it('a clock that stops all firing is printed', async () => {
    const { clock, store, timers, run } = await open()
    const other = clock.fork()
    other.jump(60_000)
    const off = await openTimers({ store: store.connect(), clock: other })
    const starting = off.start()
    await clock.advance('30s')
    await starting
    expect(printed).toEqual([
      expect.stringMatching(/this machine's clock is \d+ ms ahead of the store's: it owns no shards/),
    ])
    await run(Promise.all([off.stop(), timers.stop()]))
  })

  it('a store that is down is printed once for each call, and not for each retry', async () => {
    let isDown = false
    const clock = new VirtualClock({ start: Date.UTC(2026, 0, 1) })
    const store = failing(new MemoryStore({ clock, shardCount: 16 }), () => isDown)
    const troubles: string[] = []
    const timers = await openTimers({
      store,
      clock,
      onEvent: (event) => void (event.type === 'store-trouble' && troubles.push(event.call)),
    })
    await during(clock, timers.start(), 5)
    isDown = true
    await clock.advance('9s')
    expect(troubles.length).toBeGreaterThan(20)
    expect(printed.filter((line) => line.includes('connection refused'))).toHaveLength(new Set(troubles).size)
    isDown = false
    await during(clock, timers.stop(), 50)
  })

  it('nothing is printed with logger: false', async () => {
    const { clock, timers, run } = await open({ logger: false })
    timers.handle(kind, brokenHandler)
    await run(timers.start())
    await run(timers.set(kind, 'a', { in: 0 }))
    await clock.advance('2m')
    expect(printed).toEqual([])
    await run(timers.stop())
  })

  it('a handler that throws under testTimers is printed, too, unless logger is false', async () => {
    for (const [options, count] of [
      [{}, 1],
      [{ logger: false }, 0],
    ] as const) {
      printed.length = 0
      await using timers = await testTimers(options)
      timers.handle(kind, brokenHandler)
      await timers.set(kind, 'a', { in: 0 })
      await timers.advance('20s')
      expect(printed).toHaveLength(count)
    }
  })
})

describe('a logger', () => {
  it('gets few warnings while the store is down, with the number of those left out', async () => {
    let isDown = false
    const clock = new VirtualClock({ start: Date.UTC(2026, 0, 1) })
    const store = failing(new MemoryStore({ clock, shardCount: 16 }), () => isDown)
    const troubles: string[] = []
    const lines: { readonly facts: object; readonly message: string }[] = []
    const timers = await openTimers({
      store,
      clock,
      logger: { info: () => undefined, warn: (facts, message) => lines.push({ facts, message }) },
      onEvent: (event) => void (event.type === 'store-trouble' && troubles.push(event.call)),
    })
    await during(clock, timers.start(), 5)
    isDown = true
    await clock.advance('25s')
    const warnings = lines.filter(({ message }) => message.includes('connection refused'))
    expect(warnings.length).toBeLessThanOrEqual(3 * new Set(troubles).size)
    // Each line says how many it stands for: together with the last ones, nothing is lost.
    const leftOut = warnings.map(({ facts }) => ('leftOut' in facts ? Number(facts.leftOut) : 0))
    expect(leftOut.some((count) => count > 0)).toBe(true)
    expect(warnings.length + leftOut.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(
      troubles.length,
    )
    expect(printed).toEqual([])
    isDown = false
    await during(clock, timers.stop(), 50)
  })

  it('gets every failed attempt', async () => {
    const lines: string[] = []
    const { clock, timers, run } = await open({
      logger: { info: () => undefined, warn: (_, message) => lines.push(message) },
    })
    timers.handle(kind, brokenHandler)
    await run(timers.start())
    await run(
      timers.setMany(
        kind,
        Array.from({ length: 20 }, () => ({ in: 0 })),
      ),
    )
    await clock.advance('5s')
    expect(lines.length).toBeGreaterThan(60)
    await run(timers.stop())
  })
})
