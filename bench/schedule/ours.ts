import { cron, daily, every, monthly, rrule, type Schedule, weekly, yearly } from 'carillon/schedule'
import type { Kind } from './kinds.js'
import type { Next } from './passes.js'

const at = '09:00'
const start = '2020-01-01T09:00'

const builders: Readonly<Record<string, (zone: string) => Schedule>> = {
  every: () => every('15m'),
  daily: (zone) => daily({ at, zone }),
  weekly: (zone) => weekly({ on: 'monday', at, zone }),
  monthly: (zone) => monthly({ day: 31, at, zone }),
  yearly: (zone) => yearly({ month: 2, day: 29, at, zone }),
  'last Friday': (zone) => rrule('FREQ=MONTHLY;BYDAY=-1FR', { start, zone }),
  'every other week': (zone) => rrule('FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR', { start, zone }),
  'last workday': (zone) => rrule('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', { start, zone }),
  hourly: (zone) => rrule('FREQ=HOURLY', { start, zone }),
}

export function ours({ built, croner, zone }: Kind): Next {
  const schedule = built === undefined ? cron(croner!, { zone }) : builders[built]!(zone)
  return (after) => schedule.next(after) ?? Infinity
}
