/**
 * npm run chaos -- instances: three `carillon serve` use one PostgreSQL, then one Redis Cluster of six processes.
 * Through all of them, 1,000 timers per second are set singly and 5,000 in batches. Meanwhile all are restarted one
 * after the other, one is killed, and another is paused for longer than its lease. `ledger.ts` lists what must hold.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { storeServers } from './store-server.js'
import {
  clockFaults,
  type FaultName,
  faultNames,
  type Plant,
  plants,
  Trial,
  type TrialReport,
  type TrialTask,
} from './trial.js'
import { canFakeClocks } from '../fake-clock.js'
import { shownWeb } from '../web/shown-web.js'
import { WEB_KIND } from '../web/web-line.js'
import { type LoadName, loadNames } from './load.js'

const usableFaults = faultNames.filter((name) => canFakeClocks || !clockFaults.includes(name))
const USAGE = `usage: npm run chaos -- instances [--server ${Object.keys(storeServers).join('|')}]
  [--faults ${usableFaults.join(',')}] [--load ${loadNames.join(',')},${WEB_KIND}|none] [--postgres german]
  [--seconds 60] [--rate 6000] [--seed 1] [--plant ${plants.join('|')}]\n`

// Each process of a trial and each clock has a listener.
process.setMaxListeners(100)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
for (const task of tasks()) {
  const report = await new Trial(task).run()
  process.stdout.write(`${summaryOf(task, report)}\n`)
  if (report.faults.length === 0) continue
  process.stderr.write(
    `${task.server}, seed ${task.seed}: ${report.faults.length} faults\n  ${report.faults.slice(0, 20).join('\n  ')}\n`,
  )
  process.exitCode = 1
  break
}

function tasks(): TrialTask[] {
  const values = givenValues()
  const servers = values.server.split(',')
  const faults = values.faults.split(',')
  const given = values.load === 'none' ? [] : values.load.split(',')
  const loads = given.filter((name) => name !== WEB_KIND)
  const [seconds, rate, seed] = [Number(values.seconds), Number(values.rate), Number(values.seed)]
  const isKnown =
    servers.every((name) => name in storeServers) &&
    [seconds, rate, seed].every((number) => Number.isInteger(number) && number > 0) &&
    faults.every((name) => usableFaults.includes(name as FaultName)) &&
    loads.every((name) => loadNames.includes(name as LoadName)) &&
    [undefined, 'german'].includes(values.postgres) &&
    plants.includes(values.plant as Plant)
  if (!isKnown) misunderstood()
  return servers.map((server) => ({
    server,
    seconds,
    rate,
    seed,
    faults: faults as FaultName[],
    loads: loads as LoadName[],
    hasWeb: given.includes(WEB_KIND),
    isGerman: values.postgres === 'german' && server === 'postgres',
    plant: values.plant as Plant,
  }))
}

function summaryOf({ server, rate, seed }: TrialTask, report: TrialReport): string {
  const { ledger, load, workers, takeovers, seconds, scrapes, warnings, drainMs } = report
  const found = report.faults.length === 0 ? 'each delivered, none early, nothing missing' : 'WITH FAULTS'
  const took = [...takeovers].map(([fault, ms]) => `after ${fault} ${shownSpread(ms)}`).join(', ') || 'none'
  const agreed = scrapes
    .map(
      ({ life, fired, received, isExact }) =>
        `${life} fired ${fired} and ${received.deliveries} came${isExact ? ', as it must be' : ''}`,
    )
    .join(', ')
  return (
    `${server}, ${rate} a second, seed ${seed}: ${ledger.acked} acknowledged timers, ${found}; ` +
    `${Math.round(ledger.acked / seconds)} acknowledged a second for ${seconds.toFixed(0)} s, ` +
    `${load?.shed ?? 0} of ${load?.offered ?? 0} shed, ${ledger.unsure} unsure, ${ledger.refused} refused, ` +
    `${ledger.cancelled} cancelled, ${ledger.deliveries} deliveries, ${ledger.repeats} repeated, ` +
    `${ledger.retries} retried, ${ledger.overtaken} overtaken while stopped; ` +
    `repeats after ${shownCounts(ledger.repeatsByFault)}; ` +
    `workers leased ${workers?.leased ?? 0}, acknowledged ${workers?.acked ?? 0}, ${workers?.stale ?? 0} too late; ` +
    `takeovers ${took}; late ${shownQuantiles(ledger.lateMs)}; set ${shownQuantiles(load?.setMs ?? [])}; ` +
    `cancel ${shownQuantiles(load?.cancelMs ?? [])}; ${agreed}; problems ${shownCounts(load?.problems)}; ` +
    `warnings ${shownCounts(warnings)}; empty after ${drainMs} ms; processor time ${shownTimes(report)}; ` +
    (report.web === undefined ? 'no web processes' : shownWeb(report.web))
  )
}

function shownCounts(counts: ReadonlyMap<string, number> = new Map()): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ') || 'none'
}

function shownTimes({ processorSeconds, ledger }: TrialReport): string {
  const names = ['instances', 'store', 'callers and receiver']
  const shown = processorSeconds.map((seconds, index) => {
    const each = (seconds * 1e6) / Math.max(1, ledger.acked)
    return `${names[index]} ${seconds.toFixed(1)} s (${each.toFixed(0)} µs a timer)`
  })
  return shown.join(', ')
}

function shownSpread(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b)
  return `${sorted.length} shards, median ${sorted[sorted.length >> 1] ?? 0}, most ${sorted.at(-1) ?? 0} ms`
}

function shownQuantiles(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0)
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms`
}

function givenValues() {
  try {
    return parseArgs({
      options: {
        server: { type: 'string', default: Object.keys(storeServers).join(',') },
        faults: { type: 'string', default: usableFaults.join(',') },
        load: { type: 'string', default: [...loadNames, WEB_KIND].join(',') },
        postgres: { type: 'string' },
        seconds: { type: 'string', default: '60' },
        rate: { type: 'string', default: '6000' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        plant: { type: 'string', default: 'none' },
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
