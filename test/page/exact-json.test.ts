import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExactNumber, parseExactly, stringifyExactly } from '../../dashboard/src/api/exact-json.js'

describe('the JSON of the page', () => {
  it.each([
    '9007199254740993',
    '-12345678901234567890',
    '0.1000000000000000055511151231257827',
    '1e400',
    '123456789012345678901234567890.5',
  ])('keeps the number %s exactly', (digits) => {
    const value = parseExactly(`{"n":[${digits}]}`) as { n: [ExactNumber] }
    expect(value.n[0]).toBeInstanceOf(ExactNumber)
    expect(stringifyExactly(value, 0)).toContain(digits)
  })

  it.each(['9007199254740992', '1.50', '1e3', '-0', '1E+2', '0.1', '1000000000000000000000'])(
    'reads the number %s, which a double holds, as a plain number',
    (digits) => {
      expect(parseExactly(`[${digits}, 1234567890123456789]`)).toMatchObject([Number(digits), {}])
    },
  )

  it('reads everything else as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        // A number that must be kept makes the whole text go through the parser of the page.
        const given = `[12345678901234567890,${text}]`
        expect((parseExactly(given) as unknown[])[1]).toEqual(JSON.parse(text))
      }),
    )
  })

  it('writes what it reads', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(JSON.parse(stringifyExactly(parseExactly(text)))).toEqual(JSON.parse(text))
      }),
    )
  })

  it.each([
    '[1234567890123456789',
    '[1234567890123456789,]',
    '{"a" 1234567890123456789}',
    '12345678901234567890x',
    '',
  ])('refuses %j', (text) => {
    expect(() => parseExactly(text)).toThrow(SyntaxError)
  })

  it('does not run out of stack on deep nesting', () => {
    const deep = `${'['.repeat(100_000)}12345678901234567890${']'.repeat(100_000)}`
    expect(() => parseExactly(deep)).toThrow(/nested deeper/)
  })
})
