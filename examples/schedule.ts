/** Schedules: their occurrences, their explanations, and the effect of a change. */
import {
  catchUp,
  cron,
  daily,
  diff,
  every,
  parseSchedule,
  rrule,
  simulate,
  tzdataVersion,
  yearly,
} from 'carillon/schedule'

const zone = 'America/New_York'
const show = (at: number | undefined) => (at === undefined ? 'never' : new Date(at).toISOString())

console.log(`tz database ${tzdataVersion()}\n`)

const birthday = yearly({ month: 2, day: 29, at: '09:00', zone, invalidDate: 'backward' })
console.log(birthday.describe())
for (const { local, offset, reasons } of birthday.preview(2, { from: Date.UTC(2027, 0, 1) })) {
  console.log(`  ${local}${offset}`, ...reasons)
}

const nightly = cron('30 2 * * *', { zone })
console.log(`\n${nightly.describe()}`)
for (const { local, offset, reasons } of nightly.preview(3, { from: Date.UTC(2027, 2, 13) })) {
  console.log(`  ${local}${offset}`, ...reasons)
}

const stored = JSON.stringify(nightly)
console.log(`\nstored as ${stored}`)
console.log(`restored, next is ${show(parseSchedule(stored).next(Date.UTC(2027, 2, 14)))}`)

const payday = rrule('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', { start: '2027-01-01T12:00', zone })
console.log(`\n${payday.describe()}: ${show(payday.next(Date.UTC(2027, 4, 1)))}`)

// Midnight reports, spread over ten minutes. Each user always has the same moment.
const report = daily({ zone, jitter: '10m' })
console.log('\nmidnight, by user:')
for (const seed of ['user:1', 'user:2', 'user:3'])
  console.log(`  ${seed} ${show(report.next(Date.UTC(2027, 0, 1), { seed }))}`)

const hourly = every('1h', { missed: 'all', missedLimit: 3 })
const asleep = catchUp(hourly, { lastOccurrence: Date.UTC(2027, 0, 1, 3), now: Date.UTC(2027, 0, 1, 12, 5) })
console.log(`\nafter nine hours asleep: fire ${asleep.fire.map(show).join(', ')}; next ${show(asleep.next)}`)

const week = { from: Date.UTC(2027, 2, 12), to: Date.UTC(2027, 2, 17) }
const change = diff(
  simulate({ backup: nightly }, week),
  simulate({ backup: cron('30 2 * * *', { zone, gap: 'skip' }) }, week),
)
console.log(
  `\nskipping gaps would remove ${change.removed.map(({ at }) => show(at)).join(', ')}, and nothing else:`,
)
console.log(`  ${change.unchanged} unchanged, ${change.added.length} added, ${change.moved.length} moved`)
