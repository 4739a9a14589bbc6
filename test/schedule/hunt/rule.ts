import { cron, daily, every, monthly, rrule, type Schedule, weekly, yearly } from 'carillon/schedule'
import type { Random } from './random.js'

/** A schedule that can be made repeatedly, each time without cached data for it or its zone. */
export interface HuntedRule {
  readonly text: string
  readonly make: (zone: string) => Schedule
  readonly zone: string
}

const zones = [
  'UTC',
  'America/New_York',
  'America/New_York',
  'Europe/London',
  'Europe/Paris',
  'Europe/Berlin',
  'Europe/Dublin',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'America/Santiago',
  'America/Sao_Paulo',
  'Pacific/Apia',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Asia/Gaza',
  'Asia/Tehran',
  'Asia/Kolkata',
  'Asia/Manila',
  'America/Argentina/Tucuman',
  'America/Anchorage',
]

const weekdayCodes = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
const weekdayNames = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
const frequencies = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY']
const shortFrequencies = new Set(['HOURLY', 'MINUTELY', 'SECONDLY'])
const starts = [
  '0001-01-01',
  '0001-01-01',
  '1583-02-28',
  '1799-12-31',
  '1900-01-01',
  '1970-01-01',
  '2026-03-08',
]
const intervals = [
  2, 3, 4, 5, 7, 12, 13, 17, 25, 28, 97, 365, 366, 400, 997, 1439, 1441, 1461, 2881, 10_007, 83_769, 86_399,
  86_401,
]

/** A random rule of any kind, with a preference for hard ones. */
export function anyRule(random: Random): HuntedRule {
  const zone = random.oneOf(zones)
  const kind = random.fraction()
  if (kind < 0.6) return anyRrule(random, zone)
  if (kind < 0.78) return anyCron(random, zone)
  if (kind < 0.98) return anyCalendar(random, zone)
  const ms = random.oneOf([1, 7, 1000, 86_400_000, 86_399_999])
  const terms = anyTerms(random)
  return { text: `every(${ms}, ${shown(terms)})`, zone: 'UTC', make: () => every(ms, terms) }
}

function anyRrule(random: Random, zone: string): HuntedRule {
  const freq = random.oneOf(frequencies)
  const isShort = shortFrequencies.has(freq)
  const parts = [`FREQ=${freq}`]
  const add = (name: string, values: readonly (number | string)[]) =>
    parts.push(`${name}=${values.join(',')}`)
  const maybe = (name: string, probability: number, min: number, max: number, most: number) => {
    if (!random.chance(probability)) return
    const length = random.chance(0.1) ? Math.min(max - min, 60) : most
    add(name, random.someOf(range(min, max), length))
  }
  if (random.chance(0.6)) {
    const limit = random.oneOf([10, 1000, 100_000])
    add('INTERVAL', [random.chance(0.6) ? random.oneOf(intervals) : random.between(2, limit)])
  }
  const limit = random.fraction()
  if (limit < 0.6) add('COUNT', [random.chance(0.8) ? 5000 : random.between(1, 5000)])
  else if (limit < 0.7) add('UNTIL', [random.oneOf(['20380101T000000Z', '20991231', '99991231T235959'])])
  if (random.chance(0.2)) add('WKST', [random.oneOf(weekdayCodes)])
  maybe('BYMONTH', 0.35, 1, 12, 3)
  const hasWeekNumbers = freq === 'YEARLY' && random.chance(0.25)
  if (hasWeekNumbers) add('BYWEEKNO', random.someOf([...range(-53, 53)], 4))
  if (freq === 'YEARLY' || isShort) maybe('BYYEARDAY', 0.2, -366, 366, 5)
  if (freq !== 'WEEKLY') maybe('BYMONTHDAY', 0.35, -31, 31, 3)
  if (random.chance(0.45)) {
    const takesNth = (freq === 'YEARLY' || freq === 'MONTHLY') && !hasWeekNumbers
    const codes = random.someOf(weekdayCodes, random.oneOf([1, 2, 3, 5]))
    const most = freq === 'MONTHLY' ? 5 : 53
    add(
      'BYDAY',
      codes.map((code) =>
        takesNth && random.chance(0.5)
          ? `${random.oneOf([1, 2, -1, 5, -5, random.between(1, most)])}${code}`
          : code,
      ),
    )
  }
  maybe('BYHOUR', 0.35, 0, 23, 4)
  maybe('BYMINUTE', 0.3, 0, 59, 4)
  maybe('BYSECOND', 0.2, 0, 59, 4)
  if (parts.some((part) => part.startsWith('BY'))) maybe('BYSETPOS', 0.25, -366, 366, 4)
  const text = parts.join(';')
  const start = `${random.oneOf(starts)}T${random.oneOf(['00:00', '01:30', '02:30', '09:00', '23:59:59'])}`
  const wall = anyWall(random)
  const amendments = random.chance(0.3) ? anyAmendments(random, start.slice(0, 4)) : {}
  const mayCount = !text.includes('COUNT') && !('also' in amendments) && random.chance(0.5)
  const options = { start, ...wall, ...amendments, ...(mayCount && { times: 5000 }) }
  return {
    text: `rrule('${text}', ${shown(options)})`,
    zone,
    make: (inZone) => rrule(text, { zone: inZone, ...options }),
  }
}

function anyAmendments(random: Random, year: string): { except?: string[]; also?: string[] } {
  const first = Date.parse(`${random.chance(0.5) ? year : '2020'}-01-01`)
  const step = random.oneOf([1, 1, 7, 365, 4000]) * 86_400_000
  const time = random.oneOf(['', 'T00:00', 'T02:30', 'T09:00', 'T14:00Z'])
  const list = (count: number) =>
    range(0, count - 1)
      .map((i) => first + i * step)
      .filter((at) => at < Date.parse('9999-01-01'))
      .map((at) => new Date(at).toISOString().slice(0, 10) + time)
  return {
    ...(random.chance(0.8) && { except: list(random.oneOf([1, 12, 256])) }),
    ...(random.chance(0.3) && { also: list(random.oneOf([1, 12, 256])) }),
  }
}

function anyCron(random: Random, zone: string): HuntedRule {
  const field = (min: number, max: number): string => {
    const kind = random.fraction()
    if (kind < 0.35) return '*'
    if (kind < 0.65) return random.someOf(range(min, max), 4).join(',')
    if (kind < 0.8) return `*/${random.between(1, max - min)}`
    const [a, b] = [random.between(min, max), random.between(min, max)]
    return `${Math.min(a, b)}-${Math.max(a, b)}`
  }
  const days = random.chance(0.7)
    ? field(1, 31)
    : random.oneOf(['L', 'L-30', 'L-28', '15W', 'LW', '31W', '1W,L', '29', '31'])
  const weekdays = random.chance(0.7)
    ? field(0, 6)
    : random.oneOf(['MON-FRI', 'SUN#2', 'SUN#5', '5L', 'MON#1,FRI#5', '*/7', 'SUN#1'])
  const seconds = random.chance(0.3) ? `${field(0, 59)} ` : ''
  const text = `${seconds}${field(0, 59)} ${field(0, 23)} ${days} ${field(1, 12)} ${weekdays}`
  const options = { ...anyWall(random), ...anyTerms(random) }
  return {
    text: `cron('${text}', ${shown(options)})`,
    zone,
    make: (inZone) => cron(text, { zone: inZone, ...options }),
  }
}

function anyCalendar(random: Random, zone: string): HuntedRule {
  const at = range(1, random.oneOf([1, 1, 2, 96])).map(() => {
    const minute = random.oneOf([0, 30, 90, 120, 150, random.between(0, 1439)])
    return new Date(minute * 60_000).toISOString().slice(11, 16)
  })
  const options = { at, ...anyWall(random), ...anyTerms(random) }
  const invalidDate = random.oneOf(['backward', 'forward', 'skip'] as const)
  const builder = random.oneOf(['daily', 'weekly', 'monthly', 'yearly'] as const)
  if (builder === 'daily') {
    return { text: `daily(${shown(options)})`, zone, make: (inZone) => daily({ zone: inZone, ...options }) }
  }
  if (builder === 'weekly') {
    const weekday = { on: random.someOf(weekdayNames, 3), ...options }
    return { text: `weekly(${shown(weekday)})`, zone, make: (inZone) => weekly({ zone: inZone, ...weekday }) }
  }
  if (builder === 'monthly') {
    const day = { day: random.someOf([1, 10, 28, 29, 30, 31, 'last'] as const, 3), invalidDate, ...options }
    return { text: `monthly(${shown(day)})`, zone, make: (inZone) => monthly({ zone: inZone, ...day }) }
  }
  const [month, day] = random.oneOf([
    [2, 29],
    [2, 28],
    [3, 10],
    [3, 31],
    [11, 7],
    [12, 31],
  ] as const)
  const date = { month, day, invalidDate, ...options }
  return { text: `yearly(${shown(date)})`, zone, make: (inZone) => yearly({ zone: inZone, ...date }) }
}

function anyWall(random: Random) {
  return {
    gap: random.oneOf(['next', 'shift', 'skip'] as const),
    overlap: random.oneOf(['first', 'second', 'both'] as const),
  }
}

function anyTerms(random: Random) {
  const kind = random.fraction()
  if (kind < 0.2) return {}
  const from = random.oneOf(starts)
  const window = random.chance(0.1) ? { window: '1h' as const } : {}
  if (kind < 0.3) return { from, until: '9998-01-01', ...window }
  return { from, times: random.chance(0.8) ? 5000 : random.between(1, 5000), ...window }
}

function range(min: number, max: number): number[] {
  return Array.from({ length: max - min + 1 }, (_, i) => min + i).filter((value) => value !== 0 || min === 0)
}

function shown(options: object): string {
  return JSON.stringify(options)
}
