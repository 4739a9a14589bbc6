/**
 * npm run chaos -- servers --rounds 60: three processes on one PostgreSQL, then on one Redis, with each strategy, at
 * 2,000 timers a second in total, while processes are killed and stopped, servers restarted and connections cut.
 * This process is the receiver, with a log of its own; what must hold is said in `receiver.ts`.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { faults } from './fault.js'
import { servers } from './server.js'
import { strategies } from './task.js'
import { type Plant, plants } from './told-store.js'
import { Trial, type TrialReport, type TrialTask } from './trial.js'

const USAGE = `usage: npm run chaos -- servers [--server ${Object.keys(servers).join('|')}]
  [--strategy ${Object.keys(strategies).join('|')}] [--faults ${Object.keys(faults).join(',')}]
  [--rounds 60] [--rate 2000] [--seed 1] [--plant ${plants.join('|')}] [--keep]\n`

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
for (const task of tasks()) {
  const report = await new Trial(task).run()
  process.stdout.write(`${summaryOf(task, report)}\n`)
  const found = report.receiver.faults
  if (task.keepsLog && found.length === 0)
    process.stderr.write(`the receiver's log is ${report.folder}/receiver.log\n`)
  if (found.length === 0) continue
  process.stderr.write(
    `${task.server}, ${task.strategy}, seed ${task.seed}: ${found.length} faults\n  ` +
      `${found.slice(0, 20).join('\n  ')}\nthe receiver's log is kept in ${report.folder}/receiver.log\n`,
  )
  process.exitCode = 1
  break
}

function tasks(): TrialTask[] {
  const values = givenValues()
  const names = {
    server: values.server.split(','),
    strategy: values.strategy.split(','),
    faults: values.faults.split(','),
  }
  const [rounds, rate, seed] = [Number(values.rounds), Number(values.rate), Number(values.seed)]
  const isKnown =
    names.server.every((name) => name in servers) &&
    names.strategy.every((name) => name in strategies) &&
    names.faults.every((name) => name in faults) &&
    [rounds, rate, seed].every((number) => Number.isInteger(number) && number > 0) &&
    ['none', ...plants].includes(values.plant)
  if (!isKnown) misunderstood()
  return names.server.flatMap((server) =>
    names.strategy.map((strategy) => ({
      server,
      strategy,
      faults: names.faults,
      rounds,
      rate,
      seed,
      plant: values.plant as Plant,
      keepsLog: values.keep,
    })),
  )
}

function summaryOf({ server, strategy, seed, rounds }: TrialTask, report: TrialReport): string {
  const { receiver, takeovers, broken, ackedRate, drainMs, counts } = report
  const took = [...takeovers].map(([fault, ms]) => `after ${fault} ${shownSpread(ms)}`).join(', ') || 'none'
  const found =
    receiver.faults.length === 0
      ? 'each delivered and done, none early, none after its settlement'
      : 'WITH FAULTS'
  return (
    `${server}, ${strategy}, ${rounds} faults, seed ${seed}: ${receiver.acked} acknowledged timers, ${found}; ` +
    `${Math.round(ackedRate)} acknowledged a second, ${receiver.unsure} unsure, ` +
    `${receiver.deliveries} deliveries, ${receiver.settledCount} settled by the receiver's ear and ` +
    `${counts?.settled ?? '?'} by the store's count, ${receiver.cancelledCount} cancelled, ${receiver.repeats} repeated, ` +
    `${receiver.resumed} resumed, ${receiver.retries} retried, ${receiver.overtaken} overtaken while stopped; ` +
    `takeovers ${took}, ${report.kept} shards kept; faults ${shownCounts(broken)}; troubles ${shownCounts(receiver.troubles)}; ` +
    `empty after ${Math.round(drainMs)} ms`
  )
}

function shownCounts(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ') || 'none'
}

function shownSpread(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b)
  const at = (index: number): string => (sorted[index] ?? 0).toFixed(0)
  return `${sorted.length} shards, median ${at(sorted.length >> 1)}, most ${at(sorted.length - 1)} ms`
}

function givenValues() {
  try {
    return parseArgs({
      options: {
        server: { type: 'string', default: Object.keys(servers).join(',') },
        strategy: { type: 'string', default: Object.keys(strategies).join(',') },
        faults: { type: 'string', default: Object.keys(faults).join(',') },
        rounds: { type: 'string', default: '60' },
        rate: { type: 'string', default: '2000' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        plant: { type: 'string', default: 'none' },
        keep: { type: 'boolean', default: false },
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
