/**
 * npm run bench engine: how many calls the engine makes to its store, how fast it fires a backlog, how late it is under a
 * steady load, how these change with the number of pending timers, and whether the governor keeps its memory limit.
 *
 *   npm run bench engine                                  load, burst, lateness, growth
 *   npm run bench engine -- --only burst,load             some parts
 *   npm run bench engine -- --only growth --full          growth up to 10 M pending
 *   npm run bench engine -- --part governor               5 M timers, at most 100,000 in memory: minutes
 *
 * `--candidates a,b` selects within a part. Other options (`--n`, `--rounds`, `--json`, `--help`) go to each part.
 */
import process from 'node:process'
import { runBench } from './harness/run.js'
import type { Bench } from './harness/bench.js'
import { burst } from './engine/burst.js'
import { governor } from './engine/governor.js'
import { growth } from './engine/growth.js'
import { lateness } from './engine/lateness.js'
import { load } from './engine/load.js'

const parts: Readonly<Record<string, (isFull: boolean) => readonly Bench[]>> = {
  load: () => load,
  burst: () => [burst],
  lateness: () => [lateness],
  growth: (isFull) => [growth(isFull)],
  governor: () => [governor],
}
const defaultParts = ['load', 'burst', 'lateness', 'growth']

const args = process.argv.slice(2)
if (args[0] === 'measure') {
  const all = Object.values(parts).flatMap((benches) => benches(true))
  const bench = all.find(({ candidates }) => candidates.some(({ name }) => name === args[1]))
  if (bench === undefined) throw new Error(`no part has a candidate '${args[1]}'`)
  await runBench(bench, args)
} else {
  const { names, isFull, rest } = parseParts(args)
  const unknown = names.filter((name) => !(name in parts))
  if (unknown.length > 0) {
    process.stderr.write(
      `the bench engine has no part '${unknown.join(', ')}'; its parts are ${Object.keys(parts).join(', ')}\n`,
    )
    process.exitCode = 2
  } else {
    for (const bench of names.flatMap((name) => parts[name]!(isFull))) await runBench(bench, rest)
  }
}

function parseParts(given: readonly string[]) {
  const rest: string[] = []
  let names = defaultParts
  let isFull = false
  for (let i = 0; i < given.length; i++) {
    const [option = '', inline] = given[i]!.split('=')
    if (option === '--only' || option === '--part') names = (inline ?? given[++i] ?? '').split(',')
    else if (option === '--candidates') rest.push('--only', inline ?? given[++i] ?? '')
    else if (option === '--full') isFull = true
    else rest.push(given[i]!)
  }
  return { names, isFull, rest }
}
