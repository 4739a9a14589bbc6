import { InvalidInputError, LimitError } from 'carillon'
import { cron } from 'carillon/schedule'
import { Cron } from 'croner'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cpuMs } from './cpu-time.js'

const FROM = Date.UTC(2027, 0, 1)

function first(count: number, expression: string, from = FROM): string[] {
  return cron(expression)
    .preview(count, { from })
    .map(({ local }) => local)
}

describe('cron', () => {
  it.each([
    ['0 9 * * *', ['2027-01-01T09:00:00', '2027-01-02T09:00:00']],
    ['*/15 * * * *', ['2027-01-01T00:00:00', '2027-01-01T00:15:00']],
    ['5/20 3 * * *', ['2027-01-01T03:05:00', '2027-01-01T03:25:00', '2027-01-01T03:45:00']],
    ['30 15 10 * * *', ['2027-01-01T10:15:30', '2027-01-02T10:15:30']],
    [
      '*/20 59 23 31 12 *',
      ['2027-12-31T23:59:00', '2027-12-31T23:59:20', '2027-12-31T23:59:40', '2028-12-31T23:59:00'],
    ],
    ['0 0 1 jan,JUL *', ['2027-01-01T00:00:00', '2027-07-01T00:00:00']],
    ['0 0 * * sun', ['2027-01-03T00:00:00', '2027-01-10T00:00:00']],
    ['0 0 * * 0', ['2027-01-03T00:00:00']],
    ['0 0 * * 7', ['2027-01-03T00:00:00']],
    [
      '0 0 * * FRI-SUN',
      ['2027-01-01T00:00:00', '2027-01-02T00:00:00', '2027-01-03T00:00:00', '2027-01-08T00:00:00'],
    ],
    [
      '0 0 * * 5-7',
      ['2027-01-01T00:00:00', '2027-01-02T00:00:00', '2027-01-03T00:00:00', '2027-01-08T00:00:00'],
    ],
    ['0 0 ? * MON', ['2027-01-04T00:00:00']],
    [
      '0 0 13 * FRI',
      ['2027-01-01T00:00:00', '2027-01-08T00:00:00', '2027-01-13T00:00:00', '2027-01-15T00:00:00'],
    ],
    ['0 0 */10 * MON', ['2027-01-11T00:00:00', '2027-02-01T00:00:00', '2027-03-01T00:00:00']],
    ['0 0 29 2 *', ['2028-02-29T00:00:00', '2032-02-29T00:00:00']],
    ['0 0 31 * *', ['2027-01-31T00:00:00', '2027-03-31T00:00:00', '2027-05-31T00:00:00']],
    ['0 0 L * *', ['2027-01-31T00:00:00', '2027-02-28T00:00:00', '2027-03-31T00:00:00']],
    ['0 0 L-1 2 *', ['2027-02-27T00:00:00', '2028-02-28T00:00:00']],
    [
      '0 0 15W * *',
      [
        '2027-01-15T00:00:00',
        '2027-02-15T00:00:00',
        '2027-03-15T00:00:00',
        '2027-04-15T00:00:00',
        '2027-05-14T00:00:00',
        '2027-06-15T00:00:00',
      ],
    ],
    ['0 0 1W 5,8 *', ['2027-05-03T00:00:00', '2027-08-02T00:00:00']],
    ['0 0 31W 1,2,10 *', ['2027-01-29T00:00:00', '2027-10-29T00:00:00']],
    ['0 0 LW * *', ['2027-01-29T00:00:00', '2027-02-26T00:00:00', '2027-03-31T00:00:00']],
    ['0 0 * * 5#3', ['2027-01-15T00:00:00', '2027-02-19T00:00:00']],
    ['0 0 * * MON#5', ['2027-03-29T00:00:00', '2027-05-31T00:00:00']],
    ['0 0 * * 1L', ['2027-01-25T00:00:00', '2027-02-22T00:00:00']],
    ['0 0 1,L * *', ['2027-01-01T00:00:00', '2027-01-31T00:00:00', '2027-02-01T00:00:00']],
    ['@daily', ['2027-01-01T00:00:00', '2027-01-02T00:00:00']],
    ['@Weekly', ['2027-01-03T00:00:00']],
    ['  0   9\t* * *  ', ['2027-01-01T09:00:00']],
  ])('computes the occurrences of %s', (expression, expected) => {
    expect(first(expected.length, expression)).toEqual(expected)
  })

  it('returns only occurrences strictly later than the argument', () => {
    const schedule = cron('0 9 * * *')
    const nine = Date.UTC(2027, 0, 1, 9)
    expect(schedule.next(nine - 1)).toBe(nine)
    expect(schedule.next(nine - 0.5)).toBe(nine)
    expect(schedule.next(nine)).toBe(nine + 86_400_000)
    expect(schedule.next(nine + 0.5)).toBe(nine + 86_400_000)
  })

  it('works for every year from 1 to 9999', () => {
    expect(cron('0 0 1 1 *').next(-8.64e15)).toBe(Date.parse('0001-01-01T00:00Z'))
    expect(cron('0 0 29 2 *').next(Date.UTC(1896, 2, 1))).toBe(Date.UTC(1904, 1, 29))
    expect(cron('0 0 1 1 *', { zone: 'Europe/Paris' }).next(Date.UTC(8888, 5))).toBe(
      Date.UTC(8888, 11, 31, 23),
    )
    expect(cron('59 59 23 31 12 *').next(Date.UTC(9999, 11))).toBe(Date.parse('9999-12-31T23:59:59Z'))
    expect(cron('* * * * *').next(Date.parse('9999-12-31T23:59:30Z'))).toBeUndefined()
    expect(cron('* * * * *').next(8.64e15)).toBeUndefined()
  })

  it.each([
    ['', /0 fields/],
    ['* * * *', /4 fields/],
    ['* * * * * * 2027', /no year field/],
    ['@reboot', /@hourly/],
    ['*/0 * * * *', /at least 1/],
    ['0/0 * * * *', /at least 1/],
    ['*/90 * * * *', /use every\(\)/],
    ['60 * * * *', /minute field: values run from 0 to 59/],
    ['0 24 * * *', /hour field: values run from 0 to 23/],
    ['0 0 0 * *', /day of month field: values run from 1 to 31/],
    ['0 0 32 * *', /1 to 31/],
    ['0 0 * 13 *', /1 to 12/],
    ['0 0 * 0 *', /1 to 12/],
    ['0 0 * * 8', /0 to 7/],
    ['0 0 * * MON#6', /weekday field/],
    ['0 0 * * L', /weekday field/],
    ['0 0 L-31 * *', /L-30/],
    ['0 0 32W * *', /1 to 31/],
    ['0 0 1-5W * *', /day of month field/],
    ['0 22-2 * * *', /22-23,0-2/],
    ['0 0 * * FRI-MON', /backwards/],
    ['a * * * *', /minute field/],
    ['0 0 * FOO *', /month field/],
    ['0 0 * JANUARY *', /month field/],
    ['1,,2 * * * *', /minute field/],
    ['1- * * * *', /minute field/],
    ['-1 * * * *', /minute field/],
    ['1.5 * * * *', /minute field/],
    ['? * * * *', /minute field/],
    ['*/* * * * *', /minute field/],
    ['* * * * *; rm', /month field/],
    [42, /must be a string, got 42/],
    [null, /must be a string, got null/],
  ])('refuses %j with the reason', (expression, why) => {
    const attempt = () => cron(expression as string)
    expect(attempt).toThrow(InvalidInputError)
    expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-cron' }))
    expect(attempt).toThrow(why)
  })

  it.each([
    '0 0 30 2 *',
    '0 0 31 4,6,9,11 *',
    '0 0 31 2 *',
    '0 0 L-30 2 *',
    '0 0 31W 2,4 *',
    '0 0 */19 * SUN#2',
  ])('refuses %s, which never matches', (expression) => {
    expect(() => cron(expression)).toThrow(expect.objectContaining({ code: 'never-matches' }))
  })

  it('accepts 256 characters and refuses 257', () => {
    const base = '0 0 * * *'
    expect(cron(base.padEnd(256)).next(0)).toBe(86_400_000)
    expect(() => cron(base.padEnd(257))).toThrow(LimitError)
    expect(() => cron('1,'.repeat(1e6))).toThrow(expect.objectContaining({ code: 'expression-too-long' }))
  })

  it('throws or returns within 100 ms for any string', () => {
    const piece = fc.constantFrom(
      '*',
      '/',
      '-',
      ',',
      '#',
      'L',
      'W',
      '?',
      ' ',
      '0',
      '1',
      '9',
      '59',
      '31',
      '2',
      'MON',
      'FEB',
    )
    const noise = fc.array(piece, { maxLength: 80 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(fc.oneof(noise, fc.string({ maxLength: 300 })), (text) => {
        let code: unknown = 'none'
        const spent = cpuMs(() => {
          code = codeOf(() => cron(text, { zone: 'America/New_York' }).next(0))
        })
        expect(['none', 'invalid-cron', 'never-matches', 'expression-too-long']).toContain(code)
        expect(spent).toBeLessThan(100)
      }),
      { numRuns: 3000 },
    )
  })

  it('continues on day 1 if the month lacks the last day of a stepped star', () => {
    const after = Date.parse('2038-02-26T00:00:00Z')
    expect(cron('0 0 */5 * *').next(after)).toBe(Date.parse('2038-03-01T00:00:00Z'))
  })

  it('agrees with croner in UTC', () => {
    const value = (min: number, max: number, star = '*') =>
      fc.oneof(
        fc.constant('*'),
        fc.integer({ min, max }).map(String),
        fc
          .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
          .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
        fc.integer({ min: 2, max: Math.floor((max - min) / 2) }).map((step) => `${star}/${step}`),
        fc
          .uniqueArray(fc.integer({ min, max }), { minLength: 2, maxLength: 4 })
          .map((values) => values.join(',')),
      )
    // If a month lacks the last day of `*/5`, croner also skips the first of the next month. So steps end at
    // day 28.
    const day = fc.oneof(value(1, 28, '1-28'), fc.constantFrom('L', '31', '29,30', '1,L'))
    const weekday = fc.oneof(fc.constant('*'), fc.constantFrom('MON-FRI', '0', '7', '1#1', 'SUN#2', '2,4'))
    const expression = fc.oneof(
      // If both date fields are given, croner treats a stepped star as restricted. So only one of them is
      // given.
      fc.tuple(value(0, 59), value(0, 59), value(0, 23), day, value(1, 12), fc.constant('*')),
      fc.tuple(value(0, 59), value(0, 59), value(0, 23), fc.constant('*'), value(1, 12), weekday),
    )
    fc.assert(
      fc.property(
        expression,
        fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2050, 0, 1) }),
        (fields, after) => {
          const text = fields.join(' ')
          const peer = new Cron(text, { timezone: 'UTC', paused: true })
          const found: unknown[] = []
          const expected: unknown[] = []
          if (codeOf(() => cron(text)) === 'never-matches') {
            expected.push(peer.nextRun(new Date(after)) ?? undefined)
            found.push(undefined)
          } else {
            const own = cron(text)
            for (let at = after; found.length < 3; at = own.next(at)!) {
              found.push(own.next(at))
              expected.push(peer.nextRun(new Date(at))?.getTime())
            }
          }
          expect({ text, found }).toEqual({ text, found: expected })
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('The hour field of a cron decides what happens when clocks change', () => {
  const newYork = 'America/New_York'
  const springForward = Date.parse('2027-03-14T05:00Z')
  const fallBack = Date.parse('2027-11-07T04:00Z')

  function instants(expression: string, from: number, hours: number): string[] {
    const schedule = cron(expression, { zone: newYork })
    return schedule
      .preview(200, { from })
      .map(({ at }) => at)
      .filter((at) => at < from + hours * 3_600_000)
      .map((at) => new Date(at).toISOString().slice(11, 16))
  }

  it.each(['*/30 * * * *', '0,30 * * * *', '*/30 0-23 * * *', '*/30 */1 * * *', '*/30 0/1 * * *'])(
    '%s keeps its half-hour rhythm when clocks change',
    (expression) => {
      for (const from of [springForward, fallBack]) {
        const schedule = cron(expression, { zone: newYork })
        const found = schedule.preview(10, { from }).map(({ at }) => at)
        expect(found).toEqual(found.map((_, i) => from + i * 1_800_000))
      }
    },
  )

  it('a listed hour follows the gap and overlap rules, a range follows elapsed time', () => {
    expect(instants('30 2 * * *', springForward, 6)).toEqual(['07:00'])
    expect(instants('30 2-2 * * *', springForward, 6)).toEqual([])
    expect(instants('30 1,2,3 * * *', springForward, 6)).toEqual(['06:30', '07:00', '07:30'])
    expect(instants('30 1-3 * * *', springForward, 6)).toEqual(['06:30', '07:30'])
    expect(instants('30 1 * * *', fallBack, 6)).toEqual(['05:30'])
    expect(instants('30 1-1 * * *', fallBack, 6)).toEqual(['05:30', '06:30'])
    expect(instants('30 0,1,2 * * *', fallBack, 6)).toEqual(['04:30', '05:30', '07:30'])
  })
})

function codeOf(attempt: () => void): unknown {
  try {
    attempt()
    return 'none'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}
