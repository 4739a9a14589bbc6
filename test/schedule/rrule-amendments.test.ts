import { InvalidInputError, LimitError } from 'carillon'
import { parseSchedule, rrule } from 'carillon/schedule'
import * as fc from 'fast-check'
import { RRule, RRuleSet } from 'rrule'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'

const DAY_MS = 86_400_000
const zone = 'America/New_York'
const start = '2027-03-12T02:30'
const from = Date.UTC(1990, 0, 1)
const locals = (schedule: ReturnType<typeof rrule>, count = 20) =>
  schedule.preview(count, { from }).map(({ local }) => local.slice(5, 16))

describe('rrule with exceptions and additions', () => {
  it('leaves out a local time, a whole day or an instant', () => {
    const twice = 'FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0;UNTIL=20270103'
    const options = { start: '2027-01-01T09:00', zone }
    expect(locals(rrule(twice, { ...options, except: '2027-01-02T17:00' }))).toEqual([
      '01-01T09:00',
      '01-01T17:00',
      '01-02T09:00',
      '01-03T09:00',
      '01-03T17:00',
    ])
    expect(locals(rrule(twice, { ...options, except: '2027-01-02' }))).toHaveLength(4)
    expect(locals(rrule(twice, { ...options, except: '2027-01-02T14:00Z' }))).not.toContain('01-02T09:00')
    expect(locals(rrule(twice, { ...options, except: Date.parse('2027-01-02T14:00Z') }))).toHaveLength(5)
    expect(locals(rrule(twice, { ...options, except: ['2027-01-02T09:01', '2028-01-01'] }))).toHaveLength(6)
  })

  it('adds local times, instants and dates, and fires once where they coincide', () => {
    const schedule = rrule('FREQ=DAILY;COUNT=2', {
      start: '2027-01-01T09:00',
      zone,
      also: ['2027-01-05', '2027-01-04T10:00', '2027-01-03T12:00Z', '2027-01-02T09:00', '2026-12-01'],
    })
    expect(locals(schedule)).toEqual([
      '12-01T09:00',
      '01-01T09:00',
      '01-02T09:00',
      '01-03T07:00',
      '01-04T10:00',
      '01-05T09:00',
    ])
  })

  it('applies exceptions to additions, too', () => {
    const options = { start: '2027-01-01T09:00', also: ['2027-01-05T09:00', '2027-01-06T09:00Z'] }
    expect(locals(rrule('FREQ=DAILY;COUNT=1', { ...options, except: '2027-01-05T09:00' }))).toEqual([
      '01-01T09:00',
      '01-06T09:00',
    ])
    expect(
      locals(rrule('FREQ=DAILY;COUNT=1', { ...options, except: ['2027-01-05T09:00Z', '2027-01-06'] })),
    ).toEqual(['01-01T09:00'])
  })

  it('COUNT includes exceptions and not additions, times counts actual occurrences', () => {
    const options = { start: '2027-01-01T09:00', except: ['2027-01-02', '2027-01-03T09:00Z'] }
    expect(locals(rrule('FREQ=DAILY;COUNT=4', options))).toEqual(['01-01T09:00', '01-04T09:00'])
    expect(locals(rrule('FREQ=DAILY;COUNT=4', { ...options, also: '2027-02-01' }))).toHaveLength(3)
    expect(locals(rrule('FREQ=DAILY', { ...options, times: 4 }))).toEqual([
      '01-01T09:00',
      '01-04T09:00',
      '01-05T09:00',
      '01-06T09:00',
    ])
    expect(() => rrule('FREQ=DAILY', { ...options, also: '2027-02-01', times: 3 })).toThrow(/COUNT/)
    expect(rrule('FREQ=DAILY;COUNT=1', { start: '2027-01-02', except: '2027-01-02' }).next(0)).toBeUndefined()
  })

  it('follows the gap and overlap rules of the schedule', () => {
    const missing = { start, zone, except: '2027-03-14T02:30' }
    expect(locals(rrule('FREQ=DAILY;COUNT=4', missing))).toEqual([
      '03-12T02:30',
      '03-13T02:30',
      '03-15T02:30',
    ])
    // 02:30 is left out, but 02:45 moves to the same instant.
    const both = rrule('FREQ=DAILY;BYMINUTE=30,45;COUNT=6', missing)
    expect(locals(both)).toContain('03-14T03:00')
    expect(locals(rrule('FREQ=DAILY;COUNT=1', { start, zone, gap: 'shift', also: '2027-03-14' }))).toEqual([
      '03-12T02:30',
      '03-14T03:30',
    ])
    expect(
      rrule('FREQ=DAILY;COUNT=1', { start, zone, overlap: 'both', also: '2027-11-07T01:30' }).preview(9, {
        from,
      }),
    ).toHaveLength(3)
    expect(
      rrule('FREQ=DAILY;COUNT=3', {
        start: '2027-11-06T01:30',
        zone,
        overlap: 'both',
        except: '2027-11-07T05:30Z',
      })
        .preview(9, { from })
        .map(({ local, offset }) => local.slice(8, 10) + offset),
    ).toEqual(['06-04:00', '07-05:00'])
  })

  it('reads the lines of a calendar file, folded or not', () => {
    const lines = [
      `DTSTART;TZID=${zone}:20270101T090000`,
      'RRULE:FREQ=DAILY;COUNT=9',
      `EXDATE;TZID=${zone}:20270102T090000,2027010`,
      ' 3T090000',
      'EXDATE:20270104T140000Z',
      'EXDATE;VALUE=DATE:20270105',
      'EXDATE;TZID=Europe/Paris:20270106T150000',
      'RDATE;VALUE=DATE:20270201',
      `RDATE;VALUE=DATE-TIME;TZID=${zone}:20270202T100000`,
      'RDATE:20270203T140000Z',
    ]
    const schedule = rrule(lines.join('\r\n'))
    expect(locals(schedule)).toEqual([
      '01-01T09:00',
      '01-07T09:00',
      '01-08T09:00',
      '01-09T09:00',
      '02-01T09:00',
      '02-02T10:00',
      '02-03T09:00',
    ])
    expect(schedule.toJSON()).toMatchObject({
      except: [
        '2027-01-05',
        '2027-01-02T09:00:00',
        '2027-01-03T09:00:00',
        '2027-01-04T14:00:00Z',
        '2027-01-06T14:00:00Z',
      ],
      also: ['2027-02-01T09:00:00', '2027-02-02T10:00:00', '2027-02-03T14:00:00Z'],
    })
    expect(JSON.stringify(parseSchedule(JSON.stringify(schedule)))).toBe(JSON.stringify(schedule))
    expect(schedule.describe()).toBe(
      'every day 9 times from 2027-01-01T09:00 on, except 2027-01-05, 2027-01-02T09:00, 2027-01-03T09:00 and 2 more, ' +
        'also 2027-02-01T09:00, 2027-02-02T10:00 and 2027-02-03T14:00Z in America/New_York',
    )
    const dates = 'DTSTART;VALUE=DATE:20270101\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20270102'
    expect(locals(rrule(dates))).toEqual(['01-01T00:00', '01-03T00:00'])
    expect(locals(rrule(`  ${lines.join('\n   ').replace(',2027010\n    3T090000', '')}\n`))).toHaveLength(8)
  })

  it('reads a line in the zone of the rule as local times, even if an option gives that zone', () => {
    // Read as an instant, the missing time would be 03:30, but the rule fires at 03:00.
    const text = 'FREQ=DAILY;COUNT=4\nEXDATE;TZID=america/new_york:20270314T023000'
    expect(locals(rrule(text, { start, zone }))).toEqual(['03-12T02:30', '03-13T02:30', '03-15T02:30'])
    expect(rrule(text, { start, zone }).toJSON()).toMatchObject({ except: ['2027-03-14T02:30:00'] })
  })

  it('shows exceptions and additions in a preview', () => {
    const schedule = rrule('FREQ=DAILY;COUNT=5', {
      start: '2027-01-01T09:00',
      except: ['2027-01-02', '2027-01-03T09:00', '2027-01-04T09:00Z'],
      also: '2027-02-01',
    })
    expect(schedule.preview(9, { from }).map(({ reasons }) => reasons)).toEqual([
      [],
      [
        '2027-01-04T09:00:00.000Z is left out',
        '2027-01-02T09:00:00 is left out',
        '2027-01-03T09:00:00 is left out',
      ],
      ['added to the rule'],
    ])
  })

  it.each([
    'FREQ=DAILY\nEXDATE:',
    'FREQ=DAILY\nEXDATE:2027',
    'FREQ=DAILY\nEXDATE:20270230T090000',
    'FREQ=DAILY\nEXDATE;VALUE=DATE:20270101T090000',
    'FREQ=DAILY\nEXDATE;TZID=UTC;TZID=UTC:20270101T090000',
    'FREQ=DAILY\nRDATE;VALUE=PERIOD:20270101T090000Z/PT1H',
    'FREQ=DAILY\nRDATE;X-THING=1:20270101T090000Z',
    'FREQ=DAILY\nEXRULE:FREQ=DAILY',
    'FREQ=DAILY\nDTSTART:20270101\nDTSTART:20270101',
    'EXDATE:20270101T090000',
  ])('refuses the lines %j', (text) => {
    const attempt = () => rrule(text, { start: '2027-01-01T09:00' })
    expect(attempt).toThrow(InvalidInputError)
    expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-rrule' }))
  })

  it.each([
    ['2027-02-30'],
    ['tomorrow'],
    [Number.NaN],
    [{}],
    [null],
    ['2027-01-01T25:00'],
    ['x'.repeat(1000)],
  ])('refuses %j as an exception or addition', (entry) => {
    for (const name of ['except', 'also']) {
      const attempt = () => rrule('FREQ=DAILY', { start: '2027-01-01', [name]: [entry] })
      expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-instant' }))
    }
  })

  it('accepts 256 exceptions and additions and refuses 257', () => {
    const days = (count: number) =>
      Array.from({ length: count }, (_, i) =>
        new Date(Date.UTC(2027, 0, 1) + i * DAY_MS).toISOString().slice(0, 10),
      )
    const schedule = rrule('FREQ=SECONDLY', { start: '2027-01-01', except: days(256), also: days(256) })
    expect(schedule.next(0)).toBe(Date.UTC(2027, 0, 257))
    expect(parseSchedule(JSON.stringify(schedule)).next(0)).toBe(Date.UTC(2027, 0, 257))
    expect(() => rrule('FREQ=DAILY', { start: '2027-01-01', except: days(257) })).toThrow(LimitError)
    expect(() => rrule('FREQ=DAILY', { start: '2027-01-01', also: days(257) })).toThrow(LimitError)
    expect(() => rrule(`FREQ=DAILY\n${'EXDATE:20270101\n'.repeat(2000)}`, { start: '2027-01-01' })).toThrow(
      LimitError,
    )
  })

  it('agrees with the rrule package', () => {
    const anyText = fc.constantFrom(
      'FREQ=DAILY;INTERVAL=2',
      'FREQ=DAILY;COUNT=15',
      'FREQ=WEEKLY;BYDAY=MO,WE;COUNT=20',
      'FREQ=MONTHLY;BYMONTHDAY=1,15,-1',
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=12',
      'FREQ=DAILY;BYHOUR=9,17;UNTIL=20270201T000000Z',
      'FREQ=HOURLY;INTERVAL=30;COUNT=40',
    )
    const anyHour = fc.integer({ min: 0, max: 24 * 60 })
    fc.assert(
      fc.property(
        anyText,
        fc.array(fc.nat({ max: 25 }), { maxLength: 8 }),
        fc.array(anyHour, { maxLength: 8 }),
        fc.array(anyHour, { maxLength: 8 }),
        (text, places, strangers, added) => {
          const dtstart = new Date(Date.UTC(2027, 0, 1, 9))
          const peer = new RRuleSet()
          const rule = new RRule({ ...RRule.parseString(text), dtstart })
          peer.rrule(rule)
          const own = rule.all((_, i) => i < 26)
          const hour = (count: number) => new Date(dtstart.getTime() + count * 3_600_000)
          const except = [...places.flatMap((place) => own[place] ?? []), ...strangers.map(hour)]
          for (const date of except) peer.exdate(date)
          for (const count of added) peer.rdate(hour(count))
          const iso = (date: Date) => date.toISOString().slice(0, 19)
          const schedule = rrule(text, {
            start: iso(dtstart),
            except: except.map((date, i) => (i % 2 === 0 ? iso(date) : `${iso(date)}Z`)),
            also: added.map((count, i) => (i % 2 === 0 ? iso(hour(count)) : hour(count).getTime())),
          })
          const end = new Date(Date.UTC(2027, 2, 15))
          const expected = peer.between(new Date(0), end)
          const found = schedule.preview(200, { from: 0 }).map(({ at }) => new Date(at))
          expect({ text, found: found.filter((date) => date < end).map(iso) }).toEqual({
            text,
            found: expected.map(iso),
          })
        },
      ),
      { numRuns: 400 },
    )
  })

  it('agrees with removing local times one by one, in every zone and under every policy', () => {
    const zones = [zone, 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Casablanca', 'Europe/Dublin']
    const starts = ['2027-03-10', '2011-12-25', '2026-09-28', '2027-10-25', '2027-11-04']
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...starts),
        fc.constantFrom('next' as const, 'shift' as const, 'skip' as const),
        fc.constantFrom('first' as const, 'second' as const, 'both' as const),
        fc.array(fc.nat({ max: 60 }), { maxLength: 30 }),
        fc.array(fc.nat({ max: 9 }), { maxLength: 2 }),
        (name, day, gap, overlap, places, days) => {
          const text = 'FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,30'
          const named = rrule(text, { start: day }).preview(60, { from: 0 })
          const all = named.map(({ local }) => local)
          const leftTimes = places.flatMap((place) => all[place] ?? [])
          const leftDays = days.map((place) => all[place * 6]!.slice(0, 10))
          const kept = all.filter(
            (local) => !leftTimes.includes(local) && !leftDays.includes(local.slice(0, 10)),
          )
          const expected = [...new Set(kept.flatMap((local) => instantsOf(local, name, gap, overlap)))]
          const schedule = rrule(text, {
            start: day,
            zone: name,
            gap,
            overlap,
            except: [...leftTimes, ...leftDays],
            until: all.at(-1)!,
          })
          const last = Temporal.PlainDateTime.from(all.at(-1)!).toZonedDateTime(name).epochMilliseconds
          const found = schedule.preview(200, { from }).map(({ at }) => at)
          expect(found).toEqual(expected.filter((at) => at < last).sort((a, b) => a - b))
          // Counted by a schedule that has not stepped through its occurrences.
          const limited = rrule(text, {
            start: day,
            zone: name,
            gap,
            overlap,
            except: [...leftTimes, ...leftDays],
            times: Math.max(found.length, 1),
          })
          const end = found.at(-1)
          if (end === undefined) return
          expect(limited.next(end - 1)).toBe(end)
          expect(parseSchedule(limited.toJSON()).next(end)).toBeUndefined()
        },
      ),
      { numRuns: 400 },
    )
  })
})

function instantsOf(local: string, name: string, gap: string, overlap: string): number[] {
  const plain = Temporal.PlainDateTime.from(local)
  const earlier = plain.toZonedDateTime(name, { disambiguation: 'earlier' })
  const later = plain.toZonedDateTime(name, { disambiguation: 'later' })
  const first = earlier.epochMilliseconds
  const second = later.epochMilliseconds
  if (first === second) return [first]
  if (!earlier.toPlainDateTime().equals(plain)) {
    if (gap === 'skip') return []
    return [gap === 'shift' ? second : earlier.getTimeZoneTransition('next')!.epochMilliseconds]
  }
  return overlap === 'both' ? [first, second] : [overlap === 'first' ? first : second]
}
