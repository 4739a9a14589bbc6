/**
 * npm run chaos -- servers --rounds 60: three processes use one PostgreSQL, then one Redis, with each strategy.
 * Together they set 2,000 timers per second. Meanwhile processes are killed and paused, servers are restarted and
 * connections are cut. This process is the receiver and has its own log. `receiver.ts` lists what must hold.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { canFakeClocks } from '../fake-clock.js'
import { obstacleTo, play } from '../scenes/play.js'
import { scenes } from '../scenes/scenes.js'
import type { StageReport } from '../scenes/stage.js'
import { clockFaults, faults } from './fault.js'
import { servers } from './server.js'
import { paces, type PaceName, strategies } from './task.js'
import { type Plant, plants } from './reporting-store.js'
import { shownWeb } from '../web/shown-web.js'
import { Trial, type TrialReport, type TrialTask } from './trial.js'
import { type LoadName, loadNames } from './work.js'

const usableFaults = Object.keys(faults).filter((name) => canFakeClocks || !clockFaults.includes(name))
const USAGE = `usage: npm run chaos -- servers [--server ${Object.keys(servers).join('|')}]
  [--strategy ${Object.keys(strategies).join('|')}] [--faults ${usableFaults.join(',')}]
  [--load ${loadNames.join(',')}|none] [--pace ${Object.keys(paces).join('|')}] [--postgres german]
  [--rounds 60] [--rate 2000] [--seed 1] [--plant ${plants.join('|')}] [--keep] [--no-web]
or npm run chaos -- servers --scene ${Object.keys(scenes).join('|')}|all
  [--server …] [--strategy …] [--pace …]\n`

// Each process of a trial and each clock has a listener.
process.setMaxListeners(100)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const values = givenValues()
if (values.scene === undefined) await tryAll()
else await playAll(values.scene === 'all' ? Object.keys(scenes) : values.scene.split(','))

async function tryAll(): Promise<void> {
  for (const task of tasks()) {
    const report = await new Trial(task).run()
    process.stdout.write(`${summaryOf(task, report)}\n`)
    const found = report.receiver.faults
    if (task.keepsLog && found.length === 0)
      process.stderr.write(`the receiver's log is ${report.folder}/receiver.log\n`)
    if (found.length === 0) continue
    process.stderr.write(
      `${task.server}, ${task.strategy}, seed ${task.seed}: ${found.length} faults (${shownCounts(report.receiver.counts)})\n  ` +
        `${found.slice(0, 20).join('\n  ')}\nthe receiver's log is kept in ${report.folder}/receiver.log\n`,
    )
    process.exitCode = 1
    break
  }
}

/** Plays each scene, even if an earlier one has failed. */
async function playAll(names: readonly string[]): Promise<void> {
  if (!names.every((name) => name in scenes)) misunderstood()
  const pace = values.pace as PaceName
  // By default one server and one strategy: a scene is for a close look.
  const given = { server: values.server ?? 'postgres', strategy: values.strategy ?? 'preload' }
  for (const scene of names)
    for (const server of given.server.split(','))
      for (const strategy of given.strategy.split(',')) {
        const obstacle = obstacleTo({ scene, server })
        if (obstacle !== undefined) {
          process.stderr.write(`${scene} on ${server} was left out: ${obstacle}\n`)
          continue
        }
        process.stderr.write(`chaos: ${scene}: ${scenes[scene]!.about}\n`)
        const report = await play({ scene, server, strategy, pace })
        process.stdout.write(`${scene}, ${server}, ${strategy}, ${pace}: ${sceneSummaryOf(report)}\n`)
        if (report.red.size === 0) continue
        process.stderr.write(`  ${report.faults.slice(0, 20).join('\n  ')}\n`)
        process.exitCode = 1
      }
}

function sceneSummaryOf({ red, facts }: StageReport): string {
  const found = red.size === 0 ? 'all promises kept' : `BROKEN: ${shownCounts(red)}`
  return `${found}; ${shownCounts(facts)}`
}

function tasks(): TrialTask[] {
  const names = {
    server: (values.server ?? Object.keys(servers).join(',')).split(','),
    strategy: (values.strategy ?? Object.keys(strategies).join(',')).split(','),
    faults: values.faults.split(','),
    loads: values.load === 'none' ? [] : values.load.split(','),
  }
  const [rounds, rate, seed] = [Number(values.rounds), Number(values.rate), Number(values.seed)]
  const isKnown =
    names.server.every((name) => name in servers) &&
    names.strategy.every((name) => name in strategies) &&
    names.faults.every((name) => usableFaults.includes(name)) &&
    names.loads.every((name) => loadNames.includes(name as LoadName)) &&
    values.pace in paces &&
    [undefined, 'german'].includes(values.postgres) &&
    [rounds, rate, seed].every((number) => Number.isInteger(number) && number > 0) &&
    ['none', ...plants].includes(values.plant)
  if (!isKnown) misunderstood()
  return names.server.flatMap((server) =>
    names.strategy.map((strategy) => ({
      server,
      strategy,
      faults: names.faults,
      loads: names.loads as LoadName[],
      pace: values.pace as PaceName,
      isGerman: values.postgres === 'german' && server === 'postgres',
      rounds,
      rate,
      seed,
      plant: values.plant as Plant,
      hasWeb: !values['no-web'],
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
    `repeats after ${shownCounts(receiver.repeatsByFault)}; events ${shownCounts(receiver.events)}; ` +
    `takeovers ${took}, ${report.kept} shards kept; faults ${shownCounts(broken)}; troubles ${shownCounts(receiver.troubles)}; ` +
    `empty after ${Math.round(drainMs)} ms; ${shownWeb(report.web)}`
  )
}

function shownCounts(counts: ReadonlyMap<string, number | string>): string {
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
        server: { type: 'string' },
        strategy: { type: 'string' },
        scene: { type: 'string' },
        faults: { type: 'string', default: usableFaults.join(',') },
        load: { type: 'string', default: loadNames.join(',') },
        pace: { type: 'string', default: 'quick' },
        postgres: { type: 'string' },
        rounds: { type: 'string', default: '60' },
        rate: { type: 'string', default: '2000' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        plant: { type: 'string', default: 'none' },
        keep: { type: 'boolean', default: false },
        'no-web': { type: 'boolean', default: false },
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
