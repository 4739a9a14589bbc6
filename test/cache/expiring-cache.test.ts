import { ExpiringCache } from 'carillon/cache'
import { VirtualClock } from 'carillon/time'
import { describe, expect, it } from 'vitest'

function make(options: Partial<ConstructorParameters<typeof ExpiringCache>[0]> = {}) {
  const clock = new VirtualClock({ start: 0 })
  const cache = new ExpiringCache<string, number>({ ttl: '10s', jitter: 0, clock, ...options })
  return { cache, clock }
}

describe('ExpiringCache', () => {
  it('returns a value until it expires, never after, and removes it soon', () => {
    const { cache, clock } = make()
    cache.set('a', 1)
    cache.set('b', 2, { ttl: '1m' })
    clock.advanceSync(9999)
    expect(cache.get('a')).toBe(1)
    clock.advanceSync(1)
    expect(cache.get('a')).toBeUndefined()
    expect(cache.get('b')).toBe(2)
    clock.advanceSync('2m')
    expect(cache.size).toBe(0)
    expect(cache.stats()).toMatchObject({ expired: 2, hits: 2, misses: 1 })
  })

  it('returns no expired value even if the wheel has not fired yet', () => {
    const { cache, clock } = make({ ttl: 10_500, intervalMs: 1000 })
    cache.set('a', 1)
    clock.advanceSync(10_499)
    expect(cache.get('a')).toBe(1)
    clock.advanceSync(1)
    expect(cache.size).toBe(1)
    expect(cache.has('a')).toBe(false)
    expect(cache.get('a')).toBeUndefined()
    expect(cache.size).toBe(0)
    expect(cache.stats().expired).toBe(1)
  })

  it('removes expired values that nobody asks for', () => {
    const { cache, clock } = make({ intervalMs: 500 })
    for (let i = 0; i < 1000; i++) cache.set(`k${i}`, i)
    clock.advanceSync(10_500)
    expect(cache.size).toBe(0)
    expect(cache.stats().expired).toBe(1000)
  })

  it('starts a new lifetime when a key is set again', () => {
    const { cache, clock } = make()
    cache.set('a', 1)
    clock.advanceSync(8000)
    cache.set('a', 2)
    clock.advanceSync(8000)
    expect(cache.get('a')).toBe(2)
    expect(cache.size).toBe(1)
    clock.advanceSync(3000)
    expect(cache.size).toBe(0)
  })

  it('spreads lifetimes by 5 % in both directions by default', () => {
    const clock = new VirtualClock({ start: 0 })
    const cache = new ExpiringCache<number, number>({ ttl: 100_000, clock, intervalMs: 100 })
    for (let i = 0; i < 10_000; i++) cache.set(i, i)
    clock.advanceSync(94_999)
    expect(cache.size).toBe(10_000)
    const sizes: number[] = []
    for (let step = 0; step < 10; step++) {
      clock.advanceSync(1000)
      sizes.push(cache.size)
    }
    for (const [i, size] of sizes.entries()) expect(Math.abs(size - (9000 - i * 1000))).toBeLessThan(350)
    clock.advanceSync(200)
    expect(cache.size).toBe(0)
  })

  it('keeps at most `limit` values and evicts the least recently used', () => {
    const { cache } = make({ limit: 3 })
    for (const [key, value] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const) {
      cache.set(key, value)
    }
    cache.get('a')
    cache.set('b', 20)
    cache.set('d', 4)
    expect(cache.has('c')).toBe(false)
    expect([cache.get('a'), cache.get('b'), cache.get('d')]).toEqual([1, 20, 4])
    expect(cache.size).toBe(3)
    expect(cache.stats().evicted).toBe(1)
  })

  it('deletes a value and says whether there was one', () => {
    const { cache } = make()
    cache.set('a', 1)
    expect(cache.delete('a')).toBe(true)
    expect(cache.delete('a')).toBe(false)
    expect(cache.get('a')).toBeUndefined()
  })

  it('fetches once for many waiters, then returns the cached value', async () => {
    const { cache, clock } = make()
    let fetches = 0
    const fetch = async (key: string) => {
      fetches++
      await new Promise<void>((resolve) => void clock.wakeAfter(50, resolve))
      return key.length
    }
    const waiting = Promise.all(Array.from({ length: 100 }, () => cache.take('abc', fetch)))
    await clock.advance(100)
    expect(new Set(await waiting)).toEqual(new Set([3]))
    expect(await cache.take('abc', fetch)).toBe(3)
    expect(fetches).toBe(1)
    expect(cache.stats()).toMatchObject({ fetches: 1, misses: 100, hits: 1, hitRate: 1 / 101 })
    clock.advanceSync('20s')
    expect(await Promise.all([cache.take('abc', () => 7), cache.take('abc', () => 8)])).toEqual([7, 7])
  })

  it('rejects every waiter of a failed fetch and does not cache the failure', async () => {
    const { cache } = make()
    const fail = async () => {
      await Promise.resolve()
      throw new Error('away')
    }
    const outcomes = await Promise.allSettled([cache.take('a', fail), cache.take('a', fail)])
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected'])
    expect(cache.stats()).toMatchObject({ fetches: 1, failedFetches: 1 })
    expect(cache.size).toBe(0)
    await expect(
      cache.take('b', () => {
        throw new Error('at once')
      }),
    ).rejects.toThrow('at once')
    expect(await cache.take('a', () => 5)).toBe(5)
  })

  it('keeps the result of a set or delete during a fetch, not that of the fetch', async () => {
    const { cache } = make()
    let bring: (value: number) => void = () => {}
    const fetch = () => new Promise<number>((resolve) => (bring = resolve))
    const first = cache.take('a', fetch)
    cache.set('a', 2)
    bring(1)
    expect(await first).toBe(1)
    expect(cache.get('a')).toBe(2)
    const second = cache.take('b', fetch)
    cache.delete('b')
    bring(3)
    expect(await second).toBe(3)
    expect(cache.has('b')).toBe(false)
  })

  it('allows fetch to set, delete and take its own key', async () => {
    const { cache } = make()
    expect(
      await cache.take('a', () => {
        cache.set('a', 1)
        return 2
      }),
    ).toBe(2)
    expect(cache.get('a')).toBe(1)
    let fetches = 0
    const joined: Promise<number>[] = []
    await cache.take('b', async (key) => {
      fetches++
      joined.push(
        cache.take(key, () => {
          fetches++
          return 9
        }),
      )
      return 7
    })
    expect(await joined[0]).toBe(7)
    expect(fetches).toBe(1)
  })

  it('accepts the longest lifetime with any jitter', () => {
    const { cache } = make({ ttl: 8.64e15, jitter: 0.05, random: () => 0.99, limit: 2 })
    for (let i = 0; i < 6; i++) cache.set(`k${i}`, i)
    expect(cache.size).toBe(2)
  })

  it('caches values that are undefined', async () => {
    const clock = new VirtualClock({ start: 0 })
    const cache = new ExpiringCache<string, undefined>({ ttl: 1000, clock })
    let fetches = 0
    const fetch = () => {
      fetches++
      return undefined
    }
    await cache.take('a', fetch)
    await cache.take('a', fetch)
    expect(fetches).toBe(1)
    expect(cache.has('a')).toBe(true)
  })

  it('throws `stopped` from every call after stop, while a running fetch still resolves', async () => {
    const { cache, clock } = make()
    cache.set('a', 1)
    let bring: (value: number) => void = () => {}
    const waiting = cache.take('b', () => new Promise<number>((resolve) => (bring = resolve)))
    cache.stop()
    cache.stop()
    bring(9)
    expect(await waiting).toBe(9)
    for (const call of [
      () => cache.get('a'),
      () => cache.has('a'),
      () => cache.set('a', 1),
      () => cache.delete('a'),
    ]) {
      expect(call).toThrow(expect.objectContaining({ code: 'stopped' }))
    }
    await expect(cache.take('a', () => 1)).rejects.toMatchObject({ code: 'stopped' })
    expect(cache.size).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it.each([
    [{}, 'invalid-duration'],
    [{ ttl: '5 parsecs' }, 'invalid-duration'],
    [{ ttl: 1, jitter: 1 }, 'invalid-option'],
    [{ ttl: 1, jitter: Number.NaN }, 'invalid-option'],
    [{ ttl: 1, limit: 0 }, 'invalid-option'],
    [{ ttl: 1, limit: 2.5 }, 'invalid-option'],
    [{ ttl: 1, intervalMs: 0 }, 'invalid-option'],
    [{ ttl: 1, max: 5 }, 'unknown-option'],
  ])('refuses the options %o', (options, code) => {
    expect(() => new ExpiringCache(options as never)).toThrow(expect.objectContaining({ code }))
  })

  it('refuses invalid arguments and stays usable', async () => {
    const { cache } = make()
    expect(() => cache.set('a', 1, { ttl: -1 })).toThrow(
      expect.objectContaining({ code: 'invalid-duration' }),
    )
    await expect(cache.take('a', 5 as never)).rejects.toMatchObject({ code: 'invalid-option' })
    expect(cache.size).toBe(0)
  })
})
