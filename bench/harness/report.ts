import { cpus, loadavg } from 'node:os'
import process from 'node:process'
import type { Bench, Candidate, Measurement, Metric } from './bench.js'
import type { Settings } from './settings.js'

/** The result of a comparison, to be printed or saved: medians, spread, ratios, and every value. */
export interface Report {
  readonly bench: string
  readonly n: number
  readonly rounds: number
  readonly seed: number
  readonly machine: Machine
  readonly metrics: readonly Metric[]
  readonly candidates: readonly Row[]
  /** Where candidates did not do the same work. Empty for a valid comparison. */
  readonly disagreements: readonly string[]
}

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly node: string
  /** The load average of the minute before. Above 0, other processes were busy. */
  readonly loadBefore: number
}

export interface Row {
  readonly name: string
  readonly about: string
  /** Why there are no figures. */
  readonly absent?: string
  readonly failed?: string
  readonly notes: readonly string[]
  readonly figures: Readonly<Record<string, Figure>>
}

export interface Figure {
  readonly median: number
  readonly min: number
  readonly max: number
  /** How many times better ours is, by the medians. Below 1 ours is worse. */
  readonly ratio?: number
  readonly values: readonly number[]
}

/** The measurements of one candidate over all rounds. */
export interface Result {
  readonly candidate: Candidate
  readonly measurements: Measurement[]
  absent?: string
  failed?: string
}

/** Must be called before the measurements: they change the load average. */
export function thisMachine(): Machine {
  const [cpu] = cpus()
  return {
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    loadBefore: loadavg()[0]!,
  }
}

export function reportOf(
  bench: Bench,
  settings: Settings,
  machine: Machine,
  results: readonly Result[],
): Report {
  const ours = results.find(({ candidate }) => candidate === bench.candidates[0])
  const rows = results.map((result): Row => {
    const { candidate, measurements, absent, failed } = result
    return {
      name: candidate.name,
      about: candidate.about,
      ...(absent === undefined ? {} : { absent }),
      ...(failed === undefined ? {} : { failed }),
      notes: measurements.at(-1)?.notes ?? [],
      figures: Object.fromEntries(
        bench.metrics.flatMap((metric) => {
          const figure = figureOf(metric, result, result === ours ? undefined : ours)
          return figure === undefined ? [] : [[metric.name, figure]]
        }),
      ),
    }
  })
  return {
    bench: bench.name,
    n: settings.n,
    rounds: settings.rounds,
    seed: settings.seed,
    machine,
    metrics: bench.metrics,
    candidates: rows,
    disagreements: disagreementsOf(results),
  }
}

function figureOf(metric: Metric, result: Result, ours: Result | undefined): Figure | undefined {
  const values = valuesOf(metric, result)
  if (values.length === 0) return undefined
  const median = medianOf(values)
  const ourValues = ours === undefined ? [] : valuesOf(metric, ours)
  const ratio =
    metric.better === 'lower' ? median / medianOf(ourValues) : (medianOf(ourValues) || Number.NaN) / median
  return {
    median,
    min: Math.min(...values),
    max: Math.max(...values),
    ...(Number.isFinite(ratio) ? { ratio } : {}),
    values,
  }
}

function valuesOf({ name }: Metric, { measurements }: Result): number[] {
  return measurements.flatMap(({ metrics }) => metrics[name] ?? [])
}

/** NaN for an empty array. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

function disagreementsOf(results: readonly Result[]): string[] {
  const first = new Map<string, { readonly by: string; readonly value: number }>()
  const found = new Set<string>()
  for (const { candidate, measurements } of results) {
    for (const { checks } of measurements) {
      for (const [name, value] of Object.entries(checks)) {
        const before = first.get(name)
        if (before === undefined) first.set(name, { by: candidate.name, value })
        else if (before.value !== value) {
          found.add(`${name}: ${before.by} has ${before.value}, ${candidate.name} has ${value}`)
        }
      }
    }
  }
  return [...found]
}
