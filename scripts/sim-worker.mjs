// A child process of `npm run sim`: runs the seeds that it receives with a given build of the library, and sends the
// results.
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import path from 'node:path'

const library = process.argv[2]
const load = (file) => import(pathToFileURL(path.join(library, file)))
const { simulate, violationText } = await load('testing/simulation/index.js')

const options = JSON.parse(process.argv[3])
let strayErrors = []
process.on('unhandledRejection', (error) => strayErrors.push(`unhandled rejection: ${error?.stack ?? error}`))
process.on('uncaughtException', (error) => strayErrors.push(`uncaught exception: ${error?.stack ?? error}`))
process.on('message', (seeds) => void runAll(seeds))
process.on('disconnect', () => process.exit(0))
process.send('ready')

async function runAll(seeds) {
  for (const seed of seeds) {
    strayErrors = []
    const texts = []
    let counts = {}
    let promise
    try {
      const report = await simulate(seed, options)
      counts = report.counts
      promise = report.violations[0]?.promise
      texts.push(...report.violations.map(violationText))
    } catch (error) {
      texts.push(`the run threw: ${error?.stack ?? error}`)
    }
    texts.push(...strayErrors)
    process.send({
      seed,
      violations: texts,
      promise: promise ?? (texts.length > 0 ? 'face' : undefined),
      counts,
    })
  }
}
