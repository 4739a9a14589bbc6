import { cron, daily, every, monthly, rrule, type Schedule, weekly, yearly } from 'carillon/schedule'
import { InvalidInputError } from 'carillon'
import * as fc from 'fast-check'

const zones = [
  'UTC',
  '-03:30',
  'America/New_York',
  'Europe/Dublin',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'America/Santiago',
  'Pacific/Apia',
  'Africa/Casablanca',
  'Asia/Gaza',
  'Asia/Calcutta',
]

/** Instants from 1900 to 2150, mostly near today, often close to a change of clocks. */
export const anyInstant: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) }),
  fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(2150, 0, 1) }),
  fc
    .record({
      change: fc.constantFrom(
        '2027-03-14T07:00Z',
        '2027-11-07T06:00Z',
        '2011-12-30T10:00Z',
        '2026-10-03T15:30Z',
      ),
      minutes: fc.integer({ min: -1500, max: 1500 }),
    })
    .map(({ change, minutes }) => Date.parse(change) + minutes * 60_000),
)

const wall = fc.record({
  zone: fc.constantFrom(...zones),
  gap: fc.constantFrom('next' as const, 'shift' as const, 'skip' as const),
  overlap: fc.constantFrom('first' as const, 'second' as const, 'both' as const),
})

const policies = {
  missed: fc.constantFrom('skip' as const, 'once' as const, 'all' as const),
  missedLimit: fc.integer({ min: 1, max: 1000 }),
}

const terms = fc.oneof(
  fc.constant({}),
  fc.record(policies, { requiredKeys: [] }),
  fc.record(
    {
      ...policies,
      from: fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2026, 0, 1) }),
      until: fc.integer({ min: Date.UTC(2026, 0, 2), max: Date.UTC(2040, 0, 1) }),
      times: fc.integer({ min: 1, max: 200 }),
      jitter: fc.integer({ min: 1, max: 3 * 86_400_000 }),
    },
    { requiredKeys: ['from'] },
  ),
  fc.record({ window: fc.integer({ min: 1, max: 86_400_000 }) }),
)

const field = (min: number, max: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min, max })
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const step = fc.integer({ min: 1, max: Math.max(1, max - min) }).map((by) => `*/${by}`)
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    { weight: 3, arbitrary: value.map(String) },
    { weight: 1, arbitrary: range },
    { weight: 1, arbitrary: step },
    {
      weight: 1,
      arbitrary: fc.array(value, { minLength: 2, maxLength: 4 }).map((values) => values.join(',')),
    },
  )
}

const cronText = fc
  .tuple(
    fc.oneof(
      fc.constant(''),
      field(0, 59).map((second) => `${second} `),
    ),
    field(0, 59),
    field(0, 23),
    fc.oneof(field(1, 28), fc.constantFrom('L', 'L-3', '15W', 'LW', '1W,L')),
    field(1, 12),
    fc.oneof(field(0, 6), fc.constantFrom('MON-FRI', 'SUN#2', '5L', 'MON#1,FRI#5')),
  )
  .map(([second, ...rest]) => second + rest.join(' '))
  .filter(canMatch)

const at = fc
  .array(fc.integer({ min: 0, max: 86_399 }), { minLength: 1, maxLength: 4 })
  .map((seconds) =>
    seconds.map((second) => new Date(second * 1000).toISOString().slice(11, second % 60 === 0 ? 16 : 19)),
  )

const invalidDate = fc.constantFrom('backward' as const, 'forward' as const, 'skip' as const)
const weekday = fc.constantFrom(
  'monday' as const,
  'wednesday' as const,
  'saturday' as const,
  'sunday' as const,
)

const rruleText = fc.constantFrom(
  'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29',
  'FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,-1',
  'FREQ=YEARLY;BYWEEKNO=20,-1;BYDAY=MO',
  'FREQ=MONTHLY;BYDAY=1SU,-1FR',
  'FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=-1,13;BYHOUR=2;BYMINUTE=0,30',
  'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=2,-1;BYHOUR=1,2,3',
  'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU',
  'FREQ=DAILY;INTERVAL=10;COUNT=500',
  'FREQ=DAILY;BYHOUR=1,2;BYMINUTE=30;UNTIL=20300101T000000Z',
  'FREQ=HOURLY;INTERVAL=7',
  'FREQ=MINUTELY;INTERVAL=45;BYDAY=SU',
  'FREQ=SECONDLY;INTERVAL=37;BYHOUR=2;BYMONTH=3,11',
)

const amendment = fc.oneof(
  fc
    .integer({ min: Date.UTC(1999, 2, 28) / 86_400_000, max: Date.UTC(2031, 0, 1) / 86_400_000 })
    .chain((day) => {
      const date = new Date(day * 86_400_000).toISOString().slice(0, 10)
      return fc.constantFrom(
        date,
        `${date}T02:30`,
        `${date}T01:30`,
        `${date}T02:30Z`,
        `${date}T00:30:00-05:00`,
      )
    }),
  fc.constantFrom('2027-03-14T02:30', '2027-11-07T01:30', '2011-12-30', '2027-03-14', 1_804_989_600_000),
)
const amendments = fc.array(amendment, { maxLength: 12 })

/** Any schedule that a builder can make. */
export const anySchedule: fc.Arbitrary<Schedule> = fc.oneof(
  fc.tuple(cronText, wall, terms).map(([text, on, rest]) => cron(text, { ...on, ...rest })),
  fc
    .tuple(fc.integer({ min: 1, max: 40 * 86_400_000 }), anyInstant, terms)
    .map(([ms, anchor, rest]) => every(ms, { anchor, ...rest })),
  fc.tuple(at, wall, terms).map(([times, on, rest]) => daily({ at: times, ...on, ...rest })),
  fc
    .tuple(fc.array(weekday, { minLength: 1, maxLength: 4 }), at, wall, terms)
    .map(([days, times, on, rest]) => weekly({ on: days, at: times, ...on, ...rest })),
  fc
    .tuple(
      fc.array(fc.integer({ min: 1, max: 31 }), { minLength: 1, maxLength: 3 }),
      invalidDate,
      at,
      wall,
      terms,
    )
    .map(([day, invalid, times, on, rest]) =>
      monthly({ day, invalidDate: invalid, at: times, ...on, ...rest }),
    ),
  fc
    .tuple(fc.constantFrom([2, 29], [2, 28], [3, 14], [12, 31], [11, 7]), invalidDate, at, wall, terms)
    .map(([[month, day], invalid, times, on, rest]) =>
      yearly({ month, day, invalidDate: invalid, at: times, ...on, ...rest }),
    ),
  fc
    .tuple(rruleText, wall, terms)
    .map(([text, on, rest]) => rrule(text, { start: '1999-03-28T02:30', ...on, ...rest })),
  fc.tuple(rruleText, wall, terms, amendments, amendments).map(([text, on, rest, except, also]) =>
    rrule(text, {
      start: '1999-03-28T02:30',
      except,
      // `times` cannot be combined with additions.
      ...(!('times' in rest) && { also }),
      ...on,
      ...rest,
    }),
  ),
)

/** For example, days 1 and 20 are never the second Sunday. `cron` rightly refuses such an expression. */
function canMatch(text: string): boolean {
  try {
    cron(text)
    return true
  } catch (error) {
    if (error instanceof InvalidInputError && error.code === 'never-matches') return false
    throw error
  }
}
