// npm run sim:mutants [-- --seeds 400] [--from 1] [--only "name|name"] [--hunt] [--workers 2] [--outer] [--except 2,fit]
//
// Breaks each rule of the protocol in turn. Each mutant must be noticed: by the kept seeds that name it
// (test/engine/kept-seeds.ts), by the test that it names, or else by one of the seeds. It is a failure if it is not, or if
// a patch does not apply. With --hunt only seeds count, to find one to keep. With --outer only promises that clients and
// handlers can see count, not those that inspect the store. With --except these promises do not count.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { built, tool } from './ready.mjs'
import { runSeeds } from './sim-pool.mjs'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '400' },
    from: { type: 'string', default: '1' },
    hunt: { type: 'boolean', default: false },
    only: { type: 'string' },
    outer: { type: 'boolean', default: false },
    except: { type: 'string' },
    workers: { type: 'string', default: String(os.availableParallelism()) },
  },
})

await built()
const { transformWithOxc } = await import('vite')
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = path.join(root, '.carillon', 'mutants')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })

const { mutants } = await tableOf('test/engine/mutants.ts')
const { regressions } = await tableOf('test/engine/kept-seeds.ts')
const wanted = values.only?.split('|') ?? ['']
const chosen = mutants.filter(({ name }) => wanted.some((part) => name.includes(part)))
let unfit
const survivors = []
const started = performance.now()
for (const mutant of chosen) {
  const verdict = await verdictOn(mutant)
  if (verdict === undefined) survivors.push(mutant.name)
  process.stdout.write(`${mutant.name.padEnd(44)} ${(verdict ?? 'SURVIVED').split('\n')[0].slice(0, 220)}\n`)
}
const minutes = Math.round((performance.now() - started) / 60_000)
process.stdout.write(
  `${chosen.length - survivors.length} of ${chosen.length} mutants noticed, ${minutes} minutes\n`,
)
for (const name of survivors) process.stdout.write(`survived: ${name}\n`)
process.exitCode = survivors.length === 0 ? 0 : 1

/** What notices a mutant; undefined if something does not that should. */
async function verdictOn(mutant) {
  const kept = values.hunt ? [] : regressions.filter(({ mutant: named }) => named === mutant.name)
  const test = values.hunt ? undefined : mutant.test
  const library = await build(mutant)
  const verdicts = []
  for (const each of kept) verdicts.push(await verdictOfKept(each, library))
  if (test !== undefined) verdicts.push(await verdictOfTest(mutant))
  if (verdicts.length === 0) verdicts.push(await verdictOfSeeds(library))
  rmSync(library, { recursive: true, force: true })
  return verdicts.includes(undefined) ? undefined : verdicts.join('; ')
}

async function verdictOfSeeds(library) {
  const killer = await hunt(library)
  return killer && `seed ${String(killer.seed).padEnd(4)} ${killer.text}`
}

/** A kept seed may have become another run, and no longer notice its mutant. */
async function verdictOfKept({ seed, onlyFaults, onlyOperations }, library) {
  const seeds = [seed]
  let verdict
  await runSeeds({
    library,
    workers: 1,
    options: { onlyFaults, onlyOperations },
    nextSeed: () => seeds.pop(),
    onResult({ violations, promise }) {
      if (violations.length > 0 && promise !== 'activity') verdict = `kept seed ${seed} ${violations[0]}`
    },
  })
  if (verdict === undefined)
    process.stdout.write(`kept seed ${seed} does not notice its mutant: find another\n`)
  return verdict
}

/** Runs the test that a mutant names, with its patches. */
async function verdictOfTest({ test, patches }) {
  const listed = path.join(folder, 'patches.json')
  const result = path.join(folder, 'result.json')
  writeFileSync(listed, JSON.stringify(patches))
  rmSync(result, { force: true })
  const args = ['run', test, '--config', 'scripts/mutant-tests.mjs', '--root', '.', '--reporter', 'json']
  const child = spawn(process.execPath, [tool('vitest', 'vitest.mjs'), ...args, '--outputFile', result], {
    cwd: root,
    env: { ...process.env, CARILLON_PATCHES: listed },
    stdio: 'ignore',
  })
  await once(child, 'exit')
  const { testResults } = JSON.parse(readFileSync(result, 'utf8'))
  const failed = testResults.flatMap(({ assertionResults }) => assertionResults)
  const first = failed.find(({ status }) => status === 'failed')
  if (first === undefined) process.stdout.write(`${test} does not notice its mutant: mend the test\n`)
  return first && `${test}: ${first.fullName}`
}

/** Seeds that fail without a mutant: they prove nothing about one. */
async function unfitSeeds() {
  const seeds = new Set()
  await run(path.join(root, 'dist'), seeds, ({ seed, violations }) => {
    if (violations.length > 0) seeds.add(seed)
    return true
  })
  if (seeds.size > 0)
    process.stdout.write(`skipped because they fail without a mutant: seeds ${[...seeds].join(', ')}\n`)
  return seeds
}

/** The first seed that fails, and its violation. */
async function hunt(library) {
  unfit ??= await unfitSeeds()
  let killer
  let fallback
  await run(library, unfit, ({ seed, violations, promise }) => {
    // A run that did little proves nothing.
    if (violations.length === 0 || promise === 'activity') return true
    // A run that throws counts, but a broken promise says more, so the search goes on. A run that never ends counts at
    // once: the other seeds would take a minute each, too.
    if (promise === 'face' && !violations[0].startsWith('the run gave no result'))
      fallback ??= { seed, text: violations[0] }
    else killer = { seed, text: violations[0] }
    return killer === undefined
  })
  return killer ?? fallback
}

async function run(library, skipped, onResult) {
  let next = Number(values.from)
  const until = next + Number(values.seeds)
  const nextSeed = () => {
    while (skipped.has(next)) next++
    return next < until ? next++ : undefined
  }
  const { outerPromises, promises } = await import(
    pathToFileURL(path.join(root, 'dist', 'testing/simulation/index.js'))
  )
  const except = values.except?.split(',') ?? []
  const seen = values.outer ? outerPromises : Object.keys(promises).map((name) => Number(name) || name)
  const options = { promises: seen.filter((name) => !except.includes(String(name))) }
  await runSeeds({ library, workers: Number(values.workers), options, nextSeed, onResult })
}

/** Builds a copy of the library with the mutant's patches. */
async function build({ name, patches }) {
  const library = path.join(folder, name.replaceAll(/[^a-z0-9]+/gi, '-'))
  cpSync(path.join(root, 'dist'), library, { recursive: true })
  const texts = new Map()
  for (const { file, find, replace } of patches) {
    const text = texts.get(file) ?? readFileSync(path.join(root, 'src', file), 'utf8')
    if (text.split(find).length !== 2) {
      throw new Error(
        `mutant '${name}': its patch must match exactly once in src/${file}, but does not:\n${find}`,
      )
    }
    texts.set(
      file,
      text.replace(find, () => replace),
    )
  }
  for (const [file, text] of texts) {
    writeFileSync(path.join(library, file.replace(/\.ts$/, '.js')), await transpiled(file, text))
  }
  return library
}

async function tableOf(file) {
  const compiled = path.join(folder, `${path.basename(file, '.ts')}.mjs`)
  writeFileSync(compiled, await transpiled(file, readFileSync(path.join(root, file), 'utf8')))
  return await import(pathToFileURL(compiled))
}

async function transpiled(file, text) {
  const { code } = await transformWithOxc(text, file, { target: 'es2023', sourcemap: false })
  return code
}
