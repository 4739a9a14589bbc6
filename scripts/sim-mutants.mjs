// npm run sim:mutants [-- --seeds 400] [--only "name|name"] [--workers 2] [--outer] [--except 2,fit]
//
// Breaks each rule of the protocol in turn and runs seeds until one of them fails. It is a failure if no seed fails, if a
// patch does not apply, or if a kept seed does not notice the mutant that it names. With --outer only promises that
// clients and handlers can see count, not those that inspect the store. With --except these promises do not count.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { built } from './ready.mjs'
import { runSeeds } from './sim-pool.mjs'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '400' },
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
// A seed that fails without a mutant proves nothing about one.
const unfit = new Set()
await run(path.join(root, 'dist'), ({ seed, violations }) => {
  if (violations.length > 0) unfit.add(seed)
  return true
})
if (unfit.size > 0)
  process.stdout.write(`skipped because they fail without a mutant: seeds ${[...unfit].join(', ')}\n`)
const survivors = []
const stale = []
for (const mutant of chosen) {
  const library = await build(mutant)
  for (const kept of regressions.filter(({ mutant: named }) => named === mutant.name))
    if (!(await isNoticedBy(kept, library))) stale.push(`seed ${kept.seed}: ${mutant.name}`)
  const killer = await hunt(library)
  rmSync(library, { recursive: true, force: true })
  if (killer === undefined && mutant.unseen === undefined) survivors.push(mutant.name)
  const survived =
    mutant.unseen === undefined
      ? `SURVIVED ${values.seeds} seeds`
      : `not noticed by seeds, but ${mutant.unseen}`
  const verdict = killer === undefined ? survived : `seed ${String(killer.seed).padEnd(4)} ${killer.text}`
  process.stdout.write(`${mutant.name.padEnd(44)} ${verdict.split('\n')[0].slice(0, 220)}\n`)
}
process.stdout.write(`${chosen.length - survivors.length} of ${chosen.length} mutants noticed or explained\n`)
if (stale.length > 0)
  process.stdout.write(
    `kept seeds that no longer notice their mutant (find others, see test/engine/kept-seeds.ts):\n${stale.join('\n')}\n`,
  )
process.exitCode = survivors.length + stale.length === 0 ? 0 : 1

/** Whether a kept seed still notices its mutant: a change of the plans may have made it another run. */
async function isNoticedBy({ seed, onlyFaults, onlyOperations }, library) {
  const seeds = [seed]
  let isNoticed = false
  await runSeeds({
    library,
    workers: 1,
    options: { onlyFaults, onlyOperations },
    nextSeed: () => seeds.pop(),
    onResult({ violations }) {
      isNoticed = violations.length > 0
      return true
    },
  })
  return isNoticed
}

/** The first seed that fails, and its violation. */
async function hunt(library) {
  let killer
  let fallback
  await run(library, ({ seed, violations, promise }) => {
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

async function run(library, onResult) {
  let next = 1
  const nextSeed = () => {
    while (unfit.has(next)) next++
    return next <= Number(values.seeds) ? next++ : undefined
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
