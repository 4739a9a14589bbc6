/**
 * What a bench is: named metrics, and candidates that each give some of them for `n` timers. The harness
 * knows nothing else, so whatever can answer with numbers can be compared, in Node or in a program of its own.
 */
export interface Bench {
  /** The name on the command line. */
  readonly name: string
  readonly about: string
  /** What `n` counts; timers unless given. */
  readonly unit?: string
  readonly defaultN: number
  readonly leastN: number
  readonly defaultRounds: number
  /** How long one candidate may take in one round; a quarter of an hour unless given. */
  readonly longestRunMs?: number
  /** A better name for `--n`, which is understood as well: `'--calls'`. */
  readonly nOption?: string
  readonly metrics: readonly Metric[]
  /** The first is ours: ratios are against it. */
  readonly candidates: readonly [Candidate, ...Candidate[]]
}

export interface Metric {
  readonly name: string
  readonly unit: string
  readonly better: 'lower' | 'higher'
  /** What is inside the figure, for `--help`. */
  readonly means: string
}

/** A figure of which less is better. */
export function lower(name: string, unit: string, means: string): Metric {
  return { name, unit, means, better: 'lower' }
}

/** A Map of V8 refuses more entries than this: candidates built on one are left out beyond it. */
export const MOST_IN_A_MAP = 2 ** 24 - 1

export type Candidate = NodeCandidate | ProgramCandidate

interface CandidateBase {
  /** The name on the command line and in the table. */
  readonly name: string
  readonly about: string
  /** For one that takes too long to be repeated as often as the others. */
  readonly mostRounds?: number
  /** For one that cannot hold more; beyond it is left out and the table says so. */
  readonly mostN?: number
  /** Why it cannot be measured here; it is left out and the table says so. */
  readonly absent?: string | undefined
}

/** Measured in a fresh Node process, which loads nothing but the harness and what `measure` imports. */
export interface NodeCandidate extends CandidateBase {
  readonly measure: (task: Task) => Promise<Measurement>
}

/** Compiled from `source`, a path under `bench/`, and run with `args`, then n and the seed. */
export interface ProgramCandidate extends CandidateBase {
  readonly language: 'go' | 'c'
  readonly source: string
  readonly args: readonly string[]
}

export interface Task {
  readonly n: number
  readonly seed: number
}

/** What one run of one candidate found. Programs print it as JSON, alone on their standard output. */
export interface Measurement {
  readonly metrics: Readonly<Record<string, number>>
  /** What was done, not how fast: every candidate that gives a check must give the same value. */
  readonly checks: Readonly<Record<string, number>>
  /** Sentences a reader needs to judge the figures. */
  readonly notes: readonly string[]
}

/** Reads what a child printed; a figure that is not a number must not reach a table. */
export function parseMeasurement(text: string, bench: Bench): Measurement {
  const value: unknown = JSON.parse(text)
  if (!isRecord(value)) throw new Error(`expected a measurement, got ${text.slice(0, 200)}`)
  const { metrics, checks, notes } = value
  if (!isFigures(metrics) || !isFigures(checks) || !isSentences(notes)) {
    throw new Error(`expected { metrics, checks, notes }, got ${text.slice(0, 200)}`)
  }
  for (const name of Object.keys(metrics)) {
    if (!bench.metrics.some((metric) => metric.name === name)) {
      throw new Error(`the bench ${bench.name} has no metric '${name}'`)
    }
  }
  return { metrics, checks, notes }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isFigures(value: unknown): value is Record<string, number> {
  return isRecord(value) && Object.values(value).every((figure) => Number.isFinite(figure))
}

function isSentences(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((sentence) => typeof sentence === 'string')
}
