import { describe, expect, it } from 'vitest'
import { KeyTable } from '../../src/wheel/key-table.js'
import { PackedKey } from '../../src/wheel/packed-key.js'
import { Random } from './random.js'

describe('KeyTable', () => {
  it('agrees with a Map in random additions and removals of every type of key', () => {
    const random = new Random(11)
    const objects = Array.from({ length: 50 }, () => ({}))
    const someKey = (): unknown => {
      const n = random.below(20_000)
      switch (random.below(10)) {
        case 0:
          return n
        case 1:
          return n + 0.25
        case 2:
          return -n * 1e12
        case 3:
          return random.pick(objects)
        case 4:
          return random.pick([Number.NaN, Infinity, -0, 0, '', '\0', true, null, undefined, 5n])
        case 5:
          return `長い-${n}`
        case 6:
          return `${'a long key that is not packed, number '.repeat(1 + (n % 3))}${n}`
        default:
          return `käy-${n}`.padEnd(n % 41, '.')
      }
    }
    const table = new KeyTable<unknown, number>()
    const model = new Map<unknown, { index: number; value: number }>()
    const free = Array.from({ length: 70_000 }, (_, i) => i)
    for (let step = 0; step < 300_000; step++) {
      const key = someKey()
      const known = model.get(key)
      expect([key, table.find(key)]).toEqual([key, known?.index ?? -1])
      if (known !== undefined) {
        expect(table.valueOf(known.index)).toBe(known.value)
        expect(Object.is(table.keyOf(known.index), key) || table.keyOf(known.index) === key).toBe(true)
        if (random.chance(0.3)) {
          table.setValue(known.index, step)
          known.value = step
        } else {
          table.remove(known.index)
          model.delete(key)
          free.push(known.index)
        }
      } else {
        const index = free.pop()!
        table.add(key, index, step)
        model.set(key, { index, value: step })
      }
      expect(table.size).toBe(model.size)
    }
    expect(model.size).toBeGreaterThan(5000)
  })

  it('stays correct and fast when thousands of keys share one hash', () => {
    const colliding = collidingKeys(8000)
    const table = new KeyTable<string, number>()
    const started = processorMs()
    for (const [i, key] of colliding.entries()) table.add(key, i, i)
    for (const [i, key] of colliding.entries()) expect(table.find(key)).toBe(i)
    for (let i = 0; i < colliding.length; i += 2) table.remove(i)
    for (const [i, key] of colliding.entries()) expect(table.find(key)).toBe(i % 2 === 0 ? -1 : i)
    expect(table.size).toBe(4000)
    expect(processorMs() - started).toBeLessThan(10_000)
  })

  it.each([0, 6])(
    'distinguishes packed keys with the same hash that share their first %i words',
    (shared) => {
      // Two words of four 8-bit characters. The second is chosen so that the hashes are equal.
      const length = (shared + 2) * 4
      const head = Array.from({ length: shared }, () => 0x7878_7878)
      const state = head.reduce(stirred, length)
      const target = stirred(stirred(state, 0x6161_6161), 0x6262_6262)
      const keys = [0x6161_6161, 0x6363_6363, 0x6464_6464].map((first) => {
        const second = wordBetween(stirred(state, first), target)
        return Buffer.from(new Int32Array([...head, first, second]).buffer).toString('latin1')
      })
      expect(new Set(keys.map(hashKey)).size).toBe(1)
      const table = new KeyTable<string, number>()
      table.add(keys[0]!, 0, 0)
      table.add(keys[1]!, 1, 1)
      expect(keys.map((key) => table.find(key))).toEqual([0, 1, -1])
      table.remove(0)
      expect(keys.map((key) => table.find(key))).toEqual([-1, 1, -1])
      expect(table.keyOf(1)).toBe(keys[1])
    },
  )

  it('does not mistake words that a removed key left behind for those of an unpacked key', () => {
    const short = 'aaaabbbb'
    const target = stirred(stirred(8, 0x6161_6161), 0x6262_6262)
    const second = wordBetween(stirred(4, 0x0141_0142), target)
    const unpacked = text(0x0141_0142) + text(second)
    expect(hashKey(unpacked)).toBe(hashKey(short))
    const table = new KeyTable<string, number>()
    table.add(short, 0, 0)
    table.remove(table.find(short))
    table.add(unpacked, 1, 1)
    expect([table.find(unpacked), table.find(short)]).toEqual([1, -1])
  })

  it('spreads similar keys evenly', () => {
    const counts = new Array<number>(256).fill(0)
    for (let i = 0; i < 100_000; i++) counts[hashKey(`order:${i}`) >>> 24]!++
    expect(Math.min(...counts)).toBeGreaterThan(250)
    expect(Math.max(...counts)).toBeLessThan(550)
    const low = new Array<number>(256).fill(0)
    for (let i = 0; i < 100_000; i++) low[hashKey(i * 1024) & 255]!++
    expect(Math.max(...low)).toBeLessThan(550)
  })
})

function hashKey(key: string | number): number {
  const packed = new PackedKey()
  packed.set(key)
  return packed.hash
}

/**
 * Strings with the same hash, found by running the hash backwards. After any first word of two characters there is a
 * second word that leads to a given state. So there are two choices for each pair of words, and every sequence of such
 * pairs ends in the same state.
 */
function collidingKeys(count: number): string[] {
  const pairs = Math.ceil(Math.log2(count))
  const blocks: [string, string][] = []
  let state = pairs * 4
  while (blocks.length < pairs) {
    const first = stirred(stirred(state, 0x0041_0042), 0x0043_0044)
    const second = wordBetween(stirred(state, 0x0045_0046), first)
    blocks.push([text(0x0041_0042) + text(0x0043_0044), text(0x0045_0046) + text(second)])
    state = first
  }
  const keys: string[] = []
  for (let n = 0; n < count; n++) keys.push(blocks.map((pair, bit) => pair[(n >> bit) & 1]).join(''))
  expect(new Set(keys).size).toBe(count)
  expect(new Set(keys.map(hashKey)).size).toBe(1)
  return keys
}

function text(word: number): string {
  return String.fromCharCode(word & 0xffff, word >>> 16)
}

function stirred(hash: number, word: number): number {
  const mixed = hash ^ Math.imul(rotated(Math.imul(word, 0xcc9e_2d51), 15), 0x1b87_3593)
  return (Math.imul(rotated(mixed, 13), 5) + 0x64) | 0
}

/** The word that leads from the hash state `from` to `to`. */
function wordBetween(from: number, to: number): number {
  const mixed = rotated(Math.imul(to - 0x64, inverse(5)), 19)
  return Math.imul(rotated(Math.imul(mixed ^ from, inverse(0x1b87_3593)), 17), inverse(0xcc9e_2d51))
}

function rotated(bits: number, left: number): number {
  return (bits << left) | (bits >>> (32 - left))
}

/** The inverse of an odd number modulo 2^32, by Newton's method. */
function inverse(odd: number): number {
  let result = odd
  for (let i = 0; i < 5; i++) result = Math.imul(result, 2 - Math.imul(odd, result))
  return result
}

/** The CPU time of this process. Unlike elapsed time, it does not grow while other processes use the cores. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
