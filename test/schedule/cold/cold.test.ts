import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cron, daily, every, monthly, rrule, type Schedule, weekly, yearly } from 'carillon/schedule'
import { beforeAll, describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('next.mjs', import.meta.url))
const zone = 'America/New_York'
const start = '1970-01-01T09:00'
const times = 5000

// A process may be disturbed, and so may several: the least of a few is the work itself.
const ROUNDS = 3
const MOST_ROUNDS = 12

/** What one `next` may cost at the most, in questions to Intl: a few milliseconds. */
const FEW = 6000

// Where local times are left out, doubled or close to each other, every change of clocks since the start matters.
const EVERY_CHANGE = 150_000

let questionMs = Number.NaN

/** The last instant of a counted schedule but one, found without it being asked before. */
const nearTheEnd: readonly (readonly [Schedule, string])[] = [
  [daily({ zone, from: 0, times }), '1983-07-01'],
  [daily({ zone: 'Africa/Casablanca', from: 0, times }), '1983-07-01'],
  [daily({ zone: 'Asia/Gaza', from: '2027-01-01', times }), '2040-06-01'],
  [daily({ zone: 'Pacific/Apia', at: '09:00', from: '2000-01-01', times }), '2013-06-01'],
  [daily({ zone: 'Australia/Lord_Howe', from: 0, times }), '1983-07-01'],
  [daily({ from: 0, times }), '1983-07-01'],
  [every(1, { from: 0, times }), '1970-01-01T00:00:04.990Z'],
  [weekly({ on: ['monday', 'friday'], at: '12:00', zone, from: 0, times }), '2017-01-01'],
  [monthly({ day: 31, zone, from: '1800-01-01', times }), '2200-06-01'],
  [yearly({ month: 2, day: 29, zone, from: '0001-01-01', times }), '4980-06-01'],
  [yearly({ month: 2, day: 29, invalidDate: 'skip', zone, from: '0001-01-01', times }), '9980-06-01'],
  [cron('0 12 * * MON', { zone, from: 0, times }), '2065-06-01'],
  [cron('*/5 * * * *', { zone, from: '2026-01-01', times }), '2026-01-18'],
  [
    cron('* * 1,2 * * *', { zone, gap: 'skip', overlap: 'both', from: '2026-01-01', times }),
    '2026-01-01T08:00Z',
  ],
  [rrule('FREQ=DAILY;COUNT=5000', { start, zone }), '1983-07-01'],
  [rrule('FREQ=DAILY;COUNT=5000', { start, zone, from: 0, times }), '1983-07-01'],
  [
    rrule('FREQ=DAILY;INTERVAL=997;BYMONTH=2;BYMONTHDAY=29;COUNT=5000', { start: '0001-01-01', zone }),
    '9000-01-01',
  ],
  [rrule('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=5000', { start, zone }), '2386-06-01'],
  [
    rrule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=5000', { start: '0001-01-01', zone }),
    '9980-06-01',
  ],
  [rrule('FREQ=YEARLY;BYWEEKNO=20,-1;BYDAY=MO;COUNT=5000', { start, zone }), '4460-06-01'],
  [rrule('FREQ=HOURLY;COUNT=5000', { start: '2026-01-01T09:00', zone }), '2026-07-27'],
  [rrule('FREQ=MINUTELY;INTERVAL=1441;BYHOUR=9;BYMINUTE=0;COUNT=5000', { start, zone }), '9000-01-01'],
]

/** Rules that hardly ever match, or never again. */
const sparse: readonly (readonly [Schedule, string])[] = [
  [cron('0 0 29 2 *', { zone }), '2096-04-01'],
  [cron('30 2 * 3 SUN#2', { zone, gap: 'skip' }), '2027-03-01'],
  [
    rrule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=1,2,3;BYSETPOS=-1,3', { start, zone }),
    '2096-04-01',
  ],
  [rrule('FREQ=DAILY;INTERVAL=1461;BYMONTH=2;BYMONTHDAY=29', { start: '2000-02-29', zone }), '2097-04-01'],
  [rrule('FREQ=SECONDLY;INTERVAL=86399;BYDAY=MO;BYHOUR=0', { start: '2000-01-01', zone }), '2027-03-14'],
  [
    rrule('FREQ=SECONDLY;INTERVAL=86399;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3;BYMINUTE=0', {
      start: '2000-01-01',
      zone,
    }),
    '2096-04-01',
  ],
]

const everyChange: readonly (readonly [Schedule, string])[] = [
  [monthly({ day: 31, at: '02:30', gap: 'skip', zone, from: 0, times }), '2386-03-01'],
  [weekly({ on: 'sunday', at: '01:30', overlap: 'both', zone, from: 0, times }), '2065-06-01'],
  [rrule('FREQ=SECONDLY;INTERVAL=86399;BYDAY=MO;COUNT=5000', { start: '2000-01-01', zone }), '2095-07-01'],
]

describe('the first next of a new process', () => {
  beforeAll(() => {
    execFileSync(process.execPath, [fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url))])
    questionMs = Math.min(...Array.from({ length: ROUNDS * 2 }, () => cpuMs('intl', 5000) / 5000))
  })

  it.each(named([...nearTheEnd, ...sparse]))('takes a few milliseconds: %s', (_, schedule, after) => {
    expect(leastQuestions(schedule, after, FEW)).toBeLessThan(FEW)
  })

  it.each(named(everyChange))('takes no longer than it must: %s', (_, schedule, after) => {
    expect(leastQuestions(schedule, after, EVERY_CHANGE)).toBeLessThan(EVERY_CHANGE)
  })
})

function named(cases: readonly (readonly [Schedule, string])[]): [string, Schedule, string][] {
  return cases.map(([schedule, after]) => [`${schedule.describe()}, after ${after}`, schedule, after])
}

/** Processor time in questions to Intl, the least of a few new processes; of more of them as long as it is too much. */
function leastQuestions(schedule: Schedule, after: string, enough: number): number {
  let least = Infinity
  for (let round = 0; round < MOST_ROUNDS && (round < ROUNDS || least >= enough); round++) {
    least = Math.min(least, cpuMs(JSON.stringify(schedule), Date.parse(after)) / questionMs)
  }
  return least
}

function cpuMs(what: string, number: number): number {
  const output = execFileSync(process.execPath, [program, what, String(number)], { encoding: 'utf8' })
  const { cpuMs: spent } = JSON.parse(output) as { readonly cpuMs: number }
  if (process.env['SHOW'] !== undefined) console.log(spent.toFixed(2), what.slice(0, 120), number)
  return spent
}
