import { InvalidInputError, shown } from '../error/index.js'

/**
 * A length of time: milliseconds as a number, a string of number-unit pairs (`'250ms'`, `'5m'`, `'1h30m'`,
 * `'1.5d'`), or an ISO 8601 duration without years and months (`'PT5M'`, `'P14D'`, `'P2W'`).
 */
export type Duration = number | string

/** The longest duration: half the range of a JavaScript date, about 274,000 years. */
export const MAX_DURATION_MS = 8.64e15

const MAX_LENGTH = 64

const unitMs: Readonly<Record<string, number>> = Object.freeze({
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
})

const PAIR = /(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*/gy
const ISO =
  /^P(?!$)(?:(\d+(?:[.,]\d+)?)W)?(?:(\d+(?:[.,]\d+)?)D)?(?:T(?=\d)(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/
const ISO_UNITS = ['w', 'd', 'h', 'm', 's'] as const

/**
 * A duration as an integer of milliseconds. Fractions are rounded up, so that nothing happens early. Each unit may
 * appear once, the larger before the smaller, so that a slip such as `'5m5m'` is an error.
 */
export function parseDuration(duration: Duration): number {
  const ms =
    typeof duration === 'number' ? duration : typeof duration === 'string' ? textMs(duration) : Number.NaN
  // NaN fails both comparisons.
  if (!(ms >= 0 && ms <= MAX_DURATION_MS)) throw invalidDuration(duration)
  return Math.ceil(ms)
}

/** A duration as people write it, such as `'1h30m'`. `parseDuration` gives the same milliseconds for it. */
export function formatDuration(ms: number): string {
  let rest = parseDuration(ms)
  let text = ''
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const size = unitMs[unit]!
    const count = Math.floor(rest / size)
    if (count > 0) text += `${count}${unit}`
    rest -= count * size
  }
  return text === '' ? '0ms' : text
}

function textMs(text: string): number {
  if (text.length > MAX_LENGTH) return Number.NaN
  const trimmed = text.trim()
  return trimmed.startsWith('P') ? isoMs(trimmed) : pairsMs(trimmed)
}

function pairsMs(text: string): number {
  PAIR.lastIndex = 0
  let ms = 0
  let smallest = Infinity
  let end = 0
  for (let match = PAIR.exec(text); match !== null; match = PAIR.exec(text)) {
    const size = unitMs[match[2]!]!
    if (size >= smallest) return Number.NaN
    smallest = size
    ms += product(match[1]!, size)
    end = PAIR.lastIndex
  }
  return end > 0 && end === text.length ? ms : Number.NaN
}

function isoMs(text: string): number {
  const match = ISO.exec(text)
  if (match === null) return Number.NaN
  let ms = 0
  for (const [i, unit] of ISO_UNITS.entries()) {
    const count = match[i + 1]
    if (count !== undefined) ms += product(count.replace(',', '.'), unitMs[unit]!)
  }
  return ms
}

// '0.3s' must be 300 ms, not 300.00000000000006 rounded up to 301.
function product(count: string, size: number): number {
  const ms = Number(count) * size
  const whole = Math.round(ms)
  return Math.abs(ms - whole) < 1e-6 ? whole : ms
}

function invalidDuration(duration: unknown): InvalidInputError {
  const hint =
    typeof duration === 'string' && /^\s*P[^T]*\d[YM]/.test(duration)
      ? '. Years and months differ in length: use days, or a calendar schedule'
      : ''
  return new InvalidInputError(
    'invalid-duration',
    `${shown(duration)} is not a duration: pass milliseconds from 0 to ${MAX_DURATION_MS}, ` +
      `number-unit pairs of ms, s, m, h, d, w with the larger unit first ('250ms', '5m', '1h30m', '14d'), ` +
      `or ISO 8601 ('PT5M', 'P14D')${hint}`,
  )
}
