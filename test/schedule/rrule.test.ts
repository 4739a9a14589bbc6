import { InvalidInputError, LimitError } from 'carillon'
import { rrule } from 'carillon/schedule'
import * as fc from 'fast-check'
import { RRule } from 'rrule'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it, vi } from 'vitest'
import { RruleDays } from '../../src/schedule/rrule/rrule-days.js'
import { cpuMs } from './cpu-time.js'

const iso = (at: number) => new Date(at).toISOString().slice(0, 19)

function first(count: number, text: string, start: string, zone = 'UTC'): string[] {
  return rrule(text, { start, zone })
    .preview(count, { from: Date.UTC(1000, 0, 1) })
    .map(({ local }) => local)
}

describe('rrule', () => {
  it.each([
    ['FREQ=DAILY', '2027-01-31T09:00', ['2027-01-31', '2027-02-01', '2027-02-02']],
    ['FREQ=DAILY;INTERVAL=10', '2027-01-31T09:00', ['2027-01-31', '2027-02-10', '2027-02-20']],
    ['FREQ=WEEKLY', '2027-01-04T09:00', ['2027-01-04', '2027-01-11', '2027-01-18']],
    [
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO',
      '2027-01-05T09:00',
      ['2027-01-05', '2027-01-10', '2027-01-19'],
    ],
    [
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU',
      '2027-01-05T09:00',
      ['2027-01-05', '2027-01-17', '2027-01-19'],
    ],
    ['FREQ=MONTHLY', '2027-01-31T09:00', ['2027-01-31', '2027-03-31', '2027-05-31']],
    ['FREQ=MONTHLY;BYMONTHDAY=-1', '2027-01-15T09:00', ['2027-01-31', '2027-02-28', '2027-03-31']],
    ['FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', '2027-01-01T09:00', ['2027-08-13', '2028-10-13', '2029-04-13']],
    [
      'FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3',
      '2027-01-01T09:00',
      ['2027-01-07', '2027-02-04', '2027-03-04'],
    ],
    ['FREQ=YEARLY', '2028-02-29T09:00', ['2028-02-29', '2032-02-29', '2036-02-29']],
    [
      'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8',
      '2024-11-05T09:00',
      ['2024-11-05', '2028-11-07', '2032-11-02'],
    ],
    ['FREQ=YEARLY;BYDAY=20MO', '2027-01-01T09:00', ['2027-05-17', '2028-05-15', '2029-05-14']],
    ['FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO', '2027-01-01T09:00', ['2027-05-17', '2028-05-15', '2029-05-14']],
    ['FREQ=YEARLY;BYWEEKNO=1', '2027-01-04T09:00', ['2027-01-04', '2028-01-03', '2029-01-01']],
    ['FREQ=YEARLY;BYYEARDAY=1,-1', '2027-06-01T09:00', ['2027-12-31', '2028-01-01', '2028-12-31']],
    ['FREQ=YEARLY;BYMONTH=1', '2027-01-17T09:00', ['2027-01-17', '2028-01-17', '2029-01-17']],
  ])('computes the dates of %s from %s on', (text, start, dates) => {
    expect(first(3, text, start)).toEqual(dates.map((date) => `${date}T09:00:00`))
  })

  it.each([
    ['FREQ=HOURLY;INTERVAL=5', ['2027-01-01T09:30:00', '2027-01-01T14:30:00', '2027-01-01T19:30:00']],
    [
      'FREQ=HOURLY;BYMINUTE=0,45;BYSETPOS=-1',
      ['2027-01-01T09:45:00', '2027-01-01T10:45:00', '2027-01-01T11:45:00'],
    ],
    ['FREQ=MINUTELY;INTERVAL=90', ['2027-01-01T09:30:00', '2027-01-01T11:00:00', '2027-01-01T12:30:00']],
    ['FREQ=SECONDLY;INTERVAL=50000', ['2027-01-01T09:30:00', '2027-01-01T23:23:20', '2027-01-02T13:16:40']],
    [
      'FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30;BYSETPOS=2,-1',
      ['2027-01-01T09:30:00', '2027-01-01T17:30:00', '2027-01-02T09:30:00'],
    ],
  ])('computes the local times of %s', (text, locals) => {
    expect(first(3, text, '2027-01-01T09:30')).toEqual(locals)
  })

  it('ends after COUNT occurrences, and at UNTIL, inclusive', () => {
    expect(first(9, 'FREQ=DAILY;COUNT=3', '2027-01-01T09:00')).toHaveLength(3)
    expect(first(9, 'FREQ=DAILY;UNTIL=20270103T090000Z', '2027-01-01T09:00')).toHaveLength(3)
    expect(first(9, 'FREQ=DAILY;UNTIL=20270103T085959Z', '2027-01-01T09:00')).toHaveLength(2)
    expect(first(9, 'FREQ=DAILY;UNTIL=20270103', '2027-01-01T09:00')).toHaveLength(3)
    expect(first(9, 'FREQ=DAILY;UNTIL=20270103T090000', '2027-01-01T09:00', 'Asia/Tokyo')).toHaveLength(3)
    expect(
      first(9, 'FREQ=DAILY;UNTIL=20270103T090000Z', '2027-01-01T09:00', 'America/New_York'),
    ).toHaveLength(2)
  })

  it('counts COUNT from the start, whatever the argument of next', () => {
    const schedule = rrule('FREQ=DAILY;COUNT=10', { start: '2027-01-01T09:00' })
    expect(schedule.next(Date.UTC(2027, 0, 10))).toBe(Date.UTC(2027, 0, 10, 9))
    expect(schedule.next(Date.UTC(2027, 0, 10, 9))).toBeUndefined()
    expect(schedule.next(0)).toBe(Date.UTC(2027, 0, 1, 9))
  })

  it('reads the lines of a calendar file', () => {
    const lines = 'DTSTART;TZID=America/New_York:20270313T023000\r\nRRULE:FREQ=DAILY;COUNT=2\r\n'
    expect(rrule(lines).toJSON()).toMatchObject({
      type: 'rrule',
      rule: 'FREQ=DAILY;COUNT=2',
      start: '2027-03-13T02:30:00',
      zone: 'America/New_York',
    })
    expect(
      rrule(lines, { gap: 'shift' })
        .preview(2, { from: 0 })
        .map(({ local }) => local),
    ).toEqual(['2027-03-13T02:30:00', '2027-03-14T03:30:00'])
    expect(rrule('DTSTART:20270101T000000Z\nFREQ=DAILY').zone).toBe('UTC')
    expect(rrule('DTSTART;VALUE=DATE:20270101\nFREQ=DAILY').next(0)).toBe(Date.UTC(2027, 0, 1))
  })

  it('fires at a start that a clock change skips', () => {
    const options = { start: '2027-03-14T02:30', zone: 'America/New_York' }
    expect(rrule('FREQ=DAILY;COUNT=1', options).next(0)).toBe(Date.parse('2027-03-14T07:00Z'))
    expect(rrule('FREQ=DAILY;COUNT=1', { ...options, gap: 'shift' }).next(0)).toBe(
      Date.parse('2027-03-14T07:30Z'),
    )
    expect(rrule('FREQ=DAILY;COUNT=1', { ...options, gap: 'skip' }).next(0)).toBe(
      Date.parse('2027-03-15T06:30Z'),
    )
  })

  it('keeps its rhythm when clocks go back right after its start', () => {
    const schedule = rrule('FREQ=MINUTELY;INTERVAL=10', {
      start: '2027-11-07T01:30',
      zone: 'America/New_York',
    })
    const found = schedule.preview(12, { from: 0 }).map(({ at }) => at)
    expect(found.map((at) => at - found[0]!)).toEqual(found.map((_, i) => i * 600_000))
  })

  it.each([
    '',
    'FREQ=FORTNIGHTLY',
    'INTERVAL=2',
    'FREQ=DAILY;INTERVAL=0',
    'FREQ=DAILY;INTERVAL=-1',
    'FREQ=DAILY;INTERVAL=1e3',
    'FREQ=DAILY;COUNT=0',
    'FREQ=DAILY;COUNT=3;UNTIL=20270101',
    'FREQ=DAILY;FREQ=DAILY',
    'FREQ=DAILY;BYMONTH=13',
    'FREQ=DAILY;BYMONTH=',
    'FREQ=DAILY;BYMONTHDAY=0',
    'FREQ=DAILY;BYDAY=2MO',
    'FREQ=WEEKLY;BYMONTHDAY=1',
    'FREQ=MONTHLY;BYYEARDAY=1',
    'FREQ=MONTHLY;BYWEEKNO=1',
    'FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO',
    'FREQ=DAILY;BYSETPOS=1',
    'FREQ=DAILY;BYEASTER=0',
    'FREQ=DAILY;UNTIL=20270230',
    'FREQ=DAILY\nFREQ=DAILY',
    'freq=daily',
  ])('refuses the rule %j', (text) => {
    const attempt = () => rrule(text, { start: '2027-01-01T09:00' })
    expect(attempt).toThrow(InvalidInputError)
    expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-rrule' }))
  })

  it('requires exactly one start and at most one zone', () => {
    expect(() => rrule('FREQ=DAILY')).toThrow(/start exactly once/)
    expect(() => rrule('DTSTART:20270101T090000\nFREQ=DAILY', { start: '2027-01-01T09:00' })).toThrow(/once/)
    expect(() => rrule('FREQ=DAILY', { start: '2027-01-01T09:00Z' })).toThrow(/local time/)
    expect(() => rrule('DTSTART:20270101T090000Z\nFREQ=DAILY', { zone: 'Asia/Tokyo' })).toThrow(
      /give only one/,
    )
  })

  it('refuses a rule that is too long and a COUNT that is too high', () => {
    const long = `FREQ=DAILY;BYSECOND=${'1,'.repeat(600)}1`
    expect(() => rrule(long, { start: '2027-01-01' })).toThrow(LimitError)
    expect(() => rrule('FREQ=DAILY;COUNT=5001', { start: '2027-01-01' })).toThrow(/1 to 5000/)
  })

  it.each([
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=HOURLY;INTERVAL=2;BYHOUR=1',
    'FREQ=SECONDLY;INTERVAL=2;BYSECOND=1',
    'FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31;BYMONTH=4',
    'FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=3;BYSETPOS=3',
    'FREQ=WEEKLY;BYDAY=MO;BYSETPOS=200',
    'FREQ=SECONDLY;INTERVAL=86399;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3;BYMINUTE=0;BYSECOND=0',
  ])('refuses %s, which never or hardly ever matches, within 100 ms', (text) => {
    const attempt = () => rrule(text, { start: '2027-01-01T00:00' })
    expect(
      cpuMs(() => expect(attempt).toThrow(expect.objectContaining({ code: 'never-matches' }))),
    ).toBeLessThan(100)
  })

  it.each([
    ['FREQ=YEARLY;INTERVAL=71066;BYWEEKNO=-49,-40,36,47;BYMONTHDAY=13,21;BYSETPOS=3', '2026-03-08'],
    ['FREQ=MONTHLY;INTERVAL=83769;BYMONTH=10;BYMONTHDAY=18;BYHOUR=0,1,2,3;BYSETPOS=-2', '1799-12-31'],
  ])('refuses %s, which does not match before the year 10000', (text, start) => {
    expect(() => rrule(text, { start })).toThrow(expect.objectContaining({ code: 'never-matches' }))
  })

  it.each(['FREQ=DAILY;INTERVAL=7;BYDAY=SU', 'FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=30'])(
    'looks at no more than 5,000 months before it refuses %s from the year 1',
    (text) => {
      const mask = vi.spyOn(RruleDays.prototype, 'mask')
      const start = '0001-02-05T00:00'
      expect(() => rrule(text, { start })).toThrow(expect.objectContaining({ code: 'never-matches' }))
      expect(mask.mock.calls.length).toBeLessThan(5000)
      mask.mockRestore()
    },
  )

  it('reads a line that is folded thousands of times', () => {
    const folded = Array.from('FREQ=DAILY;BYHOUR=9', (character) => `${'\n '.repeat(400)}${character}`).join(
      '',
    )
    const text = `DTSTART:20270101T090000\nRRULE:${folded}\n\tEXDATE:20270102T090000`
    expect(rrule(text).next(Date.UTC(2027, 0, 1, 9))).toBe(Date.UTC(2027, 0, 3, 9))
  })

  it('agrees with Temporal on week numbers', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.integer({ min: -53, max: 53 }).filter((week) => week !== 0),
          { minLength: 1, maxLength: 3 },
        ),
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1900, max: 2100 }),
        (weeks, weekday, year) => {
          const code = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'][weekday - 1]
          const expected: string[] = []
          let day = Temporal.PlainDate.from({ year, month: 1, day: 1 })
          for (; day.year < year + 6; day = day.add({ days: 1 })) {
            // December 28 is always in the last week of its year.
            const last = Temporal.PlainDate.from({ year: day.yearOfWeek!, month: 12, day: 28 }).weekOfYear!
            const matches = weeks.includes(day.weekOfYear!) || weeks.includes(day.weekOfYear! - last - 1)
            if (day.dayOfWeek === weekday && matches) expected.push(`${day.toString()}T09:00:00`)
          }
          const text = `FREQ=YEARLY;BYWEEKNO=${weeks.join(',')};BYDAY=${code}`
          expect(first(expected.length + 1, text, `${year}-01-01T09:00`).slice(0, expected.length)).toEqual(
            expected,
          )
        },
      ),
      { numRuns: 40 },
    )
  })

  it('agrees with the rrule package where that supports the rule', () => {
    fc.assert(
      fc.property(anyRule, ({ text, start, days }) => {
        const until = new Date(start.getTime() + days * 86_400_000)
        const peer = new RRule({ ...RRule.parseString(text), dtstart: start, until })
        const expected = peer.all((_, i) => i < 25).slice(0, 25)
        const last = iso(until.getTime())
        const found = orNever(() => first(25, text, iso(start.getTime()))).filter((local) => local <= last)
        expect({ text, found }).toEqual({ text, found: expected.map((date) => iso(date.getTime())) })
      }),
      { numRuns: 1500 },
    )
  })
})

/** A rule that never matches throws. Here it counts as a rule without occurrences. */
function orNever(occurrences: () => string[]): string[] {
  try {
    return occurrences()
  } catch (error) {
    if (error instanceof InvalidInputError && error.code === 'never-matches') return []
    throw error
  }
}

const list = (min: number, max: number, length = 3) =>
  fc
    .array(
      fc.integer({ min, max }).filter((value) => value !== 0 || min === 0),
      { minLength: 1, maxLength: length },
    )
    .map((values) => [...new Set(values)].join(','))
const weekday = fc.constantFrom('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU')
const weekdays = fc.uniqueArray(weekday, { minLength: 1, maxLength: 4 }).map((days) => days.join(','))
const numbered = (most: number) =>
  fc
    .tuple(
      fc.integer({ min: -most, max: most }).filter((nth) => nth !== 0),
      weekday,
    )
    .map(([nth, day]) => `${nth}${day}`)
const sometimes = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 })

/** The parts that RFC 5545 allows for each frequency, and how many days to compare. */
const parts: Readonly<
  Record<string, { days: number; by: Record<string, fc.Arbitrary<string | undefined>> }>
> = {
  YEARLY: {
    days: 6000,
    by: {
      BYMONTH: sometimes(list(1, 12)),
      BYMONTHDAY: sometimes(list(-31, 31)),
      BYYEARDAY: sometimes(list(-366, 366, 20)),
      BYDAY: sometimes(fc.oneof(weekdays, numbered(5))),
      BYHOUR: sometimes(list(0, 23)),
      BYSETPOS: sometimes(list(-5, 5)),
    },
  },
  MONTHLY: {
    days: 2500,
    by: {
      BYMONTH: sometimes(list(1, 12)),
      BYMONTHDAY: sometimes(list(-31, 31)),
      BYDAY: sometimes(fc.oneof(weekdays, numbered(5))),
      BYMINUTE: sometimes(list(0, 59)),
      BYSETPOS: sometimes(list(-5, 5)),
    },
  },
  WEEKLY: {
    days: 1500,
    by: {
      BYMONTH: sometimes(list(1, 12)),
      BYDAY: sometimes(weekdays),
      BYHOUR: sometimes(list(0, 23)),
      BYSETPOS: sometimes(list(-5, 5)),
      WKST: sometimes(weekday),
    },
  },
  DAILY: {
    days: 1500,
    by: {
      BYMONTH: sometimes(list(1, 12)),
      BYMONTHDAY: sometimes(list(-31, 31)),
      BYDAY: sometimes(weekdays),
      BYHOUR: sometimes(list(0, 23)),
      BYMINUTE: sometimes(list(0, 59)),
      BYSETPOS: sometimes(list(-5, 5)),
    },
  },
  HOURLY: {
    days: 100,
    by: {
      BYMONTHDAY: sometimes(list(-31, 31)),
      BYDAY: sometimes(weekdays),
      BYMINUTE: sometimes(list(0, 59)),
      BYSECOND: sometimes(list(0, 59)),
    },
  },
  MINUTELY: { days: 10, by: { BYDAY: sometimes(weekdays), BYSECOND: sometimes(list(0, 59)) } },
  SECONDLY: { days: 0.2, by: { BYDAY: sometimes(weekdays) } },
}

const anyRule = fc
  .constantFrom(...Object.keys(parts))
  .chain((freq) =>
    fc.record({
      freq: fc.constant(freq),
      interval: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 14 })),
      by: fc.record(parts[freq]!.by),
      minute: fc.integer({ min: Date.UTC(1990, 0, 1) / 60_000, max: Date.UTC(2030, 0, 1) / 60_000 }),
    }),
  )
  .map(({ freq, interval, by, minute }) => {
    const given = Object.entries(by).filter(([, value]) => value !== undefined)
    // BYSETPOS needs another BY part to pick from.
    const usable = given.some(([name]) => name !== 'BYSETPOS' && name !== 'WKST')
      ? given
      : given.filter(([name]) => name !== 'BYSETPOS')
    const rest = usable.map(([name, value]) => `;${name}=${value}`).join('')
    return {
      text: `FREQ=${freq};INTERVAL=${interval}${rest}`,
      start: new Date(minute * 60_000),
      days: parts[freq]!.days,
    }
  })
