/** Numbers, instants and durations in words. */

const integers = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** `12,345`. */
export function count(value: number): string {
  return integers.format(value)
}

/** `12.3K`, for places where the exact number does not fit. */
export function compact(value: number): string {
  return value < 10_000 ? integers.format(value) : short.format(value)
}

/** A rate: `0`, `0.4`, `12`, `12.3K`. */
export function rate(value: number): string {
  if (value === 0 || value >= 10) return compact(Math.round(value))
  return value < 0.1 ? '<0.1' : value.toFixed(1)
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]

/** A length of time in its two largest units: `2 d 4 h`, `35 s`, `12 ms`. */
export function duration(ms: number): string {
  const length = Math.abs(ms)
  if (length < 1000) return `${Math.round(length)} ms`
  if (length < 10_000) return `${(Math.floor(length / 100) / 10).toFixed(1).replace('.0', '')} s`
  const at = units.findIndex(([unitMs]) => length >= unitMs)
  const [unitMs, name] = units[at]!
  const whole = Math.floor(length / unitMs)
  const next = units[at + 1]
  if (unitMs === 86_400_000 && whole >= 365)
    return `${(length / 31_557_600_000).toFixed(1).replace('.0', '')} years`
  if (next === undefined || whole >= 30) return `${count(whole)} ${name}`
  const rest = Math.floor((length % unitMs) / next[0])
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next[1]}`
}

/** `in 5 min`, `3 s ago`, `now`. */
export function relative(at: number, now: number): string {
  // Seconds are enough: the clock of the page moves once a second.
  const ms = Math.round((at - now) / 1000) * 1000
  if (ms === 0) return 'now'
  return ms > 0 ? `in ${duration(ms)}` : `${duration(ms)} ago`
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = `${zone} ${JSON.stringify(options)}`
  let format = formats.get(name)
  if (format === undefined) {
    // Zones such as +05:30 are newer than some browsers.
    try {
      format = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: zone })
    } catch {
      format = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC', timeZoneName: 'short' })
    }
    formats.set(name, format)
  }
  return format
}

/** `18 Nov 2026, 09:00:00 GMT+1` in a zone. */
export function instant(at: number, zone: string): string {
  if (!isInstant(at)) return 'never'
  return formatOf(zone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...clock,
    timeZoneName: 'short',
  }).format(at)
}

const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const

/** The shortest form that is clear: the time today, the date and time otherwise. */
export function shortInstant(at: number, zone: string, now: number): string {
  if (!isInstant(at)) return 'never'
  const isToday = dateOf(at, zone) === dateOf(now, zone)
  if (isToday) return formatOf(zone, clock).format(at)
  return formatOf(zone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at)
}

export function timeOf(at: number, zone: string): string {
  return formatOf(zone, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at)
}

/** `2026-11-18` in a zone. */
export function dateOf(at: number, zone: string): string {
  const parts = formatOf(zone, { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(at)
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? ''
  return `${part('year')}-${part('month')}-${part('day')}`
}

/** How far a zone is from UTC at an instant: `GMT+1`. */
export function offsetOf(at: number, zone: string): string {
  const parts = formatOf(zone, { timeZoneName: 'longOffset', hour: '2-digit' }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
}

export function iso(at: number): string {
  return isInstant(at) ? new Date(at).toISOString() : ''
}

/** JavaScript's dates end in the year 275760. A timer without an end may be due later. */
function isInstant(at: number): boolean {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB']

export function bytes(value: number): string {
  let [size, unit] = [value, 0]
  while (size >= 1000 && unit < byteUnits.length - 1) {
    size /= 1000
    unit++
  }
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${byteUnits[unit]}`
}
