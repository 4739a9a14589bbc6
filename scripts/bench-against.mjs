// npm run bench:against -- --before <folder> [--rounds 5] <bench> [its options]: runs a bench in turn in this folder and
// in a folder with another build. Prints the ratio of the medians for every figure.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const usage = `usage: npm run bench:against -- --before <folder> [--rounds 5] <bench> [options of the bench]

  --before folder  a clone with the build to compare with; its packages must be installed
  --rounds 5       how often each build is measured; the builds take turns
`
const here = fileURLToPath(new URL('..', import.meta.url))
const { before, rounds, bench, options } = parseArguments(process.argv.slice(2))
const builds = { before: path.resolve(before), now: here }
const values = new Map()
const scratch = mkdtempSync(path.join(os.tmpdir(), 'carillon-against-'))
try {
  for (let round = 0; round < rounds; round++) {
    // The build that goes first alternates, so that neither always runs on a warm machine.
    const names = round % 2 === 0 ? ['before', 'now'] : ['now', 'before']
    for (const name of names) {
      process.stderr.write(`against: round ${round + 1} of ${rounds}, ${name}\n`)
      add(name, measure(builds[name]))
    }
  }
} finally {
  rmSync(scratch, { recursive: true })
}
print()

function parseArguments(args) {
  const found = { rounds: 5 }
  for (let at = 0; at < args.length; at += 2) {
    if (args[at] === '--before') found.before = args[at + 1]
    else if (args[at] === '--rounds') found.rounds = Number(args[at + 1])
    else {
      found.bench = args[at]
      found.options = args.slice(at + 1)
      break
    }
  }
  const isValid = found.bench !== undefined && Number.isInteger(found.rounds) && found.rounds > 0
  if (isValid && found.before !== undefined && existsSync(path.join(found.before, 'scripts', 'bench.mjs'))) {
    return found
  }
  process.stderr.write(usage)
  return process.exit(2)
}

function measure(folder) {
  const file = path.join(scratch, 'figures.json')
  const args = ['scripts/bench.mjs', bench, '--rounds', '1', ...options, '--json', file]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  if (status === 0) return JSON.parse(readFileSync(file, 'utf8'))
  process.stderr.write(stderr)
  return process.exit(1)
}

function add(build, { metrics, candidates }) {
  for (const { name, figures } of candidates) {
    for (const metric of metrics) {
      const median = figures[metric.name]?.median
      if (median === undefined) continue
      const key = `${name}\t${metric.name}`
      if (!values.has(key)) values.set(key, { ...metric, before: [], now: [] })
      values.get(key)[build].push(median)
    }
  }
}

function print() {
  process.stdout.write(
    `${bench} ${options.join(' ')}: medians of ${rounds} interleaved rounds (smallest..largest)\n`,
  )
  for (const [key, { unit, better, before: old, now }] of values) {
    const [candidate, metric] = key.split('\t')
    const ratio = medianOf(now) / medianOf(old)
    const gain = better === 'lower' ? 1 / ratio : ratio
    const line = `${candidate.padEnd(16)} ${metric.padEnd(14)} ${shown(old)} -> ${shown(now)} ${unit}`
    process.stdout.write(`${line.padEnd(84)} ${gain.toFixed(3)}× as good as before\n`)
  }
}

function shown(list) {
  const sorted = list.toSorted((a, b) => a - b)
  const digits = (value) => value.toPrecision(4)
  return `${digits(medianOf(list))} (${digits(sorted[0])}..${digits(sorted.at(-1))})`
}

function medianOf(list) {
  const sorted = list.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
