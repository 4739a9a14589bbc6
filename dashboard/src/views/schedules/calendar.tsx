import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Occurrence, Preview, ScheduleJson } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { useResource } from '../../state/resource.ts'
import { Button, Loaded } from '../../ui/basics.tsx'
import { dateOf, plural } from '../../ui/format.ts'
import { changesOfClocks, type Month, monthName, monthOf, startOf } from './month.ts'

const MOST = 100
const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
/** How many times of one day fit into its field. */
const TIMES = 3

/** A month of a schedule, in its zone, with the days on which clocks change. */
export function Calendar({ schedule }: { readonly schedule: ScheduleJson }): JSX.Element {
  const zone = schedule.zone ?? 'UTC'
  const month = useSignal<Month>(monthOf(now.peek(), zone))
  const from = startOf(month.value, 1, zone)
  const preview = useResource(`calendar ${from} ${JSON.stringify(schedule)}`, (api, signal) =>
    api.send<Preview>('POST', '/v1/schedules/preview', { on: schedule, count: MOST, from }, { signal }),
  )
  const step = (months: number): void => {
    const date = new Date(Date.UTC(month.value.year, month.value.month - 1 + months, 1))
    month.value = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1 }
  }
  return (
    <section class="calendar" aria-label="Calendar">
      <header class="calendar-head">
        <Button tone="quiet" aria-label="Previous month" onClick={() => step(-1)}>
          ‹
        </Button>
        <h3>
          {monthName(month.value)} <span class="muted">{zone}</span>
        </h3>
        <Button tone="quiet" aria-label="Next month" onClick={() => step(1)}>
          ›
        </Button>
      </header>
      <Loaded from={preview} what="calendar">
        {({ occurrences }) => <Days month={month.value} zone={zone} occurrences={occurrences} />}
      </Loaded>
    </section>
  )
}

function Days({
  month,
  zone,
  occurrences,
}: {
  readonly month: Month
  readonly zone: string
  readonly occurrences: readonly Occurrence[]
}): JSX.Element {
  const first = new Date(Date.UTC(month.year, month.month - 1, 1))
  const length = new Date(Date.UTC(month.year, month.month, 0)).getUTCDate()
  const offset = (first.getUTCDay() + 6) % 7
  const weeks = Math.ceil((offset + length) / 7)
  const changes = changesOfClocks(month, length, zone)
  const byDay = groupByDay(occurrences)
  const last = occurrences.at(-1)
  const isCut = occurrences.length === MOST && last !== undefined && dayOf(last).startsWith(prefix(month))
  const today = dateOf(now.value, zone)
  return (
    <>
      <table class="month">
        <thead>
          <tr>
            {weekdays.map((day) => (
              <th key={day} scope="col">
                {day}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: weeks }, (_, week) => (
            <tr key={week}>
              {weekdays.map((weekday, column) => {
                const day = week * 7 + column - offset + 1
                if (day < 1 || day > length) return <td key={weekday} class="outside" />
                const date = `${prefix(month)}-${String(day).padStart(2, '0')}`
                return (
                  <td key={weekday} class={date === today ? 'today' : ''}>
                    <Day day={day} of={byDay.get(date) ?? []} change={changes.get(day)} />
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {isCut && <p class="muted">Only the first {MOST} occurrences of the month are shown.</p>}
      {changes.size > 0 && (
        <p class="reason">
          Clocks change on{' '}
          {[...changes]
            .map(([day, text]) => `${prefix(month)}-${String(day).padStart(2, '0')} (${text})`)
            .join(', ')}
          .
        </p>
      )}
    </>
  )
}

function Day({
  day,
  of,
  change,
}: {
  readonly day: number
  readonly of: readonly Occurrence[]
  readonly change: string | undefined
}): JSX.Element {
  const times = of.slice(0, TIMES).map(({ at, local }) => ({ at, time: local.slice(11, 16) }))
  return (
    <div class={`day ${of.length > 0 ? 'has' : ''}`}>
      <span class="day-number">{day}</span>
      {change !== undefined && (
        <span class="clock-change" title={`Clocks change: ${change}`}>
          {change}
        </span>
      )}
      {times.map(({ at, time }) => (
        <span key={at} class="day-time">
          {time}
        </span>
      ))}
      {of.length > TIMES && <span class="day-more">+{of.length - TIMES}</span>}
      {of.length > 0 && <span class="offscreen">{plural(of.length, 'occurrence')}</span>}
    </div>
  )
}

/** `local` is in the zone of the schedule: `2026-11-18T09:00:00`. */
function dayOf({ local }: Occurrence): string {
  return local.slice(0, 10)
}

function groupByDay(occurrences: readonly Occurrence[]): Map<string, Occurrence[]> {
  const groups = new Map<string, Occurrence[]>()
  for (const occurrence of occurrences) {
    const day = dayOf(occurrence)
    groups.set(day, [...(groups.get(day) ?? []), occurrence])
  }
  return groups
}

function prefix({ year, month }: Month): string {
  return `${year}-${String(month).padStart(2, '0')}`
}
