import { parseSchedule, rrule, type Schedule } from 'carillon/schedule'
import { describe, expect, it } from 'vitest'

const MOST = 2000

// Most intervals divide neither a day nor a year, so every change is checked by itself. The last one does.
const rules = [
  'FREQ=DAILY;INTERVAL=2',
  'FREQ=DAILY;INTERVAL=3;BYDAY=SU',
  'FREQ=DAILY;INTERVAL=5;BYHOUR=1,2;BYSETPOS=1,-1',
  'FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;BYHOUR=1,2,3;BYMINUTE=0,30',
  'FREQ=WEEKLY;INTERVAL=3;BYDAY=SA,SU;BYHOUR=1,2;BYSETPOS=-1',
  'FREQ=MONTHLY;INTERVAL=13;BYDAY=1SU,2SU,-1SU;BYHOUR=1,2',
  'FREQ=YEARLY;INTERVAL=17;BYMONTH=3,4,10,11;BYDAY=SU;BYHOUR=1,2',
  // Only a few kinds of years have a change on these days, and the rule covers more than 400 years.
  'FREQ=DAILY;INTERVAL=2;BYMONTH=3,11;BYMONTHDAY=1,8;BYHOUR=1,2;BYMINUTE=30',
  'FREQ=HOURLY;INTERVAL=5;BYMONTH=3,4,10,11;BYHOUR=0,1,2,3',
  'FREQ=MINUTELY;INTERVAL=50;BYMONTH=3,4,10,11;BYDAY=SU',
  'FREQ=MINUTELY;INTERVAL=480;BYDAY=MO,SU',
]
const zones = ['America/New_York', 'Australia/Lord_Howe', 'Antarctica/Troll', 'America/Santiago']
const policies = [
  { gap: 'skip', overlap: 'both' },
  { gap: 'next', overlap: 'both' },
  { gap: 'shift', overlap: 'first' },
] as const

describe('Rules with an interval, counted across the clock changes of later years,', () => {
  const cases = zones.flatMap((zone) => policies.map(({ gap, overlap }) => ({ zone, gap, overlap })))
  it.each(cases)('end where stepping ends: $zone $gap $overlap', (wall) => {
    const wrong = rules.filter((rule) => {
      const start = '2090-01-01T01:30'
      const last = stepTo(rrule(rule, { start, ...wall }))
      const text = JSON.stringify(rrule(`${rule};COUNT=${MOST}`, { start, ...wall }))
      return parseSchedule(text).next(last - 1) !== last || parseSchedule(text).next(last) !== undefined
    })
    expect(wrong).toEqual([])
  })
})

function stepTo(schedule: Schedule): number {
  let at = 0
  for (let step = 0; step < MOST; step++) at = schedule.next(at)!
  return at
}
