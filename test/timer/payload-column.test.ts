import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodePayload, PayloadColumn } from '../../src/timer/index.js'

function columnOf(payloads: readonly unknown[]): PayloadColumn {
  const column = new PayloadColumn(payloads.length)
  for (const payload of payloads) expect(column.add(payload)).toBe(true)
  return column
}

const shownOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('payloads in one column', () => {
  it('are each as encodePayload would write it, whatever JSON can say', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.jsonValue(), fc.constant(undefined)), { maxLength: 60 }),
        (payloads) => {
          const column = columnOf(payloads)
          expect(column.length).toBe(payloads.length)
          for (const [index, payload] of payloads.entries()) {
            expect(shownOf(column.view(index))).toBe(shownOf(encodePayload(payload)))
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('grow as they must: what is short, long, and of another make lies behind the other, unharmed', () => {
    const payloads = Array.from({ length: 200 }, (_, index) => {
      if (index % 5 === 0) return 'é'.repeat(index * 30)
      return index % 7 === 0 ? { at: new Date(index) } : { index, text: 'x'.repeat(index) }
    })
    const column = columnOf(payloads)
    for (const [index, payload] of payloads.entries()) {
      expect(Buffer.from(column.view(index)).toString()).toBe(JSON.stringify(payload))
    }
    const view = column.dataView()
    expect(view.getUint8(column.from(9))).toBe(column.view(9)[0])
  })

  it('refuse what cannot be written, and stay as they were', () => {
    const column = columnOf(['one'])
    expect(() => column.add(1n)).toThrow(expect.objectContaining({ code: 'invalid-payload' }))
    expect(() => column.add(() => 1)).toThrow(expect.objectContaining({ code: 'invalid-payload' }))
    expect([column.length, column.end(0)]).toEqual([1, 5])
  })

  it('forget the last', () => {
    const column = new PayloadColumn(2)
    column.add('first')
    column.add('second')
    column.removeLast()
    column.add([3])
    expect([column.view(0), column.view(1)].map(String)).toEqual(['"first"', '[3]'])
    expect(column.length).toBe(2)
  })

  it('copy one so that it keeps nothing of the others', () => {
    const column = columnOf(Array.from({ length: 5000 }, () => 'x'.repeat(100)))
    expect(column.bytes.buffer.byteLength).toBeGreaterThan(500_000)
    const copy = column.copy(4000)
    expect(String(copy)).toBe(JSON.stringify('x'.repeat(100)))
    expect(copy.buffer.byteLength).toBeLessThan(65_536)
  })
})
