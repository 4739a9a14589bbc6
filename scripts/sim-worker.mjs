// A process of `npm run sim`: runs the seeds it is sent through the library it was given, and answers each.
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import path from 'node:path'

const library = process.argv[2]
const load = (file) => import(pathToFileURL(path.join(library, file)))
const { outerPromises, simulate, violationText } = await load('testing/simulation/index.js')

const promises = process.argv[3] === 'outer' ? outerPromises : undefined
let astray = []
process.on('unhandledRejection', (error) => astray.push(`unhandled rejection: ${error?.stack ?? error}`))
process.on('uncaughtException', (error) => astray.push(`uncaught exception: ${error?.stack ?? error}`))
process.on('message', (seeds) => void runAll(seeds))
process.on('disconnect', () => process.exit(0))
process.send('ready')

async function runAll(seeds) {
  for (const seed of seeds) {
    astray = []
    const texts = []
    let counts = {}
    let promise
    try {
      const report = await simulate(seed, { promises })
      counts = report.counts
      promise = report.violations[0]?.promise
      texts.push(...report.violations.map(violationText))
    } catch (error) {
      texts.push(`the run threw: ${error?.stack ?? error}`)
    }
    texts.push(...astray)
    process.send({
      seed,
      violations: texts,
      promise: promise ?? (texts.length > 0 ? 'face' : undefined),
      counts,
    })
  }
}
