import type { LocalMinutes } from './local-minutes.js'
import type { WalkedDay, WalkedSchedule } from './schedules.js'

/** Checks every minute. The result is 1 at each minute at which the schedule fires. */
export function walkMinutes(minutes: LocalMinutes, schedule: WalkedSchedule): Uint8Array {
  const { local } = minutes
  const { gap, overlap } =
    schedule.policy === 'elapsed' ? ({ gap: 'skip', overlap: 'both' } as const) : schedule.policy
  const matches = matcher(minutes, schedule)
  const fires = new Uint8Array(local.length)
  let repeatedUntil = -Infinity
  for (let i = 0; i < local.length; i++) {
    const here = local[i]!
    const expected = i === 0 ? here : local[i - 1]! + 1
    for (let missing = expected; missing < here; missing++) {
      if (gap === 'skip' || !matches(missing)) continue
      const at = gap === 'next' ? i : i + missing - expected
      if (at < fires.length) fires[at] = 1
    }
    if (here < expected) {
      repeatedUntil = expected
      if (overlap === 'second') fires.fill(0, Math.max(0, i - (expected - here)), i)
    }
    if (matches(here) && !(overlap === 'first' && here < repeatedUntil)) fires[i] = 1
  }
  return fires
}

/** Describes the first difference between `next` and the walk. Undefined if there is none. */
export function differenceFrom(walked: Uint8Array, minutes: LocalMinutes, schedule: WalkedSchedule) {
  const own = schedule.make(minutes.zone)
  let at = minutes.firstMinute * 60_000 - 1
  let place = -1
  for (;;) {
    const expected = walked.indexOf(1, place + 1)
    at = own.next(at) ?? Infinity
    place = at / 60_000 - minutes.firstMinute
    if (expected === -1 && place >= walked.length) return undefined
    if (place !== expected) {
      const show = (minute: number) => new Date((minute + minutes.firstMinute) * 60_000).toISOString()
      const wanted = expected === -1 ? 'nothing more' : show(expected)
      return `${schedule.name} in ${minutes.zone}: next gave ${show(place)}, the walk ${wanted}`
    }
  }
}

function matcher(minutes: LocalMinutes, { on, at }: WalkedSchedule): (local: number) => boolean {
  const firstDay = Math.floor(minutes.firstMinute / 1440) - 2
  const dayCount = Math.ceil(minutes.local.length / 1440) + 4
  const days = Uint8Array.from({ length: dayCount }, (_, i) => (on(walkedDay(firstDay + i)) ? 1 : 0))
  const times = Uint8Array.from({ length: 1440 }, (_, minute) =>
    at(Math.floor(minute / 60), minute % 60) ? 1 : 0,
  )
  const origin = firstDay * 1440
  return (local) => {
    const since = local - origin
    const day = (since / 1440) | 0
    return days[day] === 1 && times[since - day * 1440] === 1
  }
}

function walkedDay(dayNumber: number): WalkedDay {
  const date = new Date(dayNumber * 86_400_000)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1]
  return {
    year,
    month,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    length: new Date(Date.UTC(year, month, 0)).getUTCDate(),
  }
}
