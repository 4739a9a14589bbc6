import { InvalidInputError, StateError } from 'carillon'
import { VirtualClock } from 'carillon/time'
import { TimingWheel } from 'carillon/wheel'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { Random } from './random.js'

function make(intervalMs = 10) {
  const clock = new VirtualClock({ start: 0 })
  const seen: string[] = []
  const wheel = new TimingWheel<string, number>({
    intervalMs,
    clock,
    execute: (key, value) => void seen.push(`${key}=${value}@${clock.monotonic()}`),
  })
  return { clock, seen, wheel }
}

function fail(message: string): never {
  throw new Error(message)
}

describe('TimingWheel', () => {
  it('executes each timer once, never early, at most an interval late', () => {
    const { clock, seen, wheel } = make()
    clock.advanceSync(3)
    wheel.set('a', 1, 25)
    wheel.set('b', 2, 7)
    wheel.set('c', 3, '1s')
    expect(wheel.size).toBe(3)
    clock.advanceSync(60)
    expect(seen).toEqual(['b=2@10', 'a=1@30'])
    clock.advanceSync('1h')
    expect(seen).toEqual(['b=2@10', 'a=1@30', 'c=3@1010'])
    expect(wheel.size).toBe(0)
  })

  it('gives an existing timer the new value and the new delay when its key is set again', () => {
    const { clock, seen, wheel } = make()
    wheel.set('a', 1, 50)
    wheel.set('a', 2, 100)
    expect(wheel.size).toBe(1)
    expect(wheel.get('a')).toBe(2)
    clock.advanceSync(90)
    expect(seen).toEqual([])
    clock.advanceSync(90)
    expect(seen).toEqual(['a=2@100'])
    expect(wheel.get('a')).toBeUndefined()
  })

  it('moves a timer to a later or an earlier time', () => {
    const { clock, seen, wheel } = make()
    wheel.set('a', 1, 500)
    wheel.set('b', 2, 50)
    expect(wheel.move('a', 30)).toBe(true)
    expect(wheel.move('b', 900)).toBe(true)
    expect(wheel.move('c', 900)).toBe(false)
    clock.advanceSync(100)
    expect(seen).toEqual(['a=1@30'])
    clock.advanceSync(800)
    expect(seen).toEqual(['a=1@30', 'b=2@900'])
  })

  it('executes a timer at once when it is moved to less than one interval', () => {
    const { clock, seen, wheel } = make()
    wheel.set('a', 1, 500)
    expect(wheel.move('a', 9)).toBe(true)
    expect(seen).toEqual(['a=1@0'])
    expect(wheel.size).toBe(0)
    clock.advanceSync(1000)
    expect(seen).toHaveLength(1)
  })

  it('does not execute a removed timer', () => {
    const { clock, seen, wheel } = make()
    wheel.set('a', 1, 50)
    expect(wheel.remove('a')).toBe(true)
    expect(wheel.remove('a')).toBe(false)
    clock.advanceSync(100)
    expect(seen).toEqual([])
  })

  it.each([1, 31, 32, 33, 100])('never executes %i removed timers, and accepts their keys again', (count) => {
    const { clock, seen, wheel } = make()
    for (let i = 0; i < 200; i++) wheel.set(`key-${i}`, i, 20)
    for (let i = 0; i < count; i++) expect(wheel.remove(`key-${i}`)).toBe(true)
    expect(wheel.size).toBe(200 - count)
    expect(wheel.remove('key-0')).toBe(false)
    expect(wheel.move('key-0', 10)).toBe(false)
    wheel.set('key-0', -1, 30)
    clock.advanceSync(20)
    expect(seen).toHaveLength(200 - count)
    expect(wheel.size).toBe(1)
    clock.advanceSync(10)
    expect(seen.at(-1)).toBe('key-0=-1@30')
    expect(wheel.size).toBe(0)
  })

  it('does not drain timers that were removed before or during the drain', () => {
    const { clock, seen, wheel } = make()
    for (let i = 0; i < 10; i++) wheel.set(`key-${i}`, i, 20)
    wheel.remove('key-3')
    const drained: string[] = []
    wheel.drain((key) => {
      drained.push(key)
      for (let i = 0; i < 10; i++) if (i !== 3 && !drained.includes(`key-${i}`)) wheel.remove(`key-${i}`)
    })
    expect(drained).toHaveLength(1)
    expect(wheel.size).toBe(0)
    wheel.set('next', 1, 20)
    clock.advanceSync(100)
    expect(seen).toEqual(['next=1@20'])
  })

  it('executes the timers that are left after a drain that threw', () => {
    const { clock, seen, wheel } = make()
    for (let i = 0; i < 4; i++) wheel.set(`key-${i}`, i, 20)
    expect(() => wheel.drain(() => fail('once'))).toThrow('once')
    const left = wheel.size
    expect(left).toBeGreaterThan(0)
    clock.advanceSync(20)
    expect(seen).toHaveLength(left)
  })

  it('executes no further timer when the first of many due ones calls stop', () => {
    const clock = new VirtualClock({ start: 0 })
    let executed = 0
    const wheel = new TimingWheel<string, number>({
      intervalMs: 10,
      clock,
      execute: () => {
        executed++
        wheel.stop()
      },
    })
    for (let i = 0; i < 5000; i++) wheel.set(`key-${i}`, i, 20)
    clock.advanceSync(100)
    expect(executed).toBe(1)
  })

  it('works the same with reserved room', () => {
    const clock = new VirtualClock({ start: 0 })
    const seen: string[] = []
    const execute = (key: string) => void seen.push(key)
    const wheel = new TimingWheel<string, number>({ intervalMs: 10, clock, execute, reserve: 5000 })
    for (let i = 0; i < 20_000; i++) wheel.set(`key-${i}`, i, 10 + (i % 50))
    for (let i = 0; i < 20_000; i += 2) expect(wheel.remove(`key-${i}`)).toBe(true)
    clock.advanceSync(100)
    expect(seen).toHaveLength(10_000)
    expect(() => new TimingWheel({ intervalMs: 10, execute, reserve: -1 })).toThrow(InvalidInputError)
    expect(() => new TimingWheel({ intervalMs: 10, execute, reserve: 1.5 })).toThrow(InvalidInputError)
  })

  it('drains all pending timers and can be used again', () => {
    const { clock, seen, wheel } = make()
    for (let i = 0; i < 100; i++) wheel.set(`k${i}`, i, 50 + i)
    const drained = new Map<string, number>()
    wheel.drain((key, value) => drained.set(key, value))
    expect(drained.size).toBe(100)
    expect(drained.get('k7')).toBe(7)
    expect(wheel.size).toBe(0)
    wheel.set('late', 1, 20)
    clock.advanceSync(1000)
    expect(seen).toEqual(['late=1@20'])
  })

  it('passes errors that execute throws or rejects with to onError, and goes on', async () => {
    const clock = new VirtualClock({ start: 0 })
    const errors: unknown[] = []
    const executed: number[] = []
    const wheel = new TimingWheel<number, string>({
      intervalMs: 1,
      clock,
      execute: (key) => {
        executed.push(key)
        if (key === 1) throw new Error('thrown')
        return key === 2 ? Promise.reject(new Error('rejected')) : undefined
      },
      onError: (error, key, value) => {
        errors.push([(error as Error).message, key, value])
        if (key === 1) throw new Error('onError fails too')
      },
    })
    const consoleError = vi.spyOn(console, 'error').mockImplementation(() => {})
    for (const key of [1, 2, 3]) wheel.set(key, 'v', 5)
    await clock.advance(10)
    expect(executed).toEqual([1, 2, 3])
    expect(errors).toEqual([
      ['thrown', 1, 'v'],
      ['rejected', 2, 'v'],
    ])
    expect(consoleError).toHaveBeenCalledOnce()
    consoleError.mockRestore()
  })

  it('lets execute set, move, remove and stop', () => {
    const clock = new VirtualClock({ start: 0 })
    const seen: string[] = []
    const wheel = new TimingWheel<string, number>({
      intervalMs: 1,
      clock,
      execute: (key, value) => {
        seen.push(`${key}@${clock.now()}`)
        if (key === 'tick' && value < 3) wheel.set('tick', value + 1, 10)
        if (key === 'tick' && value === 1) {
          wheel.remove('gone')
          wheel.move('moved', 15)
        }
        if (key === 'end') wheel.stop()
      },
    })
    wheel.set('tick', 1, 10)
    wheel.set('gone', 0, 11)
    wheel.set('moved', 0, 500)
    wheel.set('end', 0, 40)
    wheel.set('with the end', 0, 40)
    wheel.set('after', 0, 41)
    clock.advanceSync(1000)
    expect(seen).toEqual(['tick@10', 'tick@20', 'moved@25', 'tick@30', 'end@40'])
    expect(wheel.size).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('throws a StateError from every call after stop, except from stop itself', () => {
    const { clock, seen, wheel } = make()
    wheel.set('a', 1, 10)
    wheel.stop()
    wheel.stop()
    for (const call of [
      () => wheel.set('a', 1, 10),
      () => wheel.move('a', 10),
      () => wheel.remove('a'),
      () => wheel.get('a'),
      () => wheel.drain(() => {}),
    ]) {
      expect(call).toThrow(StateError)
      expect(call).toThrow(expect.objectContaining({ code: 'stopped' }))
    }
    clock.advanceSync(100)
    expect(seen).toEqual([])
    expect(wheel.size).toBe(0)
  })

  it('accepts delays of many years and never sleeps past an earlier timer', () => {
    const { clock, seen, wheel } = make(1)
    wheel.set('far', 1, '100000d')
    wheel.set('limit', 2, 8.64e15)
    wheel.set('near', 3, 5)
    clock.advanceSync(10)
    expect(seen).toEqual(['near=3@5'])
    clock.advanceSync('100000d')
    expect(seen).toEqual(['near=3@5', 'far=1@8640000000000'])
    expect(wheel.size).toBe(1)
  })

  it.each([1.1, 0.1, 0.3, 7.7, 1 / 3])(
    'executes all timers despite the rounding of an interval of %d ms',
    (intervalMs) => {
      for (const rate of [1, 1.0001, 0.333]) {
        const { clock, seen, wheel } = make(intervalMs)
        clock.drift(rate)
        clock.advanceSync(3)
        for (let delay = 1; delay <= 200; delay++) wheel.set(`${delay}`, delay, delay)
        clock.advanceSync(5000)
        expect(seen).toHaveLength(200)
      }
    },
  )

  it('goes on after an advance that threw', () => {
    const { clock, seen, wheel } = make(1)
    wheel.set('a', 1, 5)
    wheel.set('b', 2, 5)
    const refusals: unknown[] = []
    wheel.drain(() => {
      try {
        clock.advanceSync(10)
      } catch (error) {
        refusals.push(error)
      }
    })
    expect(refusals).not.toHaveLength(0)
    wheel.set('c', 3, 5)
    clock.advanceSync(1000)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^c=3@/)
  })

  it('has no wake pending while no timer is pending', () => {
    const { clock, wheel } = make()
    wheel.set('a', 1, 1000)
    wheel.remove('a')
    expect(clock.pending).toBe(0)
    wheel.set('a', 1, 1000)
    wheel.move('a', 1)
    expect(clock.pending).toBe(0)
    wheel.set('a', 1, 1000)
    wheel.drain(() => {})
    expect(clock.pending).toBe(0)
    wheel.set('a', 1, 1000)
    expect(clock.pending).toBe(1)
  })

  it('keeps no value alive after its timer is gone', async () => {
    const { wheel } = make()
    const values = new TimingWheel<string, unknown>({
      intervalMs: 1,
      execute: () => {},
      clock: new VirtualClock(),
    })
    let value: { n: number } | undefined = { n: 1 }
    const watched = new WeakRef(value)
    values.set('a', 'a string', 5)
    values.set('b', value, 5)
    values.remove('b')
    value = undefined
    await new Promise((resolve) => setTimeout(resolve, 0))
    setFlagsFromString('--expose-gc')
    ;(runInNewContext('gc') as () => void)()
    expect(watched.deref()).toBeUndefined()
    expect(values.get('a')).toBe('a string')
    wheel.stop()
  })

  it('is not affected by jumps of the wall clock', () => {
    const { clock, seen, wheel } = make()
    wheel.set('a', 1, 100)
    clock.jump(3_600_000)
    clock.advanceSync(90)
    expect(seen).toEqual([])
    clock.jump(-7_200_000)
    clock.advanceSync(10)
    expect(seen).toEqual(['a=1@100'])
  })

  it('agrees with a model in random operations', () => {
    const random = new Random(5)
    const clock = new VirtualClock({ start: 0 })
    const due = new Map<string, { value: number; at: number }>()
    let executed = 0
    const wheel = new TimingWheel<string, number>({
      intervalMs: 4,
      clock,
      execute: (key, value) => {
        executed++
        const expected = due.get(key)
        expect(expected?.value).toBe(value)
        expect(clock.monotonic()).toBeGreaterThanOrEqual(expected!.at)
        expect(clock.monotonic()).toBeLessThan(expected!.at + 8)
        due.delete(key)
      },
    })
    for (let step = 0; step < 100_000; step++) {
      const key = `key-${random.below(3000)}`
      const delay = 4 + random.below(random.pick([20, 2000, 200_000]))
      const dice = random.fraction()
      if (dice < 0.5) {
        wheel.set(key, step, delay)
        due.set(key, { value: step, at: clock.monotonic() + delay })
      } else if (dice < 0.7) {
        const known = due.get(key)
        expect(wheel.move(key, delay)).toBe(known !== undefined)
        if (known !== undefined) known.at = clock.monotonic() + delay
      } else if (dice < 0.85) {
        expect(wheel.remove(key)).toBe(due.delete(key))
      } else {
        clock.advanceSync(random.below(50))
      }
      expect(wheel.size).toBe(due.size)
    }
    clock.advanceSync('1h')
    expect(due.size).toBe(0)
    expect(executed).toBeGreaterThan(10_000)
  })

  it('runs in real time', async () => {
    const done = await new Promise<string>((resolve) => {
      const wheel = new TimingWheel<string, string>({
        intervalMs: 1,
        execute: (_key, value) => resolve(value),
      })
      wheel.set('a', 'rang', 20)
    })
    expect(done).toBe('rang')
  })

  it.each([Number.NaN, -1, Infinity, '5 parsecs', null, undefined, {}])(
    'rejects the delay %s and stays intact',
    (delay) => {
      const { clock, seen, wheel } = make()
      wheel.set('a', 1, 20)
      for (const call of [
        () => wheel.set('b', 1, delay as never),
        () => wheel.set('a', 2, delay as never),
        () => wheel.move('a', delay as never),
      ]) {
        expect(call).toThrow(InvalidInputError)
        expect(call).toThrow(expect.objectContaining({ code: 'invalid-duration' }))
      }
      expect(wheel.size).toBe(1)
      clock.advanceSync(100)
      expect(seen).toEqual(['a=1@20'])
    },
  )

  it.each([
    [{}, 'invalid-option'],
    [{ intervalMs: 0, execute: () => {} }, 'invalid-option'],
    [{ intervalMs: '1s', execute: () => {} }, 'invalid-option'],
    [{ intervalMs: 1 }, 'invalid-option'],
    [{ intervalMs: 1, execute: () => {}, onError: 5 }, 'invalid-option'],
    [{ intervalMs: 1, execute: () => {}, slots: 5 }, 'unknown-option'],
    [undefined, 'invalid-option'],
  ])('rejects the options %o', (options, code) => {
    expect(() => new TimingWheel(options as never)).toThrow(expect.objectContaining({ code }))
  })
})
