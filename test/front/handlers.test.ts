import { describe, expect, it } from 'vitest'
import { Dead, RetryAfter, type TimerFiring } from '../../src/delivery/index.js'
import { openTimers, type StandardSchema, timer, type TimersEvent } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { testTimers } from '../../src/testing/index.js'
import { VirtualClock } from '../../src/time/index.js'

const START = Date.UTC(2026, 0, 1)

function pause(clock: VirtualClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.wakeAfter(ms, resolve)
  })
}

describe('a handler', () => {
  it('sees an aborted signal after its timeout, also when it reads the signal late', async () => {
    const slow = timer<string>('slow', { timeout: '5s', retry: { attempts: 2, backoff: '1s' } })
    await using timers = await testTimers()
    const reasons: unknown[] = []
    timers.handle(slow, async (firing) => {
      if (firing.payload === 'listens') {
        await new Promise<void>((resolve) => {
          firing.signal.addEventListener('abort', () => resolve())
        })
      } else {
        await pause(timers.clock, 8000)
      }
      reasons.push((firing.signal.reason as { code: string }).code)
    })
    await timers.set(slow, 'a', { in: '1s', payload: 'listens' })
    await timers.set(slow, 'b', { in: '1s', payload: 'asks late' })
    await timers.advance('1m')
    expect(reasons).toEqual(['handler-timeout', 'handler-timeout', 'handler-timeout', 'handler-timeout'])
    const { items } = await timers.dead({ kind: slow })
    expect(items.map(({ key, attempts }) => `${key} ${attempts}`).toSorted()).toEqual(['a 2', 'b 2'])
    expect(items[0]!.reason).toContain('5000 ms')
  })

  it('runs within the concurrency and the rate of its kind', async () => {
    const narrow = timer('narrow', { concurrency: 3 })
    const steady = timer('steady', { rate: 10 })
    await using timers = await testTimers()
    let running = 0
    let most = 0
    timers.handle(narrow, async () => {
      most = Math.max(most, ++running)
      await pause(timers.clock, 1000)
      running--
    })
    const at: number[] = []
    timers.handle(steady, ({ firedAt }) => {
      at.push(firedAt - START)
    })
    await timers.setMany(
      narrow,
      Array.from({ length: 10 }, () => ({ in: 0 })),
    )
    await timers.setMany(
      steady,
      Array.from({ length: 50 }, () => ({ in: 0 })),
    )
    await timers.advance('1m')
    expect(most).toBe(3)
    expect(running).toBe(0)
    expect(at).toHaveLength(50)
    for (let second = 0; second < 5; second++) {
      const within = at.filter((each) => each >= second * 1000 && each < second * 1000 + 1000)
      expect(within.length).toBeLessThanOrEqual(11)
    }
    expect(at.at(-1)).toBeGreaterThanOrEqual(4900)
  })

  it('is retried for at least a day by default, and then becomes a dead letter', async () => {
    const failing = timer('failing')
    await using timers = await testTimers()
    let attempts = 0
    timers.handle(failing, () => {
      attempts++
      throw new Error('the receiver is down')
    })
    await timers.set(failing, 'a', { in: 0 })
    await timers.advance('24h')
    expect((await timers.dead({ kind: failing })).items).toEqual([])
    await timers.advance('25h')
    expect((await timers.dead({ kind: failing })).items).toMatchObject([{ key: 'a', attempts: 26 }])
    expect(attempts).toBe(26)
  })

  it('of a recurring timer is retried by default at its next occurrence at the latest', async () => {
    const [hourly, chosen] = [timer('hourly'), timer('chosen', { retry: { backoff: '8h' } })]
    await using timers = await testTimers()
    const recovery = START + 10 * 3_600_000
    const done: string[] = []
    const handler = ({ kind, firedAt, occurrence }: TimerFiring<undefined>) => {
      if (firedAt < recovery) throw new Error('the receiver is down')
      done.push(`${kind} ${occurrence}`)
    }
    timers.handle(hourly, handler)
    timers.handle(chosen, handler)
    await timers.set(hourly, 'a', { on: every('1h') })
    await timers.set(chosen, 'a', { on: every('1h') })
    await timers.advance('9h')
    expect(done).toEqual([])
    await timers.advance('2h')
    // The retry did not wait for hours while the next occurrences passed. A backoff that the kind chose is kept.
    expect(done).toContain('hourly 0')
    expect(done.filter((each) => each.startsWith('chosen'))).toEqual([])
  })

  it('can choose the delay with RetryAfter, end the retries with Dead, and fire once more with again', async () => {
    const kind = timer<string>('kind', { retry: { attempts: 5, backoff: '1s..1s' } })
    await using timers = await testTimers()
    const seen: [string, number, number, number][] = []
    timers.handle(kind, (firing) => {
      seen.push([firing.payload, firing.attempt, firing.occurrence, timers.clock.now() - START])
      if (firing.payload === 'later' && firing.attempt === 1) throw new RetryAfter('90s', 'ask me later')
      if (firing.payload === 'dead') throw new Dead('no such user')
      if (firing.payload === 'again' && firing.occurrence < 2) return firing.again({ in: '1m' })
      if (firing.payload === 'at' && firing.occurrence < 1) firing.again({ at: new Date(START + 500_000) })
      return undefined
    })
    for (const payload of ['later', 'dead', 'again', 'at'])
      await timers.set(kind, payload, { in: 0, payload })
    await timers.advance('1h')
    expect(seen.filter(([key]) => key === 'later')).toEqual([
      ['later', 1, 0, 0],
      ['later', 2, 0, 90_000],
    ])
    expect(seen.filter(([key]) => key === 'dead')).toEqual([['dead', 1, 0, 0]])
    expect(seen.filter(([key]) => key === 'again')).toEqual([
      ['again', 1, 0, 0],
      ['again', 1, 1, 60_000],
      ['again', 1, 2, 120_000],
    ])
    expect(seen.filter(([key]) => key === 'at')).toEqual([
      ['at', 1, 0, 0],
      ['at', 1, 1, 500_000],
    ])
    expect((await timers.dead()).items).toMatchObject([{ key: 'dead', reason: 'no such user', attempts: 1 }])
  })

  it('fails its attempt, and no other, when it throws anything or passes an invalid time', async () => {
    const kind = timer<string>('kind', { retry: { attempts: 2, backoff: '1s' } })
    await using timers = await testTimers()
    timers.handle(kind, (firing) => {
      if (firing.payload === 'again') firing.again({ at: Number.NaN })
      if (firing.payload === 'in') firing.again({ in: 'soon' as '1s' })
      if (firing.payload === 'after') throw new RetryAfter(Number.NaN)
      if (firing.payload === 'text') throw 'just a text' as unknown as Error
      if (firing.payload === 'nothing') throw undefined as unknown as Error
    })
    for (const payload of ['again', 'in', 'after', 'text', 'nothing'])
      await timers.set(kind, payload, { in: 0, payload })
    await timers.set(kind, 'good', { in: '1m', payload: 'good' })
    await timers.advance('1h')
    const dead = (await timers.dead()).items
    expect(dead.map(({ key, attempts }) => `${key} ${attempts}`).toSorted()).toEqual([
      'after 2',
      'again 2',
      'in 2',
      'nothing 2',
      'text 2',
    ])
    expect(await timers.get(kind, 'good')).toMatchObject({ state: 'settled' })
  })

  it('is not retried after maxDuration', async () => {
    const kind = timer('kind', { retry: { attempts: 100, backoff: '1m..1m', maxDuration: '10m' } })
    await using timers = await testTimers()
    const tries: number[] = []
    timers.handle(kind, ({ firedAt }) => {
      tries.push(firedAt - START)
      throw new Error('no')
    })
    await timers.set(kind, 'a', { in: 0 })
    await timers.advance('1d')
    expect(tries.length).toBeGreaterThan(9)
    expect(tries.at(-1)).toBeLessThanOrEqual(600_000)
    expect((await timers.dead({ key: 'a' })).items[0]!.reason).toContain('time for retries is over')
  })

  it('is retried by the retry policy of the timer, if the timer has its own', async () => {
    const kind = timer('kind', { retry: { attempts: 100, backoff: '1m..1m' } })
    await using timers = await testTimers()
    let tries = 0
    timers.handle(kind, () => {
      tries++
      throw new Error('no')
    })
    await timers.set(kind, 'own', { in: 0, retry: { attempts: 2 } })
    await timers.advance('1d')
    expect(tries).toBe(2)
  })

  it('is retried after a random delay, between half of the doubled one and all of it', async () => {
    const kind = timer('kind', { retry: { attempts: 6, backoff: '10s..1m' } })
    await using timers = await testTimers()
    const pauses: number[][] = [[], [], [], [], []]
    const last = new Map<string, number>()
    timers.handle(kind, ({ key, attempt, firedAt }) => {
      if (attempt > 1) pauses[attempt - 2]!.push(firedAt - last.get(key)!)
      last.set(key, firedAt)
      throw new Error('no')
    })
    await timers.setMany(
      kind,
      Array.from({ length: 300 }, (_, n) => ({ key: String(n), in: 0 })),
    )
    await timers.advance('1h')
    for (const [index, most] of [20_000, 40_000, 60_000, 60_000, 60_000].entries()) {
      const taken = pauses[index]!
      expect(taken).toHaveLength(300)
      expect(Math.max(...taken)).toBeLessThanOrEqual(most)
      expect(Math.max(...taken)).toBeGreaterThan(most * 0.9)
      expect(Math.min(...taken)).toBeLessThan(most * 0.55)
      expect(Math.min(...taken)).toBeGreaterThanOrEqual(most * 0.5)
    }
  })

  it('gets batches with handleMany, may call `again` for each firing, and fails the batch as a whole', async () => {
    const kind = timer<number>('kind', { retry: { attempts: 2, backoff: '1s' } })
    await using timers = await testTimers()
    const batches: number[] = []
    let isFailing = false
    timers.handleMany(kind, (firings) => {
      batches.push(firings.length)
      if (isFailing) throw new Error('the whole batch')
      for (const firing of firings)
        if (firing.payload % 10 === 0 && firing.occurrence === 0) firing.again({ in: '1h' })
    })
    await timers.setMany(
      kind,
      Array.from({ length: 1000 }, (_, n) => ({ key: String(n), in: '1s', payload: n })),
    )
    await timers.advance('1m')
    expect(batches).toEqual([1000])
    expect((await timers.list({ limit: 1000 })).items).toHaveLength(100)
    isFailing = true
    await timers.advance('2h')
    expect((await timers.dead({ limit: 1000 })).items).toHaveLength(100)
  })
})

describe('a kind without a handler', () => {
  it('keeps its timers waiting, is named in a stalled event, and fires once it has a handler', async () => {
    const clock = new VirtualClock({ start: START })
    const events: TimersEvent[] = []
    const warnings: string[] = []
    const timers = await openTimers({
      store: 'memory:',
      clock,
      onEvent: (event) => events.push(event),
      logger: { info: () => undefined, warn: (_, message) => warnings.push(message) },
    })
    await timers.start()
    await timers.set(timer('orphan'), 'x', { in: '1s' })
    await clock.advance('30s')
    expect(events.filter(({ type }) => type === 'stalled')).not.toEqual([])
    expect(warnings.join()).toContain('orphan')
    const fired: string[] = []
    timers.handleOthers((firing: TimerFiring) => fired.push(`${firing.kind}/${firing.key}`))
    await clock.advance('1s')
    expect(fired).toEqual(['orphan/x'])
    const stopping = timers.stop()
    await clock.advance('1s')
    await stopping
  })
})

describe('a listener that throws', () => {
  it('does not stop timers from firing and being retried', async () => {
    await using timers = await testTimers({
      onEvent: () => {
        throw new Error('a bad listener')
      },
    })
    const off = timers.onEvent(() => {
      throw new Error('another')
    })
    const attempts: number[] = []
    timers.handle(timer('t', { retry: { attempts: 3, backoff: '1s' } }), ({ attempt }) => {
      attempts.push(attempt)
      throw new Error('no')
    })
    await timers.set(timer('t'), 'x', { in: '1s' })
    await timers.advance('1m')
    expect(attempts).toEqual([1, 2, 3])
    off()
  })
})

describe('a payload schema', () => {
  const schema: StandardSchema<{ id: number }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const { id } = (value ?? {}) as { id?: unknown }
        return typeof id === 'number' && id > limit.least
          ? { value: { id } }
          : { issues: [{ message: `must be above ${limit.least}`, path: ['id'] }] }
      },
    },
  }
  const limit = { least: 0 }
  const kind = timer('checked', { payload: schema, retry: { attempts: 2, backoff: '1s' } })

  it('refuses a payload at set, and at delivery if the schema has changed', async () => {
    limit.least = 0
    await using timers = await testTimers()
    const seen: number[] = []
    timers.handle(kind, ({ payload }) => {
      seen.push(payload.id)
    })
    const bad = { in: 1, payload: { id: -5 } }
    await expect(timers.set(kind, 'x', bad)).rejects.toMatchObject({ code: 'payload-refused' })
    await expect(timers.setMany(kind, [{ in: 1, payload: { id: 5 } }, bad])).rejects.toThrow(
      /id: must be above 0/,
    )
    expect((await timers.list()).items).toEqual([])
    await timers.set(kind, 'small', { in: '1h', payload: { id: 5 } })
    await timers.set(kind, 'large', { in: '1h', payload: { id: 50 } })
    limit.least = 10
    await timers.advance('2h')
    expect(seen).toEqual([50])
    const [dead] = (await timers.dead()).items
    expect(dead).toMatchObject({ key: 'small', payload: { id: 5 } })
    expect(dead!.reason).toContain('id: must be above 10')
  })
})

describe('drain', () => {
  async function drained<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const watched = promise.finally(() => {
      state.isOver = true
    })
    watched.catch(() => undefined)
    while (!state.isOver) await clock.advance(5)
    return await watched
  }

  it('fires due timers within its limits, and releases the shards', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await openTimers({ store: 'memory:', clock })
    const kind = timer('kind')
    const fired: string[] = []
    timers.handle(kind, ({ key }) => {
      fired.push(key)
    })
    await timers.setMany(
      kind,
      Array.from({ length: 25 }, (_, n) => ({ key: String(n), at: START + n })),
    )
    await timers.set(kind, 'later', { in: '1h' })
    await timers.set(timer('orphan'), 'nobody handles it', { in: 0 })
    await clock.advance('1s')
    expect(fired).toEqual([])
    expect(await drained(clock, timers.drain({ maxTimers: 10 }))).toEqual({ fired: 10, isCaughtUp: false })
    expect(fired).toHaveLength(10)
    const before = clock.now()
    const both = Promise.all([timers.drain(), timers.drain()])
    expect(await drained(clock, both)).toEqual([
      { fired: 15, isCaughtUp: true },
      { fired: 0, isCaughtUp: true },
    ])
    expect(clock.now() - before).toBeLessThan(5000)
    expect(new Set(fired).size).toBe(25)
    await clock.advance('2h')
    expect(fired).toHaveLength(25)
    expect(await drained(clock, timers.drain())).toEqual({ fired: 1, isCaughtUp: true })
    await expect(timers.drain({ maxTimers: 0 })).rejects.toMatchObject({ code: 'invalid-option' })
    await drained(clock, timers.stop())
  })

  it('starts no attempt after maxTime', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await openTimers({ store: 'memory:', clock })
    const slow = timer('slow', { concurrency: 1 })
    let count = 0
    timers.handle(slow, async () => {
      count++
      await pause(clock, 1000)
    })
    await timers.setMany(
      slow,
      Array.from({ length: 50 }, () => ({ in: 0 })),
    )
    const { fired, isCaughtUp } = await drained(clock, timers.drain({ maxTime: '5s' }))
    expect(isCaughtUp).toBe(false)
    expect(fired).toBe(count)
    expect(count).toBeGreaterThanOrEqual(4)
    expect(count).toBeLessThanOrEqual(6)
    await clock.advance('1m')
    expect(count).toBe(fired)
    await timers.start()
    await clock.advance('2m')
    expect(count).toBe(50)
    await drained(clock, timers.stop())
  })
})

describe('two instances on one store', () => {
  it('redrive each dead letter once, although both are asked to', async () => {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock, shardCount: 4 })
    const kind = timer('kind', { retry: { attempts: 1 } })
    const fired: string[] = []
    let isFailing = true
    const open = async () => {
      const timers = await openTimers({ store: store.connect(), clock: clock.fork() })
      timers.handle(kind, ({ key }) => {
        fired.push(key)
        if (isFailing) throw new Error('no')
      })
      await timers.start()
      return timers
    }
    const one = await open()
    const two = await open()
    await clock.advance('10s')
    expect(one.engine.stats().shards.length + two.engine.stats().shards.length).toBe(4)
    const setting = one.setMany(
      kind,
      Array.from({ length: 20 }, (_, n) => ({ key: String(n), in: '1s' })),
    )
    await clock.advance('10s')
    await setting
    expect((await one.dead()).items).toHaveLength(20)
    isFailing = false
    const redriving = Promise.all([one.redrive({}), two.redrive({ kind }), one.redrive({ key: '7' })])
    await clock.advance('20s')
    const counts = await redriving
    expect(counts[0].count + counts[1].count + counts[2].count).toBe(20)
    expect(counts.flatMap(({ beside }) => beside)).toEqual([])
    expect(fired).toHaveLength(40)
    expect((await one.dead()).items).toEqual([])
    const stopping = Promise.all([one.stop(), two.stop()])
    await clock.advance('20s')
    await stopping
  })

  it('give shards only to started instances, and to a draining one during its drain', async () => {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock, shardCount: 16 })
    const kind = timer('kind')
    const fired: string[] = []
    const open = async (name: string) => {
      const timers = await openTimers({ store: store.connect(), clock: clock.fork() })
      timers.handle(kind, () => {
        fired.push(name)
      })
      return timers
    }
    const during = async <T>(work: Promise<T>): Promise<T> => {
      const state = { isOver: false }
      const watched = work.finally(() => {
        state.isOver = true
      })
      await clock.advance(0)
      while (!state.isOver) await clock.advance(100)
      return await watched
    }
    // An instance that only sets timers, such as a web server, does not fire them.
    const setter = await open('setter')
    const worker = await open('worker')
    await during(worker.start())
    await clock.advance('1m')
    expect([worker.engine.stats().shards.length, setter.engine.stats().shards.length]).toEqual([16, 0])
    const rows = Array.from({ length: 100 }, (_, n) => ({ key: String(n), in: '1s' }))
    await during(setter.setMany(kind, rows))
    await clock.advance('5s')
    expect(fired).toEqual(rows.map(() => 'worker'))
    await during(setter.drain({ maxTime: '20s' }))
    await clock.advance('10s')
    expect([worker.engine.stats().shards.length, setter.engine.stats().shards.length]).toEqual([16, 0])
    await during(Promise.all([setter.stop(), worker.stop()]))
  })

  it('apply a pause that the other one stored', async () => {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock, shardCount: 4 })
    const kind = timer('kind')
    const fired: string[] = []
    const open = async () => {
      const timers = await openTimers({ store: store.connect(), clock: clock.fork() })
      timers.handle(kind, ({ key }) => {
        fired.push(key)
      })
      await timers.start()
      return timers
    }
    const both = [await open(), await open()]
    await clock.advance('10s')
    await both[0]!.pause(kind)
    await clock.advance('3s')
    const setting = both[0]!.setMany(
      kind,
      Array.from({ length: 20 }, (_, n) => ({ key: String(n), in: '1s' })),
    )
    await clock.advance('30s')
    await setting
    expect(fired).toEqual([])
    await both[1]!.resume(kind)
    await clock.advance('3s')
    expect(fired).toHaveLength(20)
    const stopping = Promise.all(both.map((timers) => timers.stop()))
    await clock.advance('20s')
    await stopping
  })
})

describe('a recurring timer', () => {
  const HOUR = 3_600_000

  it('goes on when an occurrence becomes a dead letter, which is redriven beside it', async () => {
    const kind = timer<string>('kind', { retry: { attempts: 2, backoff: '1s' } })
    await using timers = await testTimers({ history: 'all' })
    const seen: string[] = []
    let isWell = false
    timers.handle(kind, ({ key, firedAt, dueAt, occurrence, attempt, payload }) => {
      seen.push(`${key[0]} ${Math.round((dueAt - START) / HOUR)} ${occurrence} ${attempt} ${payload}`)
      expect(firedAt).toBeGreaterThanOrEqual(dueAt)
      if (occurrence === 1 && !isWell) throw new Error('this once')
    })
    await timers.set(kind, 'x', { on: every('1h'), payload: 'kept', tags: ['vip'] })
    await timers.advance('210m')
    // The third occurrence was on time although the second became a dead letter.
    expect(seen).toEqual(['x 1 0 1 kept', 'x 2 1 1 kept', 'x 2 1 2 kept', 'x 3 2 1 kept'])
    const { items } = await timers.dead()
    expect(items).toMatchObject([
      { key: 'x', reason: 'attempt 2 of 2 failed: this once', attempts: 2, dueAt: START + 2 * HOUR },
    ])
    expect(await timers.get(kind, 'x')).toMatchObject({ dueAt: START + 4 * HOUR, occurrence: 3 })
    expect((await timers.stats()).store).toMatchObject({ created: 1, dead: 0, settled: 0 })
    const { told } = await timers.why(kind, 'x')
    expect(told.filter((line) => line.includes('dead letter'))).toEqual([
      expect.stringMatching(
        /became a dead letter: attempt 2 of 2 failed: this once; next at 2026-01-01T03:00:00.000Z$/,
      ),
    ])

    isWell = true
    const redriven = await timers.redrive([items[0]!.id])
    const [beside] = redriven.beside
    expect(redriven).toMatchObject({ count: 1, beside: [{ id: items[0]!.id, kind: 'kind', of: 'x' }] })
    expect(beside!.key).toMatch(/^x~/)
    expect(await timers.redrive([items[0]!.id])).toEqual({ count: 0, beside: [] })
    expect(await timers.get(beside!.handle)).toMatchObject({ key: beside!.key, on: undefined, tags: ['vip'] })
    seen.length = 0
    await timers.advance('1h')
    // Redriven once, beside the recurring timer, which kept its due time.
    expect(seen).toEqual([expect.stringMatching(/^x \d 1 1 kept$/), 'x 4 3 1 kept'])
    expect(await timers.get(beside!.handle)).toMatchObject({ state: 'settled' })
    expect(await timers.get(kind, 'x')).toMatchObject({ dueAt: START + 5 * HOUR, occurrence: 4 })
    expect((await timers.dead()).items).toEqual([])
  })

  it('ends when its last occurrence becomes a dead letter, which is redriven under its own key', async () => {
    const kind = timer('kind', { retry: { attempts: 1 } })
    await using timers = await testTimers()
    let isWell = false
    const seen: number[] = []
    timers.handle(kind, ({ occurrence }) => {
      seen.push(occurrence)
      if (!isWell) throw new Error('no')
    })
    await timers.set(kind, 'x', { on: every('1h', { until: START + 2 * HOUR + 1 }) })
    await timers.advance('1d')
    expect(seen).toEqual([0, 1])
    expect((await timers.dead()).items).toHaveLength(2)
    expect(await timers.get(kind, 'x')).toBe(undefined)
    expect((await timers.stats()).store).toMatchObject({ created: 1, dead: 1 })
    isWell = true
    const { count, beside } = await timers.redrive({ kind })
    // The first letter gets the key, and the second is set beside it.
    expect({ count, of: beside.map(({ of }) => of) }).toEqual({ count: 2, of: ['x'] })
    await timers.advance('1d')
    expect(seen.toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1])
    expect((await timers.list()).items).toEqual([])
  })

  it('goes on when an occurrence dies after attempts of unknown outcome', async () => {
    const kind = timer('kind', { retry: { attempts: 1 } })
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock })
    const seen: string[] = []
    const open = async (name: string) => {
      const timers = await openTimers({ store: store.connect(), clock: clock.fork() })
      timers.handle(kind, ({ occurrence }) => {
        seen.push(`${name} ${occurrence}`)
        // The handler of the first instance never returns.
        return name === 'one' ? new Promise(() => undefined) : undefined
      })
      await timers.start()
      return timers
    }
    const one = await open('one')
    const setting = one.set(kind, 'x', { on: every('1h') })
    await clock.advance('1s')
    await setting
    await clock.advance('1h')
    expect(seen).toEqual(['one 0'])
    // The instance stops before the attempt ends, so its outcome is unknown.
    const stopping = one.stop()
    await clock.advance('30s')
    await stopping
    const two = await open('two')
    await clock.advance('2h')
    expect(seen).toEqual(['one 0', 'two 1', 'two 2'])
    expect((await two.dead()).items).toMatchObject([
      { key: 'x', reason: 'no attempts left: 1 counted, the last with an unknown outcome' },
    ])
    const stoppingTwo = two.stop()
    await clock.advance('30s')
    await stoppingTwo
  })
})
