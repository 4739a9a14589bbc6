// npm run sim: runs the engine under random faults in virtual time, many seeds in parallel or one seed again.
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { built } from './ready.mjs'
import { runSeeds } from './sim-pool.mjs'

const MAX_SHRUNK = 3

const known = {
  seeds: { type: 'string', default: '300' },
  from: { type: 'string', default: '1' },
  workers: { type: 'string', default: String(os.availableParallelism()) },
  seed: { type: 'string' },
  trace: { type: 'boolean', default: false },
  shrink: { type: 'boolean', default: false },
  'only-faults': { type: 'string' },
  'only-ops': { type: 'string' },
  without: { type: 'string' },
  except: { type: 'string' },
  failures: { type: 'string', default: '10' },
  help: { type: 'boolean', default: false },
}

const usage = `usage: npm run sim -- [options]

  --seeds 300            how many seeds to run
  --from 1               the first seed
  --workers N            how many processes; default one for each core
  --failures 10          stop after this many failed seeds
  --without blocks,power skip these themes: long, blocks, joins, clocks, store-clock, power,
                         outsiders, pools
  --except 2,fit         do not check these promises
  --seed N               run only this seed
    --trace              print everything that happens
    --shrink             find the fewest faults and operations that still break a promise
    --only-faults 3,17   use only these faults
    --only-ops 2,5       use only these operations
`

const { values } = parseOptions()
if (values.help) {
  process.stdout.write(usage)
  process.exit(0)
}

function parseOptions() {
  try {
    return parseArgs({ options: known })
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${usage}`)
    return process.exit(2)
  }
}

await built()
const library = fileURLToPath(new URL('../dist', import.meta.url))
const load = (file) => import(pathToFileURL(path.join(library, file)))
const { promises: allPromises, shrink, simulate, violationText } = await load('testing/simulation/index.js')
const except = values.except?.split(',') ?? []
const common = {
  without: values.without?.split(','),
  ...(except.length > 0 && {
    promises: namesOf(allPromises).filter((name) => !except.includes(String(name))),
  }),
}

process.exitCode = values.seed === undefined ? await runMany() : await runOne(Number(values.seed))

async function runOne(seed) {
  const options = {
    ...common,
    isTraced: values.trace,
    onlyFaults: numbersOf(values['only-faults']),
    onlyOperations: numbersOf(values['only-ops']),
  }
  const report = await simulate(seed, options)
  if (values.trace) {
    const { faults: _faults, operations: _operations, ...rest } = report.plan
    await print(`${JSON.stringify(rest)}\n${report.lines.join('\n')}\n`)
  }
  await print(`seed ${seed}: ${JSON.stringify(report.counts)}\n`)
  for (const violation of report.violations) await print(`${violationText(violation)}\n`)
  if (report.violations.length === 0) {
    await print('all promises kept\n')
    return 0
  }
  if (values.shrink) await printShrunk(seed, options)
  return 1
}

async function runMany() {
  const from = Number(values.from)
  const until = from + Number(values.seeds)
  const failures = []
  const totals = new Map()
  const started = performance.now()
  let next = from
  let finished = 0
  await runSeeds({
    library,
    options: common,
    workers: Number(values.workers),
    nextSeed: () => (next < until ? next++ : undefined),
    onResult(result) {
      finished++
      for (const [name, count] of Object.entries(result.counts))
        totals.set(name, (totals.get(name) ?? 0) + count)
      if (result.violations.length > 0) {
        failures.push(result)
        process.stderr.write(`sim: seed ${result.seed} failed: ${result.violations[0].split('\n')[0]}\n`)
      }
      const perMinute = Math.round((finished / (performance.now() - started)) * 60_000)
      const line = `sim: ${finished} of ${until - from} seeds, ${failures.length} failed, ${perMinute} a minute`
      if (process.stderr.isTTY) process.stderr.write(`\r${line} `)
      else if (finished % 500 === 0 || finished === until - from) process.stderr.write(`${line}\n`)
      return failures.length < Number(values.failures)
    },
  })
  if (process.stderr.isTTY) process.stderr.write('\n')
  const shown = [...totals]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${name} ${count}`)
  await print(`totals: ${shown.join(', ')}\n`)
  for (const { seed, violations } of failures) {
    await print(`seed ${seed}: ${violations[0]}\n  again: npm run sim -- --seed ${seed} --trace\n`)
  }
  const shrinkable = failures.filter(({ promise }) => promise !== 'activity')
  for (const { seed } of shrinkable.slice(0, MAX_SHRUNK)) await printShrunk(seed, common)
  if (failures.length > 0) return 1
  await print(`${finished} seeds, all promises kept\n`)
  return 0
}

async function printShrunk(seed, options) {
  const shrunk = await shrink(seed, options)
  if (shrunk === undefined) {
    await print(`seed ${seed}: kept all promises this time\n`)
    return
  }
  const { faults, operations, report } = shrunk
  await print(
    `seed ${seed} shrunk to ${faults.length} faults and ${operations.length} operations: ${violationText(report.violations[0])}\n`,
  )
  for (const fault of report.plan.faults) await print(`  ${JSON.stringify(fault)}\n`)
  const list = (numbers) => numbers.join(',') || '0'
  await print(
    `  again: npm run sim -- --seed ${seed} --trace --only-faults ${list(faults)} --only-ops ${list(operations)}\n`,
  )
}

/** The names of promises as the library uses them: most are numbers. */
function namesOf(promises) {
  return Object.keys(promises).map((name) => Number(name) || name)
}

function numbersOf(text) {
  return text?.split(',').map(Number)
}

async function print(text) {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
