import { describe, expect, it } from 'vitest'
import { recordLayout } from '../../src/wheel/record-layout.js'
import { RecordTable } from '../../src/wheel/record-table.js'

const { GENERATION, ONE_GENERATION, STATE_SPAN, STATE } = recordLayout

describe('RecordTable', () => {
  it('retires an index whose generations are used up, so that a handle never names another timer', () => {
    const records = new RecordTable()
    const index = records.armUncommon(1)
    const first = records.handleOf(index)
    records.release(index)
    // As if the index had been used about 67 million times.
    records.words[(index << 1) | STATE] = GENERATION - ONE_GENERATION
    let last = -1
    for (let round = 0; round < 4 * records.capacity; round++) {
      const taken = records.armUncommon(1)
      if (taken === index) {
        expect(last).toBe(-1)
        last = records.handleOf(taken)
      }
      records.release(taken)
    }
    expect(last).toBe(GENERATION * STATE_SPAN + index)
    expect(records.find(last)).toBe(-1)
    expect(records.find(first)).toBe(-1)
  })

  it('grows when retired indices fill the table', () => {
    const records = new RecordTable()
    const { capacity } = records
    for (let index = 0; index < capacity; index++)
      records.words[(index << 1) | STATE] = GENERATION - ONE_GENERATION
    for (let round = 0; round < capacity; round++) records.release(records.armUncommon(1))
    expect(records.size).toBe(0)
    const index = records.armUncommon(1)
    expect(index).toBeGreaterThanOrEqual(capacity)
    expect(records.capacity).toBeGreaterThan(capacity)
  })
})
