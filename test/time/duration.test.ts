import { formatDuration, InvalidInputError, MAX_DURATION_MS, parseDuration } from 'carillon'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

describe('parseDuration', () => {
  it.each([
    [0, 0],
    [1500, 1500],
    [0.2, 1],
    ['0ms', 0],
    ['250ms', 250],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    [' 14d ', 1_209_600_000],
    ['2w', 1_209_600_000],
    ['1.5h', 5_400_000],
    ['0.3s', 300],
    ['1.0005s', 1001],
    ['1w2d3h4m5s6ms', 788_645_006],
    ['PT5M', 300_000],
    ['PT1H30M', 5_400_000],
    ['P14D', 1_209_600_000],
    ['P2W', 1_209_600_000],
    ['P1DT12H', 129_600_000],
    ['PT0.25S', 250],
    ['PT0,25S', 250],
    [MAX_DURATION_MS, MAX_DURATION_MS],
  ])('reads %j as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([
    '5 parsecs',
    '',
    ' ',
    'm',
    '5',
    '-5m',
    '5m5m',
    '30m1h',
    '5mm',
    '5m!',
    '1e3s',
    '.5s',
    'P',
    'PT',
    'P1DT',
    'P1Y',
    'P1M',
    'PT1S1M',
    'p1d',
    '∞',
    '9'.repeat(60) + 'd',
    '1s'.repeat(1000),
    Number.NaN,
    -1,
    Infinity,
    MAX_DURATION_MS * 2,
    null,
    undefined,
    {},
    [5],
    5n,
    true,
    Symbol('s'),
  ])('rejects %s, and the error lists what is accepted', (bad) => {
    const attempt = () => parseDuration(bad as never)
    expect(attempt).toThrow(InvalidInputError)
    expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-duration' }))
    expect(attempt).toThrow(/1h30m.*PT5M/)
  })

  it('explains why it rejects years and months', () => {
    expect(() => parseDuration('P1Y2M')).toThrow(/Years and months differ in length/)
  })

  it('gives back the milliseconds that formatDuration wrote', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e14 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms)
      }),
    )
    expect(formatDuration(5_400_000)).toBe('1h30m')
  })

  it('parses or refuses any string', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 5000 }), (text) => {
        try {
          expect(parseDuration(text)).toBeGreaterThanOrEqual(0)
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid-duration' })
        }
      }),
    )
  })
})
