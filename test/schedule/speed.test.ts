import { cron, daily, every, monthly, rrule, type Schedule, yearly } from 'carillon/schedule'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyInstant, anySchedule } from './any-schedule.js'
import { cpuMs, leastCpuMs } from './cpu-time.js'

const zone = 'America/New_York'
const start = '2000-01-01T00:00'

const hostile: readonly Schedule[] = [
  cron('0 0 29 2 *', { zone }),
  cron('0 0 */28 2 1', { zone }),
  cron('59 59 23 31 12 *', { zone: 'Pacific/Apia' }),
  // Every second of the missing hour is skipped. The next rule lies in a gap every year.
  cron('* * 2 * * *', { zone, gap: 'skip' }),
  cron('30 2 * 3 SUN#2', { zone, gap: 'skip' }),
  cron('* * 2 * 3 SUN#2', { zone, gap: 'shift' }),
  yearly({ month: 2, day: 29, at: '02:30', zone, invalidDate: 'skip', gap: 'skip', overlap: 'second' }),
  monthly({
    day: [29, 30, 31],
    at: Array.from({ length: 96 }, (_, i) => `0${i % 10}:${10 + (i % 50)}`),
    zone,
  }),
  every(1),
  every('1ms', { from: 0, times: 5000 }),
  daily({ zone, from: 0, times: 5000 }),
  yearly({ month: 2, day: 29, invalidDate: 'skip', zone, from: '0001-01-01', times: 5000 }),
  rrule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO', { start, zone }),
  rrule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=5000', { start: '0001-01-01T00:00', zone }),
  rrule('FREQ=DAILY;INTERVAL=997;BYMONTH=2;BYMONTHDAY=29', { start, zone }),
  rrule('FREQ=WEEKLY;INTERVAL=1000000', { start, zone }),
  rrule('FREQ=SECONDLY;INTERVAL=86399;BYDAY=MO;BYHOUR=0', { start, zone }),
  rrule('FREQ=SECONDLY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3;BYMINUTE=0;BYSECOND=0,1', { start, zone }),
  rrule('FREQ=MINUTELY;INTERVAL=1441;BYHOUR=9;BYMINUTE=0', { start, zone }),
  rrule(`FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=1,2,3;BYSETPOS=${list(-180, 180)}`, { start, zone }),
  rrule(`FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=1,2,3;BYSETPOS=-1,3`, { start, zone }),
  rrule(`FREQ=HOURLY;BYMINUTE=${list(0, 59)};BYSECOND=${list(0, 59)};BYSETPOS=-1`, { start, zone }),
]

const instants = [
  -8.64e15,
  -6e13,
  Date.UTC(1850, 5),
  0,
  Date.UTC(2027, 2, 14, 7),
  Date.UTC(2096, 3),
  Date.UTC(5000, 1),
  2.5e14,
  8.64e15,
]

describe('One call of next takes at most 5 ms', () => {
  it.each(hostile.map((schedule) => [schedule.describe().slice(0, 80), schedule] as const))(
    'for %s',
    (_, schedule) => {
      for (const after of instants) {
        // The first call may have to probe the zone and compile code.
        expect(cpuMs(() => schedule.next(after))).toBeLessThan(100)
        expect(leastCpuMs(() => schedule.next(after))).toBeLessThan(5)
      }
    },
  )

  it('for any random schedule', () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, (schedule, after) => {
        expect(leastCpuMs(() => schedule.next(after))).toBeLessThan(5)
      }),
      { numRuns: 1000 },
    )
  })
})

function list(first: number, last: number): string {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    .filter((value) => value !== 0 || first === 0)
    .filter((_, i) => last - first < 100 || i % 2 === 0)
    .join(',')
}
