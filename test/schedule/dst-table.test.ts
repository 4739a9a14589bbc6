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
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'

/** One local time in one zone, and what is special about it. */
interface Case {
  readonly what: string
  readonly zone: string
  readonly local: string
  /** How many minutes are missing, or come twice. 0 if nothing is special. */
  readonly minutes: number
  readonly kind: 'gap' | 'overlap' | 'plain'
}

const gap = (what: string, zone: string, local: string, minutes: number): Case => ({
  what,
  zone,
  local,
  minutes,
  kind: 'gap',
})
const overlap = (what: string, zone: string, local: string, minutes: number): Case => ({
  ...gap(what, zone, local, minutes),
  kind: 'overlap',
})
const plain = (what: string, zone: string, local: string): Case => ({
  ...gap(what, zone, local, 0),
  kind: 'plain',
})

const cases: readonly Case[] = [
  gap('30 minutes', 'Australia/Lord_Howe', '2026-10-04T02:15', 30),
  gap('30 minutes, its first minute', 'Australia/Lord_Howe', '2026-10-04T02:00', 30),
  overlap('30 minutes', 'Australia/Lord_Howe', '2026-04-05T01:45', 30),
  gap('30 minutes for good', 'America/Caracas', '2016-05-01T02:45', 30),
  overlap('30 minutes for good', 'America/Caracas', '2007-12-09T02:45', 30),
  gap('60 minutes', 'America/New_York', '2027-03-14T02:30', 60),
  gap('60 minutes, its first minute', 'America/New_York', '2027-03-14T02:00', 60),
  gap('60 minutes, its last minute', 'America/New_York', '2027-03-14T02:59', 60),
  overlap('60 minutes', 'America/New_York', '2027-11-07T01:30', 60),
  overlap('60 minutes, its first minute', 'America/New_York', '2027-11-07T01:00', 60),
  overlap('60 minutes, its last minute', 'America/New_York', '2027-11-07T01:59', 60),
  gap('60 minutes in Europe', 'Europe/Berlin', '2027-03-28T02:30', 60),
  overlap('60 minutes in Europe', 'Europe/Berlin', '2027-10-31T02:30', 60),
  gap('negative summer time', 'Europe/Dublin', '2027-03-28T01:30', 60),
  overlap('negative summer time', 'Europe/Dublin', '2027-10-31T01:30', 60),
  overlap('Ramadan begins', 'Africa/Casablanca', '2026-02-15T02:30', 60),
  gap('Ramadan ends', 'Africa/Casablanca', '2026-03-22T02:30', 60),
  gap('120 minutes', 'Antarctica/Troll', '2026-03-29T02:30', 120),
  overlap('120 minutes', 'Antarctica/Troll', '2026-10-25T01:30', 120),
  overlap('120 minutes, their second hour', 'Antarctica/Troll', '2026-10-25T02:30', 120),
  gap('midnight', 'Atlantic/Azores', '2027-03-28T00:00', 60),
  gap('midnight', 'America/Havana', '2027-03-14T00:30', 60),
  gap('midnight', 'Asia/Beirut', '2027-03-28T00:00', 60),
  gap('midnight, southern', 'America/Santiago', '2026-09-06T00:30', 60),
  overlap('midnight, southern', 'America/Santiago', '2026-04-04T23:30', 60),
  gap('midnight, southern', 'America/Sao_Paulo', '2018-11-04T00:00', 60),
  overlap('just after midnight', 'America/St_Johns', '2006-10-28T23:30', 60),
  gap('a skipped day', 'Pacific/Apia', '2011-12-30T09:00', 1440),
  gap('a skipped day, its first minute', 'Pacific/Apia', '2011-12-30T00:00', 1440),
  gap('a skipped day, its last minute', 'Pacific/Apia', '2011-12-30T23:59', 1440),
  gap('a skipped day', 'Pacific/Kwajalein', '1993-08-21T12:00', 1440),
  gap('southern', 'Australia/Sydney', '2026-10-04T02:30', 60),
  overlap('southern', 'Australia/Sydney', '2026-04-05T02:30', 60),
  gap('southern, quarter hours', 'Pacific/Chatham', '2026-09-27T03:00', 60),
  overlap('southern, quarter hours', 'Pacific/Chatham', '2026-04-05T03:00', 60),
  gap('a week of summer', 'America/Recife', '2000-10-08T00:30', 60),
  overlap('a week of summer', 'America/Recife', '2000-10-14T23:30', 60),
  gap('far out', 'America/New_York', '2999-03-10T02:30', 60),
  overlap('far out', 'Europe/Paris', '9998-10-25T02:30', 60),
  plain('no daylight saving', 'Asia/Tokyo', '2027-03-14T02:30'),
  plain('no daylight saving', 'Asia/Kolkata', '2027-11-07T01:30'),
  plain('an alias', 'Asia/Calcutta', '2027-11-07T01:30'),
  plain('three quarters of an hour', 'Asia/Kathmandu', '2027-03-28T00:00'),
  plain('UTC', 'UTC', '2027-03-28T02:30'),
  plain('a fixed offset', '+05:30', '2027-03-28T02:30'),
  plain('the hour before a gap', 'America/New_York', '2027-03-14T01:59'),
  plain('the hour after a gap', 'America/New_York', '2027-03-14T03:00'),
  plain('the hour after an overlap', 'America/New_York', '2027-11-07T02:00'),
  plain('the minute before an overlap', 'America/New_York', '2027-11-07T00:59'),
  plain('before standard time', 'America/New_York', '1850-06-01T12:00'),
]

const gaps: readonly Gap[] = ['next', 'shift', 'skip']
const overlaps: readonly Overlap[] = ['first', 'second', 'both']

interface Policy {
  readonly zone: string
  readonly gap: Gap
  readonly overlap: Overlap
}

interface Builder {
  readonly name: string
  /** Whether the schedule also fires at this time on the days before and after. */
  readonly isDaily: boolean
  readonly make: (local: Temporal.PlainDateTime, policy: Policy) => Schedule
}

const builders: readonly Builder[] = [
  {
    name: 'cron',
    isDaily: true,
    make: ({ minute, hour }, policy) => cron(`${minute} ${hour} * * *`, policy),
  },
  {
    name: 'cron with seconds',
    isDaily: true,
    make: ({ minute, hour }, policy) => cron(`0 ${minute} ${hour} * * *`, policy),
  },
  {
    name: 'cron on a date',
    isDaily: false,
    make: ({ minute, hour, day, month }, policy) => cron(`${minute} ${hour} ${day} ${month} *`, policy),
  },
  { name: 'daily', isDaily: true, make: (local, policy) => daily({ at: time(local), ...policy }) },
  {
    name: 'weekly',
    isDaily: false,
    make: (local, policy) => weekly({ on: weekdays[local.dayOfWeek - 1]!, at: time(local), ...policy }),
  },
  {
    name: 'monthly',
    isDaily: false,
    make: (local, policy) => monthly({ day: local.day, at: time(local), ...policy }),
  },
  {
    name: 'yearly',
    isDaily: false,
    make: (local, policy) => yearly({ month: local.month, day: local.day, at: time(local), ...policy }),
  },
  {
    name: 'rrule',
    isDaily: true,
    make: (local, policy) => rrule('FREQ=DAILY', { start: `1800-01-01T${time(local)}`, ...policy }),
  },
  {
    name: 'rrule that starts there',
    isDaily: false,
    make: (local, policy) => rrule('FREQ=WEEKLY', { start: local.toString(), ...policy }),
  },
  {
    name: 'rrule of minutes with BYHOUR',
    isDaily: true,
    make: ({ hour, minute }, policy) =>
      rrule(`FREQ=MINUTELY;BYHOUR=${hour};BYMINUTE=${minute}`, { start: '1800-01-01T00:00', ...policy }),
  },
]

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

describe.each(cases)('$what $kind in $zone at $local:', ({ zone, local, minutes, kind }) => {
  const plainTime = Temporal.PlainDateTime.from(local)

  it('Temporal agrees with the table', () => {
    const earlier = plainTime.toZonedDateTime(zone, { disambiguation: 'earlier' })
    const later = plainTime.toZonedDateTime(zone, { disambiguation: 'later' })
    const exists = earlier.toPlainDateTime().equals(plainTime)
    expect(exists).toBe(kind !== 'gap')
    expect(earlier.until(later).total('minutes')).toBe(minutes)
  })

  it.each(builders)('$name follows every gap and overlap rule', ({ isDaily, make }) => {
    for (const gapRule of gaps) {
      for (const overlapRule of overlaps) {
        const policy = { zone, gap: gapRule, overlap: overlapRule }
        const locals = isDaily ? [-2, -1, 0, 1, 2].map((days) => plainTime.add({ days })) : [plainTime]
        const expected = within(
          locals.flatMap((named) => byTemporal(named, policy)),
          plainTime,
          zone,
        )
        const found = occurrencesAround(make(plainTime, policy), plainTime, zone)
        expect({ ...policy, found }).toEqual({ ...policy, found: expected })
      }
    }
  })

  it('a cron whose hour is a wildcard, range or step fires once at each instant that exists', () => {
    const expected = kind === 'gap' ? [] : byTemporal(plainTime, { zone, gap: 'skip', overlap: 'both' })
    const { hour, minute, day, month } = plainTime
    for (const hours of [`${hour}-${hour}`, `${hour}/1`, '*']) {
      for (const [gapRule, overlapRule] of gaps.map((rule, i) => [rule, overlaps[i]!] as const)) {
        const schedule = cron(`${minute} ${hours} ${day} ${month} *`, {
          zone,
          gap: gapRule,
          overlap: overlapRule,
        })
        const found = occurrencesAround(schedule, plainTime, zone).filter((at) =>
          Temporal.Instant.fromEpochMilliseconds(at)
            .toZonedDateTimeISO(zone)
            .toPlainDateTime()
            .equals(plainTime),
        )
        expect(found).toEqual(expected)
      }
    }
  })
})

/** The expected instants of a local time, computed by Temporal alone. */
function byTemporal(local: Temporal.PlainDateTime, policy: Policy): number[] {
  const earlier = local.toZonedDateTime(policy.zone, { disambiguation: 'earlier' })
  const later = local.toZonedDateTime(policy.zone, { disambiguation: 'later' })
  if (earlier.equals(later)) return [earlier.epochMilliseconds]
  if (!earlier.toPlainDateTime().equals(local)) {
    if (policy.gap === 'skip') return []
    if (policy.gap === 'shift') return [later.epochMilliseconds]
    return [earlier.getTimeZoneTransition('next')!.epochMilliseconds]
  }
  const both = [earlier.epochMilliseconds, later.epochMilliseconds]
  return policy.overlap === 'both' ? both : [both[policy.overlap === 'first' ? 0 : 1]!]
}

const A_DAY_AND_A_HALF = 36 * 3_600_000

function windowAround(local: Temporal.PlainDateTime, zone: string): readonly [from: number, to: number] {
  const from = local.toZonedDateTime(zone, { disambiguation: 'earlier' }).epochMilliseconds
  const to = local.toZonedDateTime(zone, { disambiguation: 'later' }).epochMilliseconds
  return [from - A_DAY_AND_A_HALF, to + A_DAY_AND_A_HALF]
}

function within(instants: readonly number[], local: Temporal.PlainDateTime, zone: string): number[] {
  const [from, to] = windowAround(local, zone)
  return [...new Set(instants)].filter((at) => at >= from && at <= to).sort((a, b) => a - b)
}

function occurrencesAround(schedule: Schedule, local: Temporal.PlainDateTime, zone: string): number[] {
  const [from, to] = windowAround(local, zone)
  const found: number[] = []
  for (let at = schedule.next(from - 1); at !== undefined && at <= to; at = schedule.next(at)) found.push(at)
  return found
}

function time(local: Temporal.PlainDateTime): string {
  return local.toPlainTime().toString({ smallestUnit: 'minute' })
}
