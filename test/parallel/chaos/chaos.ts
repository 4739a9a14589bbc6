/**
 * npm run chaos -- parallel --operations 20000000 --deaths 1000: timers on two threads. First a copy of the pool without
 * the compare-and-set of its records is stressed: the trial must notice. Then two workers set, move and cancel each
 * other's timers at random. Then they do so while workers and metronomes are ended in every way. Each timer must be
 * fired or cancelled, once, and none early. `test/parallel/model.test.ts` finds the same planted fault by its model check.
 */
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { TimerPool } from 'carillon/parallel'
import { churn, type ChurnReport } from '../churn.js'
import { PlantedPool } from './planted.js'

/** The load between two deaths. */
const OPERATIONS_PER_DEATH = 20_000
/** The stress runs in parts, each with a pool of its own, so that its ledger stays small. */
const PART = 4_000_000

const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '20000000' },
    deaths: { type: 'string', default: '1000' },
    'no-plant': { type: 'boolean', default: false },
  },
})
const operations = Number(values.operations)
const deaths = Number(values.deaths)
if (!(Number.isInteger(operations) && operations >= 0 && Number.isInteger(deaths) && deaths >= 0)) {
  process.stderr.write(
    'usage: npm run chaos -- parallel [--operations 20000000] [--deaths 1000] [--no-plant]\n',
  )
  process.exit(2)
}
const root = path.dirname(fileURLToPath(import.meta.resolve('carillon/package.json')))
const module = pathToFileURL(path.join(root, 'test/parallel/tasks.mjs'))
let isBroken = false

if (!values['no-plant']) await stressPlanted()
let done = 0
while (done < operations) {
  const part = Math.min(PART, operations - done)
  const report = await churn({ Pool: TimerPool, module, operations: part, deaths: 0 })
  done += report.operations
  judge(`${done} operations`, report)
}
if (deaths > 0) {
  let said = Date.now()
  const onProgress = (text: string): void => {
    if (Date.now() - said < 30_000) return
    said = Date.now()
    say(`  ${text}`)
  }
  const report = await churn({
    Pool: TimerPool,
    module,
    operations: deaths * OPERATIONS_PER_DEATH,
    deaths,
    onProgress,
  })
  judge(`${deaths} deaths`, report)
  const { interrupted, unnoted } = report
  say(`  ${JSON.stringify(report.deaths)}, ${interrupted} tasks were interrupted, ${unnoted} sets or cancels`)
  // A thread does one thing at a time.
  if (unnoted > deaths * 2) isBroken = true
}
say(isBroken ? 'BROKEN' : 'every timer was fired or cancelled once, none early')
process.exit(isBroken ? 1 : 0)

/** Stresses the pool without its compare-and-set, until a promise is broken. */
async function stressPlanted(): Promise<void> {
  const planted = new PlantedPool(root)
  const pool = await planted.load()
  let tried = 0
  for (; tried < 2 * PART; tried += PART / 10) {
    const report = await churn({
      Pool: pool.TimerPool,
      module: planted.module,
      operations: PART / 10,
      deaths: 0,
    })
    const wrong = wrongFates(report)
    if (wrong.length === 0) continue
    say(`planted, no compare-and-set: found within ${tried + PART / 10} operations: ${wrong.join(', ')}`)
    planted.remove()
    return
  }
  planted.remove()
  isBroken = true
  say(`planted, no compare-and-set: NOT found in ${tried} operations`)
}

function wrongFates({ fates }: ChurnReport): string[] {
  return Object.entries(fates)
    .filter(([fate]) => fate !== 'fired' && fate !== 'cancelled')
    .map(([fate, count]) => `${count} timers ${fate}`)
}

function judge(what: string, report: ChurnReport): void {
  const wrong = wrongFates(report)
  if (wrong.length > 0) isBroken = true
  const { fired = 0, cancelled = 0 } = report.fates
  say(
    `${what}: ${report.timers} timers, ${fired} fired, ${cancelled} cancelled${wrong.map((each) => `, ${each}`).join('')}`,
  )
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
