import type { Bench, Candidate } from './bench.js'

/** The parsed command line. An unknown option is an error, never ignored. */
export interface Settings {
  readonly n: number
  readonly rounds: number
  readonly seed: number
  readonly candidates: readonly Candidate[]
  /** Where JSON goes: nowhere, to standard output instead of the table, or to a file besides the table. */
  readonly json: 'none' | 'stdout' | { readonly file: string }
}

/** An invalid command line. The message is for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const DEFAULT_SEED = 12_345

/** Undefined for `--help`. */
export function parseSettings(args: readonly string[], bench: Bench): Settings | undefined {
  let { defaultN: n, defaultRounds: rounds } = bench
  let seed = DEFAULT_SEED
  let candidates: readonly Candidate[] = bench.candidates
  let json: Settings['json'] = 'none'
  for (let i = 0; i < args.length; i++) {
    const [option = '', inline] = split(args[i]!)
    const next = () => inline ?? args[++i]
    switch (option) {
      case '--help':
      case '-h':
        return undefined
      case '--n':
      case bench.nOption:
        n = count(option, next(), bench.leastN)
        break
      case '--rounds':
        rounds = count(option, next(), 1)
        break
      case '--seed':
        seed = count(option, next(), 1)
        if (seed >= 2 ** 32) throw new UsageError(`--seed must be below 2^32, got ${seed}`)
        break
      case '--only':
        candidates = named(next(), bench)
        break
      case '--json': {
        const file = inline ?? (args[i + 1]?.startsWith('-') === false ? args[++i] : undefined)
        json = file === undefined ? 'stdout' : { file }
        break
      }
      default:
        throw new UsageError(`unknown option '${option}' for the bench ${bench.name}; try --help`)
    }
  }
  return { n, rounds, seed, candidates, json }
}

export function helpText(bench: Bench): string {
  const row = (name: string, text: string) => `  ${name.padEnd(16)} ${text}\n`
  return (
    `${bench.about}\n\nusage: npm run bench ${bench.name} -- [options]\n\n` +
    row(
      `${bench.nOption ?? '--n'} N`,
      `how many ${bench.unit ?? 'timers'}, default ${bench.defaultN}, at least ${bench.leastN}`,
    ) +
    row('--rounds N', `how often each candidate is measured, default ${bench.defaultRounds}`) +
    row('--only a,b', 'measure only these candidates') +
    row('--seed N', `the seed of the random sequence, default ${DEFAULT_SEED}`) +
    row('--json [file]', 'write JSON to the file, or to standard output instead of the table') +
    `\ncandidates\n${bench.candidates.map(({ name, about }) => row(name, about)).join('')}` +
    `\nmetrics\n${bench.metrics.map(({ name, unit, means }) => row(name, `${unit}: ${means}`)).join('')}`
  )
}

function split(arg: string): string[] {
  const at = arg.startsWith('--') ? arg.indexOf('=') : -1
  return at < 0 ? [arg] : [arg.slice(0, at), arg.slice(at + 1)]
}

function count(option: string, text: string | undefined, least: number): number {
  const value = Number(text?.replaceAll('_', '') || Number.NaN)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new UsageError(`${option} must be an integer of at least ${least}, got ${text ?? 'nothing'}`)
}

function named(text: string | undefined, bench: Bench): Candidate[] {
  const names = (text ?? '').split(',')
  for (const name of names) {
    if (bench.candidates.some((candidate) => candidate.name === name)) continue
    const known = bench.candidates.map((candidate) => candidate.name).join(', ')
    throw new UsageError(`unknown candidate '${name}'; the candidates are ${known}`)
  }
  return bench.candidates.filter((candidate) => names.includes(candidate.name))
}
