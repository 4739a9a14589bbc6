import { cron, daily, every, monthly, rrule, weekly, yearly } from 'carillon/schedule'
import type { HostileCase } from './hostile-case.js'
import { hunted, huntedLong } from './hunted-cases.js'

const zone = 'America/New_York'
const start = '1970-01-01T09:00'
const first = '0001-01-01'
const times = 5000

/** Near the end of a limited number of occurrences, with no earlier call. */
const counted: readonly HostileCase[] = [
  ['daily', daily({ zone, from: 0, times }), '1983-07-01'],
  ['daily in Casablanca', daily({ zone: 'Africa/Casablanca', from: 0, times }), '1983-07-01'],
  ['daily in Gaza', daily({ zone: 'Asia/Gaza', from: '2027-01-01', times }), '2040-06-01'],
  ['daily in Apia', daily({ zone: 'Pacific/Apia', at: '09:00', from: '2000-01-01', times }), '2013-06-01'],
  ['daily, UTC', daily({ from: 0, times }), '1983-07-01'],
  ['every millisecond', every(1, { from: 0, times }), '1970-01-01T00:00:04.990Z'],
  ['weekly', weekly({ on: ['monday', 'friday'], at: '12:00', zone, from: 0, times }), '2017-01-01'],
  ['monthly', monthly({ day: 31, zone, from: '1800-01-01', times }), '2200-06-01'],
  ['yearly', yearly({ month: 2, day: 29, zone, from: first, times }), '4980-06-01'],
  ['leap days', yearly({ month: 2, day: 29, invalidDate: 'skip', zone, from: first, times }), '9980-06-01'],
  ['Mondays by cron', cron('0 12 * * MON', { zone, from: 0, times }), '2065-06-01'],
  ['Friday the 13th by cron', cron('0 0 13 * */7', { zone, from: first, times }), '2900-06-01'],
  ['office hours', cron('0 9-17 * * MON-FRI', { zone, from: '2020-01-01', times }), '2022-02-01'],
  [
    'seconds of two hours',
    cron('* * 1,2 * * *', { zone, gap: 'skip', overlap: 'both', from: '2026-01-01', times }),
    '2026-01-01T08:00Z',
  ],
  ['COUNT and times', rrule('FREQ=DAILY;COUNT=5000', { start, zone, from: 0, times }), '1983-07-01'],
  ['every second month', rrule('FREQ=MONTHLY;INTERVAL=2;COUNT=5000', { start, zone }), '2803-01-01'],
  [
    'every fifth month',
    rrule('FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=-1;COUNT=5000', { start, zone }),
    '4050-01-01',
  ],
  [
    'leap days in every fifth month',
    rrule('FREQ=MONTHLY;INTERVAL=5;BYMONTH=2;BYMONTHDAY=29;COUNT=5000', { start: first, zone }),
    '9900-01-01',
  ],
  ['every second year', rrule('FREQ=YEARLY;INTERVAL=2;COUNT=4000', { start: first, zone }), '7990-01-01'],
  [
    'days of every second year',
    rrule('FREQ=YEARLY;INTERVAL=2;BYYEARDAY=1,100,-1;COUNT=5000', { start: first, zone }),
    '3320-01-01',
  ],
  [
    'weekdays of every third year',
    rrule('FREQ=YEARLY;INTERVAL=3;BYMONTH=2,11;BYDAY=1SU;COUNT=5000', { start: first, zone }),
    '7490-01-01',
  ],
  [
    'picked from every second year',
    rrule('FREQ=YEARLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1;COUNT=5000', { start: first, zone }),
    '4990-01-01',
  ],
  [
    'picked from every third month',
    rrule('FREQ=MONTHLY;INTERVAL=3;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=5000', { start: first, zone }),
    '1250-01-01',
  ],
  [
    'picked from every second week',
    rrule('FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,FR;BYSETPOS=-1;COUNT=5000', { start: first, zone }),
    '0192-01-01',
  ],
  [
    'picked from months',
    rrule('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=5000', { start, zone }),
    '2386-06-01',
  ],
  ['every 17 days', rrule('FREQ=DAILY;INTERVAL=17;COUNT=5000', { start, zone }), '2202-01-01'],
  ['every 400 days', rrule('FREQ=DAILY;INTERVAL=400;COUNT=5000', { start, zone }), '7440-01-01'],
  ['every five weeks', rrule('FREQ=WEEKLY;INTERVAL=5;BYDAY=SU,MO;COUNT=5000', { start, zone }), '2209-01-01'],
  [
    'every 997 days in February',
    rrule('FREQ=DAILY;INTERVAL=997;BYMONTH=2;BYMONTHDAY=29;COUNT=5000', { start: first, zone }),
    '9000-01-01',
  ],
  [
    'Mondays that are leap days',
    rrule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=5000', { start: first, zone }),
    '9980-06-01',
  ],
  [
    'weeks of the year',
    rrule('FREQ=YEARLY;BYWEEKNO=20,-1;BYDAY=MO;COUNT=5000', { start, zone }),
    '4460-06-01',
  ],
  [
    'the 53rd week',
    rrule('FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;COUNT=1700', { start: first, zone }),
    '9560-06-01',
  ],
  ['hours', rrule('FREQ=HOURLY;COUNT=5000', { start: '2026-01-01T09:00', zone }), '2026-07-27'],
  [
    'minutes that drift',
    rrule('FREQ=MINUTELY;INTERVAL=1441;BYHOUR=9;BYMINUTE=0;COUNT=5000', { start, zone }),
    '9000-01-01',
  ],
]

const days = Array.from({ length: 256 }, (_, i) => new Date(i * 86_400_000).toISOString().slice(0, 10))

/** Rules with as many exceptions as are allowed. */
const amended: readonly HostileCase[] = [
  ['days', rrule('FREQ=DAILY', { start, zone, except: days }), '1970-01-01'],
  ['times', rrule('FREQ=DAILY', { start, zone, except: days.map((day) => `${day}T09:00`) }), '1970-01-01'],
  [
    'instants',
    rrule('FREQ=DAILY', { start, zone, except: days.map((day) => `${day}T14:00Z`) }),
    '1970-01-01',
  ],
  ['and counts', rrule('FREQ=DAILY', { start, zone, except: days, times }), '1984-01-01'],
  ['and adds', rrule('FREQ=DAILY', { start, zone, except: days, also: days }), '1970-01-01'],
  ['of seconds', rrule('FREQ=SECONDLY', { start, zone, except: days }), '1970-01-01'],
]

/** Rules that hardly ever match, or never again. */
const sparse: readonly HostileCase[] = [
  ['leap days', cron('0 0 29 2 *', { zone }), '2096-04-01'],
  ['always in a gap', cron('30 2 * 3 SUN#2', { zone, gap: 'skip' }), '2027-03-01'],
  [
    'picked from Mondays that are leap days',
    rrule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=1,2,3;BYSETPOS=-1,3', { start, zone }),
    '2096-04-01',
  ],
  [
    'no more leap days in step',
    rrule('FREQ=DAILY;INTERVAL=1461;BYMONTH=2;BYMONTHDAY=29', { start: '2000-02-29', zone }),
    '2097-04-01',
  ],
  [
    'a second earlier every day',
    rrule('FREQ=SECONDLY;INTERVAL=86399;BYDAY=MO;BYHOUR=0', { start: '2000-01-01', zone }),
    '2027-03-14',
  ],
  [
    'a second earlier every day, on leap days',
    rrule('FREQ=SECONDLY;INTERVAL=86399;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3;BYMINUTE=0', {
      start: '2000-01-01',
      zone,
    }),
    '2096-04-01',
  ],
]

/** Where local times are skipped or doubled, every change of clocks matters, over decades and longer. */
const changes: readonly HostileCase[] = [
  [
    'two times a day since 1916',
    daily({
      at: ['01:30', '02:30'],
      gap: 'skip',
      overlap: 'both',
      zone: 'Europe/London',
      from: '1916-01-01',
      times,
    }),
    '1922-11-01',
  ],
  [
    'half hours on Lord Howe',
    daily({
      at: '02:15',
      gap: 'skip',
      overlap: 'both',
      zone: 'Australia/Lord_Howe',
      from: '2020-01-01',
      times,
    }),
    '2033-06-01',
  ],
  [
    'the missing day in Apia',
    daily({ at: '09:00', gap: 'skip', overlap: 'both', zone: 'Pacific/Apia', from: '2000-01-01', times }),
    '2013-06-01',
  ],
  [
    'daily in Tokyo',
    daily({ at: '02:30', gap: 'skip', zone: 'Asia/Tokyo', from: '1946-01-01', times }),
    '1959-09-01',
  ],
  [
    'daily in Casablanca',
    daily({ at: '02:30', overlap: 'both', zone: 'Africa/Casablanca', from: '2012-01-01', times }),
    '2025-09-01',
  ],
  ['three hours of leap days', cron('0 1-3 29 2 *', { zone, from: first, times }), '6800-06-01'],
  ['weekly', weekly({ on: 'sunday', at: '01:30', overlap: 'both', zone, from: 0, times }), '2065-06-01'],
  [
    'half days of Sundays',
    rrule('FREQ=HOURLY;INTERVAL=12;BYDAY=SU;COUNT=5000', { start: '1970-01-01', zone }),
    '2017-07-01',
  ],
  ['monthly', monthly({ day: 31, at: '02:30', gap: 'skip', zone, from: 0, times }), '2386-03-01'],
  [
    'weekly since 1908',
    weekly({ on: 'sunday', at: '02:30', overlap: 'both', zone: 'Europe/Berlin', from: '1908-01-01', times }),
    '2003-10-20',
  ],
  [
    'twice every November 7',
    yearly({ month: 11, day: 7, at: ['01:00', '01:30'], overlap: 'both', zone, from: '1900-01-01', times }),
    '4300-06-01',
  ],
  [
    'a second earlier every day, on Mondays',
    rrule('FREQ=SECONDLY;INTERVAL=86399;BYDAY=MO;COUNT=5000', { start: '2000-01-01', zone }),
    '2095-07-01',
  ],
  [
    'every other week since 1908',
    rrule('FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;COUNT=5000', {
      start: '1908-01-05T01:30',
      zone: 'Europe/Paris',
      overlap: 'both',
    }),
    '2099-08-01',
  ],
]

/** Intervals of days, weeks and hours over millennia. No calendar cycle makes them repeat soon. */
const stepped: readonly HostileCase[] = [
  [
    'every 25 hours, in two hours of Sundays',
    rrule('FREQ=HOURLY;INTERVAL=25;BYDAY=SU;BYHOUR=1,2;COUNT=5000', { start: '1970-01-01', zone }),
    '3160-01-01',
  ],
  [
    'picked from every third week, in some months',
    rrule('FREQ=WEEKLY;INTERVAL=3;BYMONTH=2,3;BYDAY=MO,TU,FR;BYSETPOS=-1;COUNT=5000', { start: first, zone }),
    '1700-01-01',
  ],
  [
    'every 17 days, on Friday the 13th',
    rrule('FREQ=DAILY;INTERVAL=17;BYDAY=FR;BYMONTHDAY=13;COUNT=5000', { start: first, zone }),
    '9000-01-01',
  ],
  [
    'every 13 years, on Friday the 13th',
    rrule('FREQ=YEARLY;INTERVAL=13;BYDAY=FR;BYMONTHDAY=13;COUNT=5000', { start: first, zone }),
    '9000-01-01',
  ],
  [
    'a minute later every day, in an hour of the first',
    rrule('FREQ=MINUTELY;INTERVAL=1441;BYMONTHDAY=1;BYHOUR=9;COUNT=5000', { start: first, zone }),
    '9000-01-01',
  ],
  ['every 13 months', rrule('FREQ=MONTHLY;INTERVAL=13;COUNT=5000', { start, zone }), '7380-01-01'],
  [
    'every third week, in February',
    rrule('FREQ=WEEKLY;INTERVAL=3;BYMONTH=2;BYDAY=MO;COUNT=5000', { start: first, zone }),
    '3750-01-01',
  ],
]

/**
 * Intervals of hours, minutes and seconds that drift through the day, over millennia, on few days and times.
 */
const drifting: readonly HostileCase[] = [
  [
    'Tuesdays that are the 5th or 29th',
    rrule('FREQ=MINUTELY;INTERVAL=2881;BYMONTHDAY=5,29;BYDAY=TU;COUNT=5000', { start: first }),
    '3000-01-01',
  ],
  [
    'full hours of Mondays and Tuesdays of March',
    rrule('FREQ=SECONDLY;INTERVAL=83769;BYMONTH=3;BYDAY=MO,TU;BYMINUTE=0;COUNT=5000', { start: first }),
    '9990-01-01',
  ],
  [
    'two hours of Wednesdays',
    rrule('FREQ=MINUTELY;INTERVAL=1439;BYDAY=WE;BYHOUR=19,23;COUNT=5000', { start: first }),
    '1150-01-01',
  ],
  [
    'the first and the 15th',
    rrule('FREQ=MINUTELY;INTERVAL=10007;BYMONTHDAY=1,15;COUNT=5000', { start: first }),
    '1400-01-01',
  ],
  [
    'New Year',
    rrule('FREQ=MINUTELY;INTERVAL=1441;BYMONTH=1;BYMONTHDAY=1;COUNT=5000', { start: first }),
    '4990-01-01',
  ],
  [
    'Fridays the 13th, rarely',
    rrule('FREQ=MINUTELY;INTERVAL=4042;BYMONTHDAY=13;BYDAY=FR;BYHOUR=0,2,9,11;BYMINUTE=9,14,33;COUNT=5000', {
      start: first,
    }),
    '9700-01-01',
  ],
  [
    'two minutes of certain hours, on some days of July',
    rrule('FREQ=SECONDLY;INTERVAL=340;BYMONTH=7;BYMONTHDAY=7,21;BYDAY=TH,WE;BYMINUTE=18,40;COUNT=5000', {
      start: first,
    }),
    '1031-07-01',
  ],
]

/** The same over a century and longer, mostly in years whose clock changes follow no rule. */
const centuries: readonly HostileCase[] = [
  [
    'monthly since 1800',
    monthly({ day: 31, at: '02:30', gap: 'skip', zone, from: '1800-01-01', times }),
    '2216-06-01',
  ],
  [
    'weekly in Casablanca',
    weekly({
      on: 'sunday',
      at: '02:30',
      overlap: 'both',
      zone: 'Africa/Casablanca',
      from: '2012-01-01',
      times,
    }),
    '2107-09-01',
  ],
  [
    'weekly in Gaza',
    weekly({ on: 'saturday', at: '01:30', overlap: 'both', zone: 'Asia/Gaza', from: '2012-01-01', times }),
    '2107-09-01',
  ],
  [
    'two hours of every first',
    cron('30 1,2 1 * *', { zone, gap: 'skip', overlap: 'both', from: '1900-01-01', times }),
    '2108-03-01',
  ],
  [
    'every March 10',
    yearly({ month: 3, day: 10, at: '02:30', gap: 'skip', zone, from: first, times }),
    '4990-06-01',
  ],
  [
    'every seventh month',
    rrule('FREQ=MONTHLY;INTERVAL=7;BYDAY=1SU;COUNT=5000', {
      start: '1970-01-01T01:30',
      zone,
      overlap: 'both',
    }),
    '4880-01-01',
  ],
]

/** Rules that drift over millennia in zones with clock changes. Every change of every year may matter. */
const millennia: readonly HostileCase[] = [
  [
    'three days of the year that are Fridays',
    rrule('FREQ=HOURLY;INTERVAL=2881;BYYEARDAY=160,197,280;BYDAY=FR;BYSECOND=15,30,38,45', {
      start: '1970-01-01T23:59:59',
      zone: 'Europe/London',
      gap: 'skip',
      times,
    }),
    '9937-09-01',
  ],
  [
    'Tuesdays, Wednesdays and Saturdays the 13th',
    rrule(
      'FREQ=SECONDLY;INTERVAL=77516;BYMONTH=4,8,11;BYMONTHDAY=13;BYDAY=TU,WE,SA;BYHOUR=10,15;BYMINUTE=24,57;COUNT=5000',
      { start: '1970-01-01T02:30', zone: 'Antarctica/Troll', overlap: 'both' },
    ),
    '9518-04-12',
  ],
  [
    'two days of the year',
    rrule('FREQ=HOURLY;INTERVAL=797;BYYEARDAY=120,213;COUNT=5000', {
      start: '0001-01-01T23:59:59',
      zone: 'America/Anchorage',
      gap: 'skip',
      overlap: 'both',
    }),
    '9844-03-26',
  ],
  [
    'every 365 months',
    rrule('FREQ=MONTHLY;INTERVAL=365;BYMONTH=9,12;COUNT=463', {
      start: '0001-01-01T09:00',
      zone: 'Europe/London',
      overlap: 'both',
    }),
    '9977-08-30',
  ],
]

export const hostile = {
  hunted,
  huntedLong,
  counted,
  amended,
  sparse,
  stepped,
  drifting,
  changes,
  centuries,
  millennia,
}
