import { describe, expect, it } from 'vitest'
import { hashKey } from '../../src/wheel/key-hash.js'
import { KeyTable } from '../../src/wheel/key-table.js'
import { Random } from './random.js'

describe('KeyTable', () => {
  it('agrees with a Map over random additions and removals of every kind of key', () => {
    const random = new Random(11)
    const objects = Array.from({ length: 50 }, () => ({}))
    const someKey = (): unknown => {
      const n = random.below(20_000)
      switch (random.below(8)) {
        case 0:
          return n
        case 1:
          return n + 0.25
        case 2:
          return -n * 1e12
        case 3:
          return random.pick(objects)
        case 4:
          return random.pick([Number.NaN, Infinity, -0, 0, '', true, null, undefined, 5n])
        default:
          return `käy-${n}`
      }
    }
    const table = new KeyTable<unknown, number>()
    const model = new Map<unknown, { index: number; value: number }>()
    const free = Array.from({ length: 70_000 }, (_, i) => i)
    for (let step = 0; step < 300_000; step++) {
      const key = someKey()
      const known = model.get(key)
      expect(table.find(key)).toBe(known?.index ?? -1)
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

  it('stays correct and quick when thousands of keys share one hash', () => {
    const colliding = collidingKeys(8000)
    const table = new KeyTable<string, number>()
    const started = performance.now()
    for (const [i, key] of colliding.entries()) table.add(key, i, i)
    for (const [i, key] of colliding.entries()) expect(table.find(key)).toBe(i)
    for (let i = 0; i < colliding.length; i += 2) table.remove(i)
    for (const [i, key] of colliding.entries()) expect(table.find(key)).toBe(i % 2 === 0 ? -1 : i)
    expect(table.size).toBe(4000)
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it('spreads like keys evenly', () => {
    const counts = new Array<number>(256).fill(0)
    for (let i = 0; i < 100_000; i++) counts[hashKey(`order:${i}`) >>> 24]!++
    expect(Math.min(...counts)).toBeGreaterThan(250)
    expect(Math.max(...counts)).toBeLessThan(550)
    const low = new Array<number>(256).fill(0)
    for (let i = 0; i < 100_000; i++) low[hashKey(i * 1024) & 255]!++
    expect(Math.max(...low)).toBeLessThan(550)
  })
})

/**
 * Strings of one and the same hash: two first characters that lead to the same upper half of the state are
 * made equal by the second, and any sequence of such pairs of pairs leaves the state alike too.
 */
function collidingKeys(count: number): string[] {
  const step = (hash: number, char: number) => Math.imul(hash ^ char, 0x0100_0193)
  const blocks: [string, string][] = []
  let state = 0x811c_9dc5
  while (2 ** blocks.length < count) {
    const seen = new Map<number, number>()
    let char = 1
    while (!seen.has(step(state, char) >>> 16)) seen.set(step(state, char) >>> 16, char++)
    const other = seen.get(step(state, char) >>> 16)!
    const difference = (step(state, char) ^ step(state, other)) & 0xffff
    blocks.push([String.fromCharCode(char, 1), String.fromCharCode(other, 1 ^ difference)])
    state = step(step(state, char), 1)
  }
  const keys: string[] = []
  for (let n = 0; n < count; n++) keys.push(blocks.map((pair, bit) => pair[(n >> bit) & 1]).join(''))
  expect(new Set(keys).size).toBe(count)
  expect(new Set(keys.map(hashKey)).size).toBe(1)
  return keys
}
