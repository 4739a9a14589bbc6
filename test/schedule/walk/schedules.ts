import {
  cron,
  daily,
  type Gap,
  monthly,
  type Overlap,
  rrule,
  type Schedule,
  weekly,
  yearly,
} from 'carillon/schedule'

/** A date as the predicates below take it. Sunday is 0. */
export interface WalkedDay {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly weekday: number
  readonly length: number
}

/** A schedule, and a predicate written by hand for the local minutes that it matches. */
export interface WalkedSchedule {
  readonly name: string
  readonly make: (zone: string) => Schedule
  readonly on: (date: WalkedDay) => boolean
  readonly at: (hour: number, minute: number) => boolean
  /** `'elapsed'` is for a schedule that follows elapsed time. */
  readonly policy: { readonly gap: Gap; readonly overlap: Overlap } | 'elapsed'
}

const usual = { gap: 'next', overlap: 'first' } as const
const always = () => true
const workday = ({ weekday }: WalkedDay) => weekday >= 1 && weekday <= 5
const clock = (...times: string[]) => {
  const wanted = new Set(times)
  return (hour: number, minute: number) =>
    wanted.has(`${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`)
}

function running(expression: string, on: WalkedSchedule['on'], at: WalkedSchedule['at']): WalkedSchedule {
  return { name: expression, make: (zone) => cron(expression, { zone }), on, at, policy: 'elapsed' }
}

function fixed(
  expression: string,
  on: WalkedSchedule['on'],
  at: WalkedSchedule['at'],
  policy: { readonly gap: Gap; readonly overlap: Overlap } = usual,
): WalkedSchedule {
  const name = `${expression} ${policy.gap} ${policy.overlap}`
  return { name, make: (zone) => cron(expression, { zone, ...policy }), on, at, policy }
}

function calendar(
  name: string,
  make: WalkedSchedule['make'],
  on: WalkedSchedule['on'],
  at: WalkedSchedule['at'],
  policy: { readonly gap: Gap; readonly overlap: Overlap } = usual,
): WalkedSchedule {
  return { name, make, on, at, policy }
}

/** Fifty schedules that cover every kind of field, every builder and every policy. */
export const walkedSchedules: readonly WalkedSchedule[] = [
  running('* * * * *', always, always),
  running('*/5 * * * *', always, (_, minute) => minute % 5 === 0),
  running('*/30 * * * *', always, (_, minute) => minute % 30 === 0),
  running('7 * * * *', always, (_, minute) => minute === 7),
  running('0 */2 * * *', always, (hour, minute) => hour % 2 === 0 && minute === 0),
  running('15 9-17 * * MON-FRI', workday, (hour, minute) => hour >= 9 && hour <= 17 && minute === 15),
  running('59 0-4 * * *', always, (hour, minute) => hour <= 4 && minute === 59),
  running(
    '*/20 1-3,22 * * SUN',
    ({ weekday }) => weekday === 0,
    (hour, minute) => ((hour >= 1 && hour <= 3) || hour === 22) && minute % 20 === 0,
  ),
  running(
    '0 0-23/6 1 * *',
    ({ day }) => day === 1,
    (hour, minute) => hour % 6 === 0 && minute === 0,
  ),
  running('30 1/3 * * *', always, (hour, minute) => hour % 3 === 1 && minute === 30),
  fixed('0 0 * * *', always, clock('00:00')),
  fixed('30 2 * * *', always, clock('02:30')),
  fixed('30 2 * * *', always, clock('02:30'), { gap: 'shift', overlap: 'second' }),
  fixed('30 2 * * *', always, clock('02:30'), { gap: 'skip', overlap: 'both' }),
  fixed('30 0 * * *', always, clock('00:30'), { gap: 'next', overlap: 'both' }),
  fixed('30 0 * * *', always, clock('00:30'), { gap: 'shift', overlap: 'first' }),
  fixed('30 0 * * *', always, clock('00:30'), { gap: 'skip', overlap: 'second' }),
  fixed('*/10 2 * * *', always, (hour, minute) => hour === 2 && minute % 10 === 0),
  fixed('*/10 2 * * *', always, (hour, minute) => hour === 2 && minute % 10 === 0, {
    gap: 'shift',
    overlap: 'both',
  }),
  fixed('* 1 * * *', always, (hour) => hour === 1, { gap: 'skip', overlap: 'second' }),
  fixed('* 0,23 * * *', always, (hour) => hour === 0 || hour === 23, { gap: 'shift', overlap: 'second' }),
  fixed('45 1,2,3 * * *', always, clock('01:45', '02:45', '03:45')),
  fixed('0 9 * * 1-5', workday, clock('09:00')),
  fixed('0 12 1,15 * *', ({ day }) => day === 1 || day === 15, clock('12:00')),
  fixed('0 12 13 * FRI', ({ day, weekday }) => day === 13 || weekday === 5, clock('12:00')),
  fixed('0 12 */2 * MON', ({ day, weekday }) => day % 2 === 1 && weekday === 1, clock('12:00')),
  fixed('30 1 29 2 *', ({ month, day }) => month === 2 && day === 29, clock('01:30')),
  fixed('0 3 L * *', ({ day, length }) => day === length, clock('03:00')),
  fixed('0 3 L-2 * *', ({ day, length }) => day === length - 2, clock('03:00')),
  fixed('0 3 15W * *', nearest15, clock('03:00')),
  fixed('0 3 LW * *', isLastWorkday, clock('03:00')),
  fixed(
    '30 2 * 3,10 SUN#2',
    ({ month, weekday, day }) => isNth(weekday, day, 0, 2) && [3, 10].includes(month),
    clock('02:30'),
  ),
  fixed('30 1 * * 0L', ({ weekday, day, length }) => weekday === 0 && day > length - 7, clock('01:30'), {
    gap: 'shift',
    overlap: 'both',
  }),
  fixed('0 6 31 * *', ({ day }) => day === 31, clock('06:00')),
  fixed(
    '5 4 1-7 APR-JUN 6',
    ({ month, day, weekday }) => month >= 4 && month <= 6 && (day <= 7 || weekday === 6),
    clock('04:05'),
  ),
  calendar('daily 00:00', (zone) => daily({ zone }), always, clock('00:00')),
  calendar(
    'daily 01:30, 02:15 and 23:45',
    (zone) => daily({ zone, at: ['23:45', '01:30', '02:15'], gap: 'shift', overlap: 'both' }),
    always,
    clock('01:30', '02:15', '23:45'),
    { gap: 'shift', overlap: 'both' },
  ),
  calendar(
    'daily 00:00 skipped',
    (zone) => daily({ zone, gap: 'skip', overlap: 'second' }),
    always,
    clock('00:00'),
    { gap: 'skip', overlap: 'second' },
  ),
  calendar(
    'weekly Sunday 02:30',
    (zone) => weekly({ zone, on: 'sunday', at: '02:30' }),
    ({ weekday }) => weekday === 0,
    clock('02:30'),
  ),
  calendar(
    'weekly Friday and Saturday 00:00',
    (zone) => weekly({ zone, on: ['saturday', 'friday'], overlap: 'second' }),
    ({ weekday }) => weekday >= 5,
    clock('00:00'),
    { gap: 'next', overlap: 'second' },
  ),
  calendar(
    'monthly 31 backward',
    (zone) => monthly({ zone, day: 31, at: '02:30' }),
    ({ day, length }) => day === length,
    clock('02:30'),
  ),
  calendar(
    'monthly 30 forward',
    (zone) => monthly({ zone, day: 30, at: '00:00', invalidDate: 'forward' }),
    ({ day, month }) => day === 30 || (day === 1 && month === 3),
    clock('00:00'),
  ),
  calendar(
    'monthly 29 skip',
    (zone) => monthly({ zone, day: 29, at: '02:00', invalidDate: 'skip' }),
    ({ day }) => day === 29,
    clock('02:00'),
  ),
  calendar(
    'yearly February 29 backward',
    (zone) => yearly({ zone, month: 2, day: 29, at: '09:00' }),
    ({ month, day, length }) => month === 2 && day === length,
    clock('09:00'),
  ),
  calendar(
    'yearly February 29 forward',
    (zone) => yearly({ zone, month: 2, day: 29, at: '00:30', invalidDate: 'forward' }),
    ({ year, month, day }) => (year % 4 === 0 ? month === 2 && day === 29 : month === 3 && day === 1),
    clock('00:30'),
  ),
  calendar(
    'rrule last Sunday of March and October',
    (zone) => rrule('FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU', { zone, start: '1970-01-01T01:30', gap: 'shift' }),
    ({ month, weekday, day, length }) => (month === 3 || month === 10) && weekday === 0 && day > length - 7,
    clock('01:30'),
    { gap: 'shift', overlap: 'first' },
  ),
  calendar(
    'rrule every third day',
    (zone) => rrule('FREQ=DAILY;INTERVAL=3', { zone, start: '1970-01-01T02:30', overlap: 'both' }),
    ({ year, month, day }) => (Date.UTC(year, month - 1, day) / 86_400_000) % 3 === 0,
    clock('02:30'),
    { gap: 'next', overlap: 'both' },
  ),
  calendar(
    'rrule last workday of the month',
    (zone) => rrule('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', { zone, start: '1970-01-01T00:00' }),
    isLastWorkday,
    clock('00:00'),
  ),
  {
    name: 'rrule every hour on the half',
    make: (zone) => rrule('FREQ=HOURLY', { zone, start: '1970-01-01T00:30' }),
    on: always,
    at: (_, minute) => minute === 30,
    policy: 'elapsed',
  },
  calendar(
    'rrule every other week',
    (zone) => rrule('FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU', { zone, start: '1970-01-05T00:00', gap: 'skip' }),
    ({ year, month, day, weekday }) =>
      (weekday === 2 || weekday === 0) &&
      Math.floor((Date.UTC(year, month - 1, day) / 86_400_000 - 4) / 7) % 2 === 0,
    clock('00:00'),
    { gap: 'skip', overlap: 'first' },
  ),
]

function isNth(weekday: number, day: number, wanted: number, nth: number): boolean {
  return weekday === wanted && day > 7 * (nth - 1) && day <= 7 * nth
}

function nearest15({ day, weekday }: WalkedDay): boolean {
  // The 15th if it is a workday, the Friday before if it is a Saturday, the Monday after if it is a Sunday.
  return (
    (day === 15 && weekday >= 1 && weekday <= 5) ||
    (day === 14 && weekday === 5) ||
    (day === 16 && weekday === 1)
  )
}

function isLastWorkday({ day, weekday, length }: WalkedDay): boolean {
  const left = length - day
  return weekday === 5 ? left <= 2 : weekday >= 1 && weekday <= 4 && left === 0
}
