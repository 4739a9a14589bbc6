import { cron, daily, monthly, parseSchedule, rrule, type Schedule, weekly, yearly } from 'carillon/schedule'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySchedule } from './any-schedule.js'

/** The same schedule with a limit, counted from an instant. */
function limited(schedule: Schedule, from: number, times: number): Schedule {
  return parseSchedule({ ...termless(schedule), from, times })
}

/** The same schedule without a limit or any other end. */
function unlimited(schedule: Schedule, from: number): Schedule {
  return parseSchedule({ ...termless(schedule), from })
}

/** Additions are removed, too: they cannot be combined with a limit. */
function termless(schedule: Schedule): object {
  const left = new Set(['until', 'jitterMs', 'times', 'also'])
  return Object.fromEntries(Object.entries(schedule.toJSON()).filter(([name]) => !left.has(name)))
}

/** Compares a limited schedule with as many steps of the unlimited one. Returns the differences. */
function differences(schedule: Schedule, from: number, times: number): string[] {
  const endless = unlimited(schedule, from)
  let before = from - 1
  let last = from - 1
  for (let i = 0; i < times; i++) {
    const next = endless.next(last)
    if (next === undefined) return []
    before = last
    last = next
  }
  const questions: [number, number | undefined][] = [
    [before, last],
    [last, undefined],
    [endless.next(last) ?? last, undefined],
  ]
  // Each call uses a new schedule that has counted nothing yet, as after a restart.
  return questions.flatMap(([after, wanted]) => {
    const got = limited(schedule, from, times).next(after)
    return got === wanted ? [] : [`${times} times, after ${after}: got ${got}, wanted ${wanted}`]
  })
}

const anyFrom = fc.oneof(
  fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2028, 0, 1) }),
  fc.integer({ min: Date.UTC(1840, 0, 1), max: Date.UTC(2210, 0, 1) }),
  fc.integer({ min: Date.UTC(2011, 11, 20), max: Date.UTC(2012, 0, 2) }),
)

/** Rules whose periods drift through the years, over centuries. */
const drifting = [
  // A week that begins in December and has its day in January belongs to both years.
  'FREQ=WEEKLY;INTERVAL=5;BYMONTH=1;BYDAY=TH;BYSETPOS=-1;WKST=SU',
  'FREQ=WEEKLY;INTERVAL=3;BYMONTH=1,12;BYDAY=MO,TH,SA;BYSETPOS=1,-1',
  'FREQ=WEEKLY;INTERVAL=3;BYMONTH=2;BYDAY=MO',
  'FREQ=DAILY;INTERVAL=17;BYDAY=FR;BYMONTHDAY=13',
  'FREQ=DAILY;INTERVAL=17;BYMONTH=2,3;BYHOUR=1,2;BYSETPOS=2',
  'FREQ=MONTHLY;INTERVAL=13;BYMONTHDAY=29,31',
  'FREQ=YEARLY;INTERVAL=13;BYWEEKNO=1,53;BYDAY=MO,SU',
  'FREQ=HOURLY;INTERVAL=25;BYDAY=SU;BYHOUR=1,2',
  'FREQ=MINUTELY;INTERVAL=1441;BYMONTHDAY=1;BYHOUR=9',
  'FREQ=SECONDLY;INTERVAL=86399;BYMONTH=2;BYDAY=MO',
]

describe('A schedule with a limited number of occurrences', () => {
  it.each(drifting)('ends after that many steps, over centuries: %s', (text) => {
    const schedule = rrule(text, { start: '1970-01-01T02:30' })
    for (const times of [100, 397, 398, 399, 400, 401, 402, 600]) {
      expect(differences(schedule, 0, times)).toEqual([])
    }
  })

  it('ends after that many steps, for random schedules and starts', () => {
    fc.assert(
      fc.property(anySchedule, anyFrom, fc.integer({ min: 1, max: 300 }), (schedule, from, times) => {
        expect(differences(schedule, from, times)).toEqual([])
      }),
      { numRuns: 600 },
    )
  })

  const zones = [
    'America/New_York',
    'Pacific/Apia',
    'Pacific/Kwajalein',
    'Australia/Lord_Howe',
    'Antarctica/Troll',
    'Asia/Manila',
  ]
  const gaps = ['next', 'shift', 'skip'] as const
  const overlaps = ['first', 'second', 'both'] as const
  const walls = zones.flatMap((zone) =>
    gaps.flatMap((gap) => overlaps.map((overlap) => ({ zone, gap, overlap }))),
  )
  it.each(walls)('ends after that many steps across every kind of clock change: %j', (wall) => {
    const froms = [
      Date.UTC(1844, 11, 25),
      Date.UTC(1883, 10, 15),
      Date.UTC(1969, 8, 20),
      Date.UTC(1993, 7, 15),
      Date.UTC(2011, 11, 25),
      Date.UTC(2027, 1, 20),
    ]
    const make: readonly (() => Schedule)[] = [
      () => daily({ ...wall }),
      () => daily({ at: '02:30', ...wall }),
      () => daily({ at: ['00:00', '01:15', '01:45', '02:00', '02:15', '02:30', '03:00', '03:15'], ...wall }),
      () => weekly({ on: ['saturday', 'sunday'], at: '02:00', ...wall }),
      () => cron('0 0,9 29-31 12 *', wall),
      () => yearly({ month: 12, day: 30, at: ['00:00', '09:00'], ...wall }),
      () => yearly({ month: 8, day: 21, at: '02:15', ...wall }),
      () => cron('15,45 1,2 * 4,10 SUN#1', wall),
      () => cron('*/10 1,2 * * *', wall),
      () => cron('*/10 * * * SUN', wall),
      () =>
        rrule('FREQ=MONTHLY;BYDAY=FR,SA,SU;BYHOUR=1,2;BYSETPOS=2,-1', {
          start: '1844-01-01T00:30',
          ...wall,
        }),
      () => rrule('FREQ=MINUTELY;INTERVAL=50;BYHOUR=0,1,2,3', { start: '1844-01-01T00:30', ...wall }),
      () => rrule('FREQ=HOURLY;INTERVAL=7;BYDAY=SU,MO', { start: '1844-01-01T00:30', ...wall }),
    ]
    for (const from of froms) {
      for (const schedule of make) {
        for (const times of [1, 7, 60, 200]) expect(differences(schedule(), from, times)).toEqual([])
      }
    }
  })

  const zone = 'America/New_York'
  const start = '1965-01-01T02:30'
  const rules = [
    monthly({ day: 31, at: '02:30', zone, gap: 'skip' }),
    monthly({ day: [8, 31], at: ['01:30', '02:30'], zone, overlap: 'both', invalidDate: 'forward' }),
    yearly({ month: 3, day: 10, at: ['02:00', '02:30'], zone }),
    yearly({ month: 3, day: 10, at: '02:30', zone, gap: 'skip' }),
    yearly({ month: 1, day: 1, at: ['00:00', '12:00'], zone: 'Pacific/Kwajalein', gap: 'shift' }),
    cron('0,30 1-2 * 3,11 SUN', { zone }),
    cron('0 0-3 L * *', { zone: 'Africa/Casablanca' }),
    rrule('FREQ=YEARLY;BYYEARDAY=-366,1,-1', { start, zone }),
    rrule('FREQ=YEARLY;BYYEARDAY=-366,1,-1', { start, zone: 'Pacific/Auckland', overlap: 'both' }),
    rrule('FREQ=YEARLY;BYWEEKNO=1,53,-1,-53', { start, zone, gap: 'skip' }),
    rrule('FREQ=YEARLY;BYWEEKNO=1,-1;BYSETPOS=1,-1;BYDAY=MO,SU', { start, zone }),
    rrule('FREQ=WEEKLY;BYMONTH=12,1,2;BYDAY=MO,TU,FR;BYSETPOS=-1', { start, zone }),
    rrule('FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,TU,FR;BYSETPOS=2,-1;WKST=SU', { start, zone }),
    rrule('FREQ=MONTHLY;INTERVAL=7;BYMONTHDAY=-1,29', { start, zone }),
    rrule('FREQ=YEARLY;INTERVAL=3;BYMONTH=2,11;BYDAY=1SU', { start, zone, overlap: 'second' }),
    rrule('FREQ=DAILY;INTERVAL=17', { start, zone }),
    rrule('FREQ=HOURLY;INTERVAL=25;BYDAY=SU;BYHOUR=1,2', { start, zone }),
    rrule('FREQ=MINUTELY;INTERVAL=1441;BYHOUR=2', { start, zone, gap: 'shift' }),
    rrule('FREQ=SECONDLY;INTERVAL=86399;BYMONTH=3;BYHOUR=1,2', { start, zone }),
  ]
  it.each(rules.map((schedule) => [schedule.describe(), schedule] as const))(
    'ends after that many steps, over centuries of clock changes: %s',
    (_, schedule) => {
      for (const times of [1000, 2500]) expect(differences(schedule, Date.UTC(1966, 5, 1), times)).toEqual([])
    },
  )
})
