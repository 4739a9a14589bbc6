import { monthly, rrule } from 'carillon/schedule'
import type { HostileCase } from './hostile-case.js'

const zone = 'America/New_York'
const times = 5000

/** Rules that `npm run hunt` once found slow, each for its own reason. */
export const hunted: readonly HostileCase[] = [
  [
    'every tenth year, on some days of October',
    rrule('FREQ=YEARLY;INTERVAL=10;BYMONTH=10;BYDAY=WE,SA;COUNT=5000', {
      start: '0001-01-01T09:00',
      zone: 'Africa/Cairo',
      gap: 'skip',
      overlap: 'both',
    }),
    '5631-10-08',
  ],
  [
    'every 997 seconds, on three days of the year that are Thursdays',
    rrule('FREQ=SECONDLY;INTERVAL=997;BYYEARDAY=-281,-241,-198;BYDAY=TH;COUNT=5000', {
      start: '1583-02-28T23:59:59',
      zone: 'America/Anchorage',
      gap: 'shift',
    }),
    '1700-01-01',
  ],
  [
    'a second later every day, on some days of September',
    rrule('FREQ=SECONDLY;INTERVAL=86401;BYMONTH=9;BYMONTHDAY=4,27;BYDAY=TU,TH,FR', {
      start: '0001-01-01T02:30',
      zone,
      times,
    }),
    '2027-03-14',
  ],
  [
    'every 10007 days, in July and November',
    rrule('FREQ=DAILY;INTERVAL=10007;BYMONTH=7,11;BYHOUR=11;BYMINUTE=24,33,48;COUNT=5000', {
      start: '0001-01-01T00:00',
      zone: 'America/Anchorage',
      gap: 'skip',
    }),
    '9946-07-24',
  ],
  [
    'every 17716 months',
    rrule('FREQ=MONTHLY;INTERVAL=17716;BYMINUTE=0,1,2,3,4,5,6,9,10,13;BYSECOND=28,35,38;COUNT=5000', {
      start: '0001-01-01T02:30',
      zone,
      gap: 'shift',
    }),
    '8857-11-27',
  ],
]

/** The same over centuries or millennia. */
export const huntedLong: readonly HostileCase[] = [
  [
    'every 137 seconds, at a second of two days of November',
    rrule('FREQ=SECONDLY;INTERVAL=137;BYMONTH=11;BYMONTHDAY=-23,21;BYMINUTE=58;BYSECOND=40;COUNT=5000', {
      start: '1583-02-28T09:00',
      zone: 'Europe/Paris',
      gap: 'shift',
    }),
    '9998-10-03',
  ],
  [
    'every 603 minutes, at four minutes of three days of the month',
    rrule('FREQ=MINUTELY;INTERVAL=603;BYMONTHDAY=-31,17,19;BYMINUTE=21,28,35,58;COUNT=4142', {
      start: '1799-12-31T00:00',
      zone: 'Asia/Manila',
      gap: 'shift',
      overlap: 'second',
    }),
    '2913-12-17',
  ],
  [
    'monthly in Gaza since 1799',
    monthly({
      day: 10,
      at: '02:00',
      gap: 'shift',
      overlap: 'both',
      zone: 'Asia/Gaza',
      from: '1799-12-31',
      times,
    }),
    '2216-08-10',
  ],
]
