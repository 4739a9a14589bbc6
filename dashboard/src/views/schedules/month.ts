import { dateOf, duration, offsetOf } from '../../ui/format.ts'

/** A month of the calendar. January is 1. */
export interface Month {
  readonly year: number
  readonly month: number
}

export function monthOf(at: number, zone: string): Month {
  const [year, month] = dateOf(at, zone).split('-').map(Number)
  return { year: year!, month: month! }
}

export function monthName({ year, month }: Month): string {
  return new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    Date.UTC(year, month - 1, 1),
  )
}

/** The instant at which a day begins in a zone. */
export function startOf({ year, month }: Month, day: number, zone: string): number {
  const asUtc = Date.UTC(year, month - 1, day)
  // The offset at the guess may be that from before a change of clocks, so it is looked up once more.
  const guess = asUtc - minutesOf(offsetOf(asUtc, zone)) * 60_000
  return asUtc - minutesOf(offsetOf(guess, zone)) * 60_000
}

/** The days of a month on which clocks change, and by how much: `+1 h`. */
export function changesOfClocks(month: Month, length: number, zone: string): ReadonlyMap<number, string> {
  const changes = new Map<number, string>()
  let before = minutesOf(offsetOf(startOf(month, 1, zone), zone))
  for (let day = 1; day <= length; day++) {
    const after = minutesOf(offsetOf(startOf(month, day + 1, zone), zone))
    if (after !== before)
      changes.set(day, `${after > before ? '+' : '−'}${duration((after - before) * 60_000)}`)
    before = after
  }
  return changes
}

/** `GMT+05:30` in minutes. */
function minutesOf(offset: string): number {
  const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d+)(?::(\d+))?/.exec(offset) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
