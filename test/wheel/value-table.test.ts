import { describe, expect, it } from 'vitest'
import { ValueTable } from '../../src/wheel/value-table.js'

const PAGE = 32_768

describe('ValueTable', () => {
  it('keeps numbers exactly', () => {
    const table = new ValueTable<number>()
    const numbers = [0, -0, 1, -1, 0.5, Number.NaN, Infinity, 2 ** 53, 2 ** 31, -(2 ** 31), 5e-324]
    for (const [index, value] of numbers.entries()) table.set(index, value)
    for (const [index, value] of numbers.entries()) expect(table.get(index)).toBe(value)
  })

  it('keeps all numbers when the first other value is stored in their page', () => {
    const table = new ValueTable<unknown>()
    const values: unknown[] = []
    const put = (index: number, value: unknown) => {
      table.set(index, value)
      values[index] = value
    }
    for (let index = 0; index < 3 * PAGE; index++) put(index, index / 2)
    const object = {}
    put(PAGE + 7, object)
    put(PAGE + 8, 'text')
    put(PAGE + 9, 9)
    put(2 * PAGE - 1, undefined)
    put(PAGE + 7, 7)
    const wrong = values.filter((value, index) => !Object.is(table.get(index), value))
    expect(values).toHaveLength(3 * PAGE)
    expect(wrong).toEqual([])
  })

  it('keeps the values of the first page while that grows', () => {
    for (const valueOf of [(index: number) => index, (index: number) => `value ${index}`]) {
      const table = new ValueTable<unknown>()
      for (let index = 0; index < 2 * PAGE; index++) table.set(index, valueOf(index))
      for (let index = 0; index < 2 * PAGE; index += 1001) expect(table.get(index)).toBe(valueOf(index))
    }
  })

  it('does not keep a cleared value alive', () => {
    const table = new ValueTable<object | number>()
    table.set(0, {})
    table.set(1, 1)
    table.clear(0)
    table.clear(1)
    expect([table.get(0), table.get(1)]).toEqual([undefined, undefined])
  })
})
