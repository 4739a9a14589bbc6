import { expect, it } from 'vitest'
import { EngineCounts } from '../../src/engine/counts.js'

it('the counts of two engines add up in every counter', () => {
  const one = new EngineCounts()
  const other = new EngineCounts()
  const names = numbersOf(one)
  expect(names.length).toBeGreaterThan(10)
  for (const [index, name] of names.entries()) {
    Object.assign(one, { [name]: 1000 })
    Object.assign(other, { [name]: index + 1 })
  }
  one.addAll(other)
  expect(one).toMatchObject(Object.fromEntries(names.map((name, index) => [name, 1001 + index])))
})

function numbersOf(counts: EngineCounts): string[] {
  return Object.entries(counts).flatMap(([name, value]) => (typeof value === 'number' ? [name] : []))
}
