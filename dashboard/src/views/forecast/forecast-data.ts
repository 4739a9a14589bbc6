import { forecastOf } from '../../api/composed.ts'
import type { Forecast } from '../../api/types.ts'
import { useResource, type Resource } from '../../state/resource.ts'
import type { Layer } from '../../ui/chart.tsx'
import { count, plural, timeOf, shortInstant } from '../../ui/format.ts'

export type Span = 'hour' | 'day' | 'month'

/** How far to look, and in which steps. */
export const spans: Readonly<
  Record<Span, { readonly over: string; readonly slice: string; readonly words: string }>
> = {
  hour: { over: '1h', slice: '1m', words: 'the next hour' },
  day: { over: '1d', slice: '30m', words: 'the next day' },
  month: { over: '30d', slice: '1d', words: 'the next 30 days' },
}

export function useForecast(span: Span): Resource<Forecast> {
  const { over, slice } = spans[span]
  return useResource(`forecast ${span}`, (api, signal) => forecastOf(api, over, slice, signal), {
    everyMs: 15_000,
    live: true,
  })
}

export function stepsOf({ fromInclusive, sliceMs, others }: Forecast): readonly number[] {
  return others.map((_, step) => fromInclusive + step * sliceMs)
}

export function layersOf({ kinds, others }: Forecast): readonly Layer[] {
  const layers = kinds.map(({ kind, counts }, index) => ({
    name: kind,
    tone: `c${index % 8}`,
    values: counts,
  }))
  return others.some((value) => value > 0)
    ? [...layers, { name: 'other kinds', tone: 'c8', values: others }]
    : layers
}

export function sumsOf({ kinds, others }: Forecast): readonly number[] {
  return others.map((other, step) => kinds.reduce((sum, { counts }) => sum + (counts[step] ?? 0), other))
}

/** A step with many times more than usual, such as midnight, when everybody's daily timers fall together. */
export interface Herd {
  readonly step: number
  readonly count: number
  readonly share: number
  readonly kind: string | undefined
}

const HERD_FACTOR = 4
const HERD_LEAST = 20

export function herdsOf(forecast: Forecast): readonly Herd[] {
  const sums = sumsOf(forecast)
  const total = sums.reduce((sum, value) => sum + value, 0)
  const busy = sums.filter((value) => value > 0).toSorted((a, b) => a - b)
  const usual = busy[Math.floor(busy.length / 2)] ?? 0
  const least = Math.max(HERD_LEAST, HERD_FACTOR * usual, (2 * total) / sums.length)
  return sums
    .map((value, step) => ({
      step,
      count: value,
      share: value / total,
      kind: largestKind(forecast, step, value),
    }))
    .filter((herd) => herd.count >= least)
    .toSorted((a, b) => b.count - a.count)
    .slice(0, 3)
}

/** The kind that makes up most of a step. */
function largestKind({ kinds }: Forecast, step: number, sum: number): string | undefined {
  return kinds.find(({ counts }) => (counts[step] ?? 0) > sum / 2)?.kind
}

/** “1,200 timers are due between 00:00 and 00:30: 41 % of the next day, mostly mail.” */
export function herdText(
  { fromInclusive, sliceMs }: Forecast,
  herd: Herd,
  span: Span,
  zone: string,
  now: number,
): string {
  const from = fromInclusive + herd.step * sliceMs
  const when =
    sliceMs >= 86_400_000
      ? `in the day from ${shortInstant(from, zone, now)}`
      : `between ${timeOf(from, zone)} and ${timeOf(from + sliceMs, zone)}`
  const mostly = herd.kind === undefined ? '' : `, mostly ${herd.kind}`
  return `${plural(herd.count, 'timer')} ${herd.count === 1 ? 'is' : 'are'} due ${when}: ${Math.round(herd.share * 100)} % of ${spans[span].words}${mostly}.`
}

export function overdueText({ overdue }: Forecast): string | undefined {
  const sum = Object.values(overdue).reduce((total, value) => total + value, 0)
  return sum === 0 ? undefined : `${count(sum)} more should have fired already.`
}
