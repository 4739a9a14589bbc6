import { InvalidInputError, StateError } from 'carillon'
import { Wheel } from 'carillon/wheel'
import { describe, expect, it } from 'vitest'
import { Random } from './random.js'

const nothing = () => {}

/** Advances and returns what fired, as [token, dueTick] pairs. */
function fired(wheel: Wheel, tick: number): [number, number][] {
  const list: [number, number][] = []
  const count = wheel.advance(tick, (token, dueTick) => list.push([token, dueTick]))
  expect(count).toBe(list.length)
  return list
}

describe('Wheel', () => {
  it('passes tokens to near before the timers fire, and does not fire those that near cancels', () => {
    const wheel = new Wheel()
    const tokens = [0, 7, 2 ** 31, 2 ** 40]
    const handles = tokens.map((token) => wheel.set(5, token))
    const own = wheel.setIndexed(5)
    const gone = wheel.set(5, 99)
    wheel.cancel(gone)
    const seen: string[] = []
    const near = (token: number) => {
      seen.push(`near ${token}`)
      if (token === 7) wheel.cancel(handles[1]!)
    }
    const ownIndex = wheel.indexOf(own)
    expect(wheel.advance(10, (token) => seen.push(`fire ${token}`), near)).toBe(4)
    const all = [...tokens, ownIndex]
    expect(seen).toEqual([
      ...all.map((token) => `near ${token}`),
      ...all.filter((token) => token !== 7).map((token) => `fire ${token}`),
    ])
    // @ts-expect-error: no function
    expect(() => wheel.advance(11, () => {}, 1)).toThrow(InvalidInputError)
  })

  it('loses no timer when near throws', () => {
    const wheel = new Wheel()
    for (let token = 0; token < 40; token++) wheel.set(5, token)
    const heard: number[] = []
    const fire = (token: number) => void heard.push(token)
    let told = 0
    const near = () => {
      if (++told === 20) throw new Error('near')
    }
    expect(() => wheel.advance(5, fire, near)).toThrow('near')
    expect(heard).toHaveLength(15)
    wheel.advance(6, fire)
    expect(new Set(heard).size).toBe(40)
  })

  it('needs no options and starts at tick 0', () => {
    const wheel = new Wheel()
    expect(wheel.tick).toBe(0)
    expect(wheel.size).toBe(0)
    expect(wheel.nextDue()).toBeUndefined()
    expect(fired(wheel, 1000)).toEqual([])
  })

  it('fires nothing early and all due timers, in the order of due ticks', () => {
    const wheel = new Wheel()
    wheel.set(70_000, 4)
    wheel.set(300, 2)
    wheel.set(5, 1)
    wheel.set(20_000_000, 5)
    wheel.set(600, 3)
    expect(fired(wheel, 4)).toEqual([])
    expect(fired(wheel, 5)).toEqual([[1, 5]])
    expect(fired(wheel, 599)).toEqual([[2, 300]])
    expect(fired(wheel, 19_999_999)).toEqual([
      [3, 600],
      [4, 70_000],
    ])
    expect(fired(wheel, 20_000_000)).toEqual([[5, 20_000_000]])
    expect(wheel.size).toBe(0)
  })

  it('fires overdue timers at the start of the next advance, in due order', () => {
    const wheel = new Wheel({ startTick: 100 })
    wheel.set(101, 4)
    wheel.set(100, 3)
    wheel.set(50, 2)
    wheel.set(0, 1)
    expect(wheel.nextDue()).toBeLessThanOrEqual(0)
    expect(fired(wheel, 101)).toEqual([
      [1, 0],
      [2, 50],
      [3, 100],
      [4, 101],
    ])
    wheel.set(101, 5)
    expect(fired(wheel, 101)).toEqual([[5, 101]])
  })

  it('fires many overdue timers in due order, whether close together or far apart', () => {
    const random = new Random(4)
    for (const age of [10, 2 ** 20, 2 ** 52]) {
      const wheel = new Wheel({ startTick: 2 ** 52 })
      const dues = Array.from({ length: 5000 }, () => 2 ** 52 - random.below(age))
      for (const [token, due] of dues.entries()) wheel.set(due, token)
      const list = fired(wheel, 2 ** 52)
      expect(list.map(([, due]) => due)).toEqual(dues.toSorted((a, b) => a - b))
      for (const [token, due] of list) expect(dues[token]).toBe(due)
    }
  })

  it('moves a timer to a later or an earlier tick, and its handle stays valid', () => {
    const wheel = new Wheel()
    const handle = wheel.set(100, 7)
    expect(wheel.move(handle, 5000)).toBe(true)
    expect(fired(wheel, 4999)).toEqual([])
    expect(wheel.move(handle, 5001)).toBe(true)
    expect(wheel.move(handle, 5000)).toBe(true)
    expect(fired(wheel, 5000)).toEqual([[7, 5000]])
    expect(wheel.move(handle, 6000)).toBe(false)
    expect(wheel.size).toBe(0)
  })

  it('cancels a timer once, and returns false the second time', () => {
    const wheel = new Wheel()
    const handle = wheel.set(10, 1)
    expect(wheel.cancel(handle)).toBe(true)
    expect(wheel.cancel(handle)).toBe(false)
    expect(fired(wheel, 20)).toEqual([])
  })

  it('never accepts an old handle for a later timer with the same index', () => {
    const wheel = new Wheel()
    const old = Array.from({ length: 2000 }, (_, i) => wheel.set(10, i))
    for (const handle of old) wheel.cancel(handle)
    for (let round = 0; round < 50; round++) {
      const handles = Array.from({ length: 2000 }, (_, i) => wheel.set(wheel.tick + 10, i))
      for (const handle of old) expect(wheel.cancel(handle) || wheel.move(handle, wheel.tick + 1)).toBe(false)
      expect(wheel.size).toBe(2000)
      if (round % 2 === 0) expect(fired(wheel, wheel.tick + 10)).toHaveLength(2000)
      else for (const handle of handles) wheel.cancel(handle)
    }
  })

  it('never returns the handle 0', () => {
    expect(new Wheel().set(1, 0)).toBeGreaterThan(0)
  })

  it('keeps tokens of up to 2^53 - 1 next to small ones', () => {
    const wheel = new Wheel()
    const tokens = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 5, Number.MAX_SAFE_INTEGER]
    for (let round = 0; round < 300; round++) {
      for (const [i, token] of tokens.entries()) wheel.set(wheel.tick + i + 1, token)
      expect(fired(wheel, wheel.tick + tokens.length).map(([token]) => token)).toEqual(tokens)
    }
  })

  it('fires timers that are due at up to 2^53 - 1 ticks', () => {
    const wheel = new Wheel()
    const dues = [2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 40, 2 ** 52, Number.MAX_SAFE_INTEGER]
    for (const [token, due] of dues.entries()) wheel.set(due, token)
    for (const [token, due] of dues.entries()) {
      expect(wheel.nextDue()).toBeLessThanOrEqual(due)
      expect(fired(wheel, due - 1)).toEqual([])
      expect(fired(wheel, due)).toEqual([[token, due]])
    }
  })

  it('fires a timer that fire sets or moves in this advance if it is due later in it, else in the next', () => {
    const wheel = new Wheel()
    const seen: string[] = []
    const moved = wheel.set(10, 5)
    const cancelled = wheel.set(10, 6)
    const pulled = wheel.set(500, 7)
    wheel.set(9, 1)
    wheel.advance(20, (token, dueTick) => {
      seen.push(`${token}@${dueTick}`)
      if (token !== 1) return
      wheel.set(9, 2)
      wheel.set(15, 3)
      wheel.set(21, 4)
      wheel.move(moved, 12)
      wheel.move(pulled, 13)
      expect(wheel.cancel(cancelled)).toBe(true)
    })
    expect(seen).toEqual(['1@9', '5@12', '7@13', '3@15'])
    expect(fired(wheel, 21)).toEqual([
      [2, 9],
      [4, 21],
    ])
  })

  it('does not fire a timer early that fire moves twice', () => {
    const wheel = new Wheel()
    const moved = [wheel.set(10, 1), wheel.set(10, 2), wheel.set(10, 3)]
    const seen: string[] = []
    wheel.advance(100, (token, dueTick) => {
      seen.push(`${token}@${dueTick}`)
      for (const handle of moved) wheel.move(handle, 50)
      for (const handle of moved) wheel.move(handle, 30)
      moved.length = 0
    })
    expect(seen).toEqual(['1@10', '2@30', '3@30'])
  })

  it('does not fire a timer early that fire moves while it floods the wheel with entries', () => {
    const wheel = new Wheel()
    const first = wheel.set(10, 1)
    const moved = wheel.set(40, 2)
    // Leaves an entry at 40 for the scrub to find.
    wheel.move(moved, 10)
    const seen: string[] = []
    wheel.advance(100, (token, dueTick) => {
      seen.push(`${token}@${dueTick}`)
      if (token !== 1) return
      wheel.move(moved, 60)
      for (let i = 0; i < 100_000; i++) wheel.cancel(wheel.set(41, 9))
    })
    expect(wheel.cancel(first)).toBe(false)
    expect(seen).toEqual(['1@10', '2@60'])
  })

  it('never returns a nextDue later than the next timer, not even inside fire', () => {
    const wheel = new Wheel({ startTick: 100 })
    for (const due of [20, 40, 100, 110, 110, 120]) wheel.set(due, due)
    const seen: number[] = []
    wheel.advance(200, (_token, dueTick) => {
      seen.push(dueTick)
      const next = wheel.nextDue()
      if (seen.length === 6) expect(next).toBeUndefined()
      else expect(next).toBeLessThanOrEqual([20, 40, 100, 110, 110, 120][seen.length]!)
    })
    expect(seen).toEqual([20, 40, 100, 110, 110, 120])
  })

  it('keeps all timers of one tick that fire moves later, in any chunk of the slot', () => {
    const wheel = new Wheel()
    const handles = Array.from({ length: 50 }, (_, token) => wheel.set(10, token))
    const dues: number[] = []
    const fire = (token: number, dueTick: number) => {
      dues.push(dueTick)
      if (dueTick === 10) for (const handle of handles) wheel.move(handle, 20 + (token & 1))
    }
    expect(wheel.advance(10, fire)).toBe(1)
    expect(wheel.size).toBe(49)
    expect(wheel.advance(30, fire)).toBe(49)
    expect(new Set(dues.slice(1)).size).toBe(1)
  })

  it('keeps timers that fire moved before it threw', () => {
    const wheel = new Wheel()
    const handles = Array.from({ length: 40 }, (_, token) => wheel.set(10, token))
    const dues: number[] = []
    expect(() =>
      wheel.advance(10, () => {
        for (const handle of handles) wheel.move(handle, 20)
        throw new Error('thrown')
      }),
    ).toThrow('thrown')
    expect(wheel.advance(19, (_token, dueTick) => dues.push(dueTick))).toBe(0)
    expect(wheel.advance(20, (_token, dueTick) => dues.push(dueTick))).toBe(39)
    expect(new Set(dues)).toEqual(new Set([20]))
  })

  it('keeps timers that have not fired when fire throws', () => {
    const wheel = new Wheel()
    for (let token = 0; token < 5000; token++) wheel.set(token < 4000 ? 10 : 20, token)
    const seen = new Set<number>()
    const ouch = () =>
      wheel.advance(30, (token) => {
        seen.add(token)
        if (seen.size === 1234) throw new Error('ouch')
      })
    expect(ouch).toThrow('ouch')
    expect(wheel.tick).toBe(10)
    expect(wheel.size).toBe(5000 - 1234)
    const rest = fired(wheel, 30)
    expect(rest).toHaveLength(5000 - 1234)
    for (const [token] of rest) seen.add(token)
    expect(seen.size).toBe(5000)
  })

  it('throws for advance and drain inside fire, and stays intact', () => {
    const wheel = new Wheel()
    wheel.set(1, 1)
    wheel.set(2, 2)
    const seen: unknown[] = []
    wheel.advance(2, () => {
      for (const call of [() => wheel.advance(5, nothing), () => wheel.drain(nothing)]) {
        try {
          call()
        } catch (error) {
          seen.push(error)
        }
      }
    })
    expect(seen).toHaveLength(4)
    for (const error of seen) {
      expect(error).toBeInstanceOf(StateError)
      expect(error).toMatchObject({ code: 'wheel-busy' })
    }
    expect(wheel.tick).toBe(2)
  })

  it('drains every timer with its token and due tick, and can be used again', () => {
    const wheel = new Wheel({ startTick: 1000 })
    const dues = [500, 1000, 1001, 5000, 2 ** 33, 2 ** 50]
    for (const [token, due] of dues.entries()) wheel.set(due, token)
    const handle = wheel.set(2000, 99)
    const drained: [number, number][] = []
    wheel.drain((token, dueTick) => {
      if (token === 0) wheel.cancel(handle)
      drained.push([token, dueTick])
      if (token === 1) wheel.set(1500, 77)
    })
    expect(drained.toSorted(([a], [b]) => a - b)).toEqual([...dues.entries()])
    expect(wheel.size).toBe(1)
    expect(fired(wheel, 2 ** 51)).toEqual([[77, 1500]])
  })

  it('gives each pending timer a unique index, which is the token of setIndexed', () => {
    const wheel = new Wheel()
    const handles = Array.from({ length: 3000 }, (_, i) => wheel.setIndexed(1 + (i % 7)))
    const indices = handles.map((handle) => wheel.indexOf(handle))
    expect(new Set(indices).size).toBe(3000)
    expect(new Set(fired(wheel, 7).map(([token]) => token))).toEqual(new Set(indices))
    expect(wheel.indexOf(handles[0]!)).toBe(-1)
    const again = wheel.indexOf(wheel.setIndexed(20))
    expect(wheel.moveAt(again, 30)).toBe(true)
    expect(fired(wheel, 29)).toEqual([])
    expect(wheel.cancelAt(again)).toBe(true)
    for (const gone of [again, -1, 1e9]) {
      expect(wheel.cancelAt(gone)).toBe(false)
      expect(wheel.moveAt(gone, 40)).toBe(false)
    }
    expect(wheel.size).toBe(0)
  })

  it('passes days of idle time in microseconds', () => {
    const wheel = new Wheel()
    const started = performance.now()
    for (let day = 1; day <= 1000; day++) wheel.advance(day * 86_400_000, nothing)
    wheel.set(wheel.tick + 40 * 86_400_000, 1)
    for (let day = 1001; day <= 1039; day++) wheel.advance(day * 86_400_000, nothing)
    wheel.advance(2 ** 52, nothing)
    wheel.set(Number.MAX_SAFE_INTEGER, 1)
    wheel.advance(Number.MAX_SAFE_INTEGER, nothing)
    // Visiting 2^52 ticks one by one would take years. The bound only has to rule that out.
    expect(performance.now() - started).toBeLessThan(2000)
    expect(wheel.size).toBe(0)
  })

  it('keeps stale entries in proportion to the timers, with and without advancing', () => {
    const wheel = new Wheel()
    const kept = Array.from({ length: 1000 }, (_, i) => wheel.set(1_000_000 + i, i))
    for (let i = 0; i < 300_000; i++) wheel.cancel(wheel.set(500_000 + (i % 1000), i))
    const still = wheel.stats()
    expect(still.entries).toBeLessThan(40_000)
    for (let tick = 1; tick < 300; tick++) {
      for (let i = 0; i < 1000; i++) wheel.cancel(wheel.set(tick + 100_000 + i, i))
      for (const handle of kept) wheel.move(handle, 900_000 + ((tick * 7919) % 100_000))
      wheel.advance(tick, nothing)
    }
    expect(wheel.stats().entries).toBeLessThan(10_000)
    expect(wheel.stats().bytes).toBeLessThanOrEqual(still.bytes + (1 << 20))
    expect(fired(wheel, 2_000_000)).toHaveLength(1000)
  })

  it('loses no timer that is moved while stale entries are removed between advances', () => {
    const random = new Random(8)
    const wheel = new Wheel()
    const dues = Array.from({ length: 1000 }, () => 1 + random.below(100_000))
    const handles = dues.map((due, token) => wheel.set(due, token))
    for (let i = 0; i < 1_000_000; i++) {
      wheel.cancel(wheel.set(1 + random.below(100_000), 0))
      const token = random.below(1000)
      dues[token]! += random.below(10)
      wheel.move(handles[token]!, dues[token]!)
    }
    const list = fired(wheel, 1_000_000)
    expect(list.map(([token]) => token).toSorted((a, b) => a - b)).toEqual(dues.map((_, token) => token))
    for (const [token, due] of list) expect(due).toBe(dues[token])
  })

  it('does not accumulate entries of timers that are moved to the same tick, or back and forth', () => {
    const wheel = new Wheel()
    const near = wheel.set(1000, 1)
    const far = wheel.set(2 ** 40, 2)
    const swung = wheel.set(90_000, 3)
    for (let i = 0; i < 300_000; i++) {
      wheel.move(near, 1000)
      wheel.move(far, 2 ** 40)
      wheel.move(swung, i % 2 === 0 ? 90_000 : 100_000)
    }
    expect(wheel.stats().entries).toBeLessThan(40_000)
    for (let tick = 1; tick < 1000; tick++) wheel.advance(tick, nothing)
    expect(wheel.stats().entries).toBeLessThan(5000)
    expect(fired(wheel, 2 ** 40)).toEqual([
      [1, 1000],
      [3, 100_000],
      [2, 2 ** 40],
    ])
  })

  it('keeps stale entries of far and overdue timers in proportion, too', () => {
    const wheel = new Wheel({ startTick: 100 })
    for (let i = 0; i < 200_000; i++) {
      wheel.cancel(wheel.set(2 ** 35 + i, i))
      wheel.cancel(wheel.set(50, i))
    }
    const last = wheel.set(2 ** 34, 1)
    wheel.set(60, 2)
    expect(wheel.stats().entries).toBeLessThan(20_000)
    expect(fired(wheel, 2 ** 34)).toEqual([
      [2, 60],
      [1, 2 ** 34],
    ])
    expect(wheel.cancel(last)).toBe(false)
  })

  it('takes at most 24 bytes per timer for a million, and grows without long stalls', () => {
    const wheel = new Wheel()
    const random = new Random(1)
    for (let i = 0; i < 1_000_000; i++) wheel.set(1 + random.below(60_000), i)
    const { bytes, size, capacity, entries } = wheel.stats()
    expect(size).toBe(1_000_000)
    expect(entries).toBe(1_000_000)
    expect(capacity).toBeGreaterThanOrEqual(size)
    expect(bytes / size).toBeLessThanOrEqual(24)
  })

  it('gives consecutive indices to timers that are set one after another, also while it grows', () => {
    const wheel = new Wheel({ reserve: 5000 })
    let inOrder = 0
    while (inOrder < 200_000 && wheel.indexOf(wheel.set(1 + inOrder, 7)) === inOrder) inOrder++
    expect(inOrder).toBe(200_000)
  })

  it('reserves room in advance', () => {
    const wheel = new Wheel({ reserve: 200_000 })
    const { capacity, bytes } = wheel.stats()
    expect(capacity).toBeGreaterThanOrEqual(200_000)
    for (let i = 0; i < 200_000; i++) wheel.set(1 + (i % 5000), i)
    expect(wheel.stats().capacity).toBe(capacity)
    expect(wheel.stats().bytes).toBeLessThanOrEqual(bytes + (1 << 20))
  })
})

describe('Wheel, given invalid input,', () => {
  const bad: unknown[] = [
    Number.NaN,
    -1,
    Infinity,
    -Infinity,
    1.5,
    2 ** 53,
    '5',
    '5 parsecs',
    null,
    undefined,
    5n,
    {},
    [7],
  ]

  it.each(bad)('rejects the tick %s and stays intact', (tick) => {
    const wheel = new Wheel()
    const handle = wheel.set(10, 1)
    for (const call of [
      () => wheel.set(tick as never, 1),
      () => wheel.move(handle, tick as never),
      () => wheel.move(123, tick as never),
      () => wheel.advance(tick as never, nothing),
      () => new Wheel({ startTick: (tick ?? 'none') as never }),
    ]) {
      expect(call).toThrow(InvalidInputError)
      expect(call).toThrow(expect.objectContaining({ code: 'invalid-tick' }))
    }
    expect(wheel.size).toBe(1)
    expect(fired(wheel, 10)).toEqual([[1, 10]])
  })

  it.each(bad)('rejects the token %s and stays intact', (token) => {
    const wheel = new Wheel()
    for (const due of [10, 0, 2 ** 40]) {
      expect(() => wheel.set(due, token as never)).toThrow(expect.objectContaining({ code: 'invalid-token' }))
    }
    expect(wheel.size).toBe(0)
    expect(wheel.stats().entries).toBe(0)
  })

  // The last two are a valid handle, except for bits that no handle has.
  it.each([
    Number.NaN,
    -1,
    Infinity,
    134_217_728.5,
    '134217728',
    null,
    undefined,
    {},
    5n,
    -134_217_728,
    2 ** 57 + 134_217_728,
    2 ** 59 + 134_217_728,
  ])('rejects the handle %s and stays intact', (handle) => {
    const wheel = new Wheel()
    const live = wheel.set(10, 1)
    expect(live).toBe(134_217_728)
    expect(() => wheel.cancel(handle as never)).toThrow(expect.objectContaining({ code: 'invalid-handle' }))
    expect(() => wheel.move(handle as never, 5)).toThrow(expect.objectContaining({ code: 'invalid-handle' }))
    expect(wheel.size).toBe(1)
  })

  it('finds a timer only by its own handle', () => {
    for (const isGone of [false, true]) {
      const wheel = new Wheel()
      const handle = wheel.set(10, 1)
      if (isGone) wheel.cancel(handle)
      for (const power of Array.from({ length: 65 }, (_, i) => 2 ** i)) {
        for (const other of [handle + power, handle - power, handle + 1 / power, power, -power]) {
          if (other === handle) continue
          const isWhole = Number.isSafeInteger(other) && other >= 0
          if (isWhole) expect([wheel.cancel(other), wheel.move(other, 5)]).toEqual([false, false])
          else expect(() => wheel.cancel(other)).toThrow(expect.objectContaining({ code: 'invalid-handle' }))
        }
      }
      expect(wheel.size).toBe(isGone ? 0 : 1)
      expect(fired(wheel, 10)).toEqual(isGone ? [] : [[1, 10]])
    }
  })

  it('rejects a tick above the highest one even when the wheel is close to the highest', () => {
    const wheel = new Wheel({ startTick: Number.MAX_SAFE_INTEGER - 1 })
    const handle = wheel.set(Number.MAX_SAFE_INTEGER, 1)
    expect(() => wheel.set(2 ** 53, 1)).toThrow(expect.objectContaining({ code: 'invalid-tick' }))
    expect(() => wheel.move(handle, 2 ** 53)).toThrow(expect.objectContaining({ code: 'invalid-tick' }))
    expect(fired(wheel, Number.MAX_SAFE_INTEGER)).toEqual([[1, Number.MAX_SAFE_INTEGER]])
  })

  it('treats any integer as the handle of a timer that is gone', () => {
    const wheel = new Wheel()
    for (const handle of [0, 1, 134_217_727, Number.MAX_SAFE_INTEGER])
      expect(wheel.cancel(handle)).toBe(false)
  })

  it('rejects an earlier tick, with both ticks in the message', () => {
    const wheel = new Wheel()
    wheel.advance(100, nothing)
    expect(() => wheel.advance(99, nothing)).toThrow(expect.objectContaining({ code: 'tick-went-back' }))
    expect(() => wheel.advance(99, nothing)).toThrow(/at tick 100 and cannot go back to 99/)
  })

  it('rejects unknown and invalid options', () => {
    expect(() => new Wheel({ size: 5 } as never)).toThrow(expect.objectContaining({ code: 'unknown-option' }))
    expect(() => new Wheel({ reserve: -1 })).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    expect(() => new Wheel(5 as never)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    expect(() => new Wheel().advance(1, undefined as never)).toThrow(
      expect.objectContaining({ code: 'invalid-option' }),
    )
  })
})
