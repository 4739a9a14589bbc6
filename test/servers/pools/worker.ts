/**
 * A worker of a pool: it handles some kinds, and reports each attempt. On its standard input, `start` starts it,
 * `unhandled` asks which timers nobody handles, and `stop` stops it cleanly. The end of the input ends it at once.
 */
import process from 'node:process'
import { createInterface } from 'node:readline'
import { openTimers, timer } from 'carillon'
import { writeLine } from '../../write-line.js'
import type { PoolFiring, PoolLine, PoolTask } from './pool-line.js'

/** Attempts are reported together, so that the reports take little time. */
const REPORT_MS = 50

const task = JSON.parse(process.argv[2]!) as PoolTask
let firings: PoolFiring[] = []

const timers = await openTimers({
  store: task.url as 'postgres://',
  logger: false,
  onEvent: ({ type }) => {
    if (type === 'lost' || type === 'store-trouble' || type === 'clock-off') tell({ say: 'event', type })
  },
})
for (const name of task.kinds) {
  timers.handle(timer(name), ({ kind, key, dueAt }) => {
    firings.push([kind, key, dueAt, Date.now()])
    if (firings.length === 1) setTimeout(report, REPORT_MS)
  })
}
tell({ say: 'open' })
createInterface({ input: process.stdin })
  .on('line', (word) => void obey(word))
  .on('close', () => process.exit(1))

async function obey(word: string): Promise<void> {
  if (word === 'start') {
    await timers.start()
    tell({ say: 'up', at: Date.now() })
  }
  if (word === 'unhandled') {
    const waiting = timers.engine.stats().unhandled.map((each) => [each.kind, each.waiting] as const)
    tell({ say: 'unhandled', waiting: Object.fromEntries(waiting) })
  }
  if (word === 'stop') {
    await timers.stop()
    report()
    process.exit(0)
  }
}

function report(): void {
  if (firings.length > 0) tell({ say: 'fired', firings })
  firings = []
}

function tell(line: PoolLine): void {
  writeLine(line)
}
