/**
 * A bench: named metrics, and candidates that each provide some of them for `n` timers. The harness knows nothing else, so
 * anything that returns numbers can be compared, in Node or in a separate program.
 */
export interface Bench {
  /** The name on the command line. */
  readonly name: string
  readonly about: string
  /** What `n` counts. Default: timers. */
  readonly unit?: string
  readonly defaultN: number
  readonly leastN: number
  readonly defaultRounds: number
  /** The timeout of one candidate in one round. Default: 15 minutes. */
  readonly longestRunMs?: number
  /** A second name for `--n`, such as `'--calls'`. */
  readonly nOption?: string
  readonly metrics: readonly Metric[]
  /** The first is ours. Ratios are relative to it. */
  readonly candidates: readonly [Candidate, ...Candidate[]]
}

export interface Metric {
  readonly name: string
  readonly unit: string
  readonly better: 'lower' | 'higher'
  /** What the figure includes, for `--help`. */
  readonly means: string
}

/** A metric of which a lower value is better. */
export function lower(name: string, unit: string, means: string): Metric {
  return { name, unit, means, better: 'lower' }
}

/** V8's Map cannot have more entries than this. Candidates that use one are skipped beyond it. */
export const MAX_IN_A_MAP = 2 ** 24 - 1

export type Candidate = NodeCandidate | ProgramCandidate

interface CandidateBase {
  /** The name on the command line and in the table. */
  readonly name: string
  readonly about: string
  /** For a candidate that is too slow to be repeated as often as the others. */
  readonly mostRounds?: number
  /** The most timers that the candidate can hold. Beyond it is skipped, and the table says so. */
  readonly mostN?: number
  /** Why it cannot be measured here. It is skipped, and the table says so. */
  readonly absent?: string | undefined
}

/** Measured in a new Node process, which loads only the harness and what `measure` imports. */
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

/** The result of one run of one candidate. A program prints it as JSON, and nothing else, to standard output. */
export interface Measurement {
  readonly metrics: Readonly<Record<string, number>>
  /** The work that was done: every candidate that has a check must have the same value. */
  readonly checks: Readonly<Record<string, number>>
  /** Notes that a reader needs to judge the figures. */
  readonly notes: readonly string[]
}

/** Parses the output of a child process. Throws for a figure that is not a number. */
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
