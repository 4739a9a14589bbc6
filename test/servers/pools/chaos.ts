/**
 * npm run chaos -- pools: three workers with kinds of their own on one PostgreSQL, then on one Redis, and 100,000
 * timers. In the middle all are replaced, by a version that adds, renames and drops kinds.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { poolServers, type PoolsReport, type PoolsTask, PoolsTrial } from './trial.js'

const USAGE = `usage: npm run chaos -- pools [--server ${Object.keys(poolServers).join(',')}]
  [--timers 100000] [--rate 500] [--pause 3000] [--seed 1]\n`

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
for (const task of tasks()) {
  const report = await new PoolsTrial(task).run()
  process.stdout.write(`${summaryOf(task, report)}\n`)
  if (report.faults.length === 0) continue
  process.stderr.write(
    `${task.server}: ${report.faults.length} faults\n  ${report.faults.slice(0, 20).join('\n  ')}\n`,
  )
  process.exitCode = 1
}

function summaryOf({ server, rate, seed }: PoolsTask, report: PoolsReport): string {
  const { ledger, workers, faults, leftOver, workerSeconds, storeSeconds } = report
  const { steady, deploying, waited } = ledger.lateness(workers)
  const events = new Map<string, number>()
  for (const worker of workers)
    for (const [type, count] of worker.events) events.set(type, (events.get(type) ?? 0) + count)
  const found = faults.length === 0 ? 'all started where they are handled, none early' : 'WITH FAULTS'
  const shown = [...events].map(([type, count]) => `${type} ${count}`).join(', ') || 'none'
  return (
    `pools, ${server}, ${rate} a second, seed ${seed}: ${ledger.acked} timers, ${found}; ` +
    `${ledger.unsureCount} unsure, ${ledger.repeats} repeated; late ${shownQuantiles(steady)}; while workers were replaced ` +
    `${shownQuantiles(deploying)}; ${waited} had no handler when they were due, ${leftOver} of them until a ` +
    `worker for dropped kinds came; events ${shown}; ` +
    `processor time workers ${workerSeconds.toFixed(1)} s, store ${storeSeconds.toFixed(1)} s`
  )
}

function shownQuantiles(sorted: readonly number[]): string {
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms (${sorted.length} timers)`
}

function tasks(): PoolsTask[] {
  const values = givenValues()
  const servers = values.server.split(',')
  const [timers, rate, seed] = [Number(values.timers), Number(values.rate), Number(values.seed)]
  const pauseMs = Number(values.pause)
  const isKnown =
    servers.every((name) => name in poolServers) &&
    [timers, rate, seed, pauseMs].every((number) => Number.isInteger(number) && number > 0)
  if (!isKnown) misunderstood()
  return servers.map((server) => ({ server, timers, rate, seed, pauseMs }))
}

function givenValues() {
  try {
    return parseArgs({
      options: {
        server: { type: 'string', default: Object.keys(poolServers).join(',') },
        timers: { type: 'string', default: '100000' },
        rate: { type: 'string', default: '500' },
        pause: { type: 'string', default: '3000' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      },
    }).values
  } catch {
    return misunderstood()
  }
}

function misunderstood(): never {
  process.stderr.write(USAGE)
  process.exit(2)
}
