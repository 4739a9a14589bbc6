import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodePayload, ownBytes, PayloadColumn } from '../../src/timer/index.js'

function columnOf(payloads: readonly unknown[]): PayloadColumn {
  const column = new PayloadColumn(payloads.length)
  for (const payload of payloads) expect(column.add(payload)).toBe(true)
  return column
}

const shownOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('PayloadColumn', () => {
  it('encodes each payload as encodePayload does', () => {
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

  it('grows for short, long and declined payloads without changing those before', () => {
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

  it('throws for a payload that JSON cannot represent, and stays unchanged', () => {
    const column = columnOf(['one'])
    expect(() => column.add(1n)).toThrow(expect.objectContaining({ code: 'invalid-payload' }))
    expect(() => column.add(() => 1)).toThrow(expect.objectContaining({ code: 'invalid-payload' }))
    expect([column.length, column.end(0)]).toEqual([1, 5])
  })

  it('removes the last payload', () => {
    const column = new PayloadColumn(2)
    column.add('first')
    column.add('second')
    column.removeLast()
    column.add([3])
    expect([column.view(0), column.view(1)].map(String)).toEqual(['"first"', '[3]'])
    expect(column.length).toBe(2)
  })

  it('declines a payload beyond its limit of bytes, and stays unchanged', () => {
    for (const payload of ['x'.repeat(40), 'é'.repeat(20)]) {
      const column = new PayloadColumn(5, 100)
      expect([column.add(payload), column.add(payload), column.add(payload)]).toEqual([true, true, false])
      expect([column.length, column.add(1), column.end(2)]).toEqual([2, true, column.end(1) + 1])
    }
  })

  it('uses JSON.stringify only, after the writer has declined several payloads', () => {
    const payloads = Array.from({ length: 30 }, (_, index) => ({ at: new Date(index) }))
    const column = columnOf([...payloads, { plain: true }])
    expect(Buffer.from(column.view(29)).toString()).toBe(JSON.stringify(payloads[29]))
    expect(Buffer.from(column.view(30)).toString()).toBe('{"plain":true}')
  })
})

describe('ownBytes', () => {
  it('copies a payload only if it would keep a much larger buffer alive', () => {
    const column = columnOf(Array.from({ length: 5000 }, () => 'x'.repeat(100)))
    const view = column.view(4000)
    expect(view.buffer.byteLength).toBeGreaterThan(500_000)
    expect(ownBytes(view)).toEqual(view)
    expect(ownBytes(view).buffer.byteLength).toBeLessThan(65_536)
    const [small, large] = [Buffer.from('small'), Buffer.alloc(1_000_000)]
    expect([ownBytes(small), ownBytes(large)].map((bytes) => bytes.buffer)).toEqual([
      small.buffer,
      large.buffer,
    ])
    expect(ownBytes(large)).toBe(large)
  })
})
