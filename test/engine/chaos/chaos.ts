/**
 * npm run chaos -- engine --rounds 100: an engine on a file store sets and fires timers, and is killed with SIGKILL at
 * a random moment, again and again. This process is the receiver, with a log of its own. At the end an engine runs
 * until no timer is left. `receiver.ts` checks the promises. The firings that were delivered again are counted: they
 * must be no more than those done within the time between two settlements before the kill.
 */
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Random } from 'carillon/testing'
import { type Crash, Receiver } from './receiver.js'
import { parseLine } from './report.js'

const MAX_LIFE_MS = 90_000
/** Handlers take up to this long. Meanwhile they hold the settled level back. */
const HANDLER_MS = 40
/** Extra time for two settlements on a busy machine. */
const SLACK_MS = 1500

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    plant: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed)
if (!(Number.isInteger(rounds) && rounds > 0 && Number.isInteger(seed))) {
  process.stderr.write(
    'usage: npm run chaos -- engine --rounds 100 [--seed 1] [--plant early-ack|early-settled]\n',
  )
  process.exit(2)
}

const child = fileURLToPath(new URL('child.js', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'carillon-chaos-engine-'))
const store = path.join(folder, 'timers')
const log = openSync(path.join(folder, 'receiver.log'), 'a')
const random = new Random(seed)
const receiver = new Receiver()
const crashes: Crash[] = []
const repeats: number[] = []

for (let round = 1; round <= rounds; round++) {
  const before = receiver.repeats
  const crash = await life(round, 20 + random.below(random.chance(0.3) ? 200 : 2000))
  // Repeats in this round belong to the previous kill.
  if (round > 1) repeats.push(receiver.repeats - before)
  crashes.push(crash)
  check(`round ${round}`)
  const { settleMs, carryAfterMs } = crash.settings!
  const bound = settleMs + Math.min(carryAfterMs + settleMs, HANDLER_MS) + SLACK_MS
  if (crash.oldestMs > bound) {
    receiver.faults.push(
      `a firing was done ${crash.oldestMs} ms before the kill and not settled, wanted at most ${bound}: ${JSON.stringify(crash)}`,
    )
  }
  check(`round ${round}`)
  if (round % 10 === 0 || round === rounds) say(round)
}
const before = receiver.repeats
await life(rounds + 1)
repeats.push(receiver.repeats - before)
receiver.finish()
check('the end')
closeSync(log)
rmSync(folder, { recursive: true, force: true })
process.stdout.write(
  `${rounds} kills, seed ${seed}: ${receiver.acked} acknowledged timers, each delivered and done, none early, ` +
    `none after its settlement; ${receiver.deliveries} deliveries, ${receiver.settledCount} settled; ` +
    `repeats for each kill: ${shownSpread(repeats)}; done and unsettled at a kill: ` +
    `${shownSpread(crashes.map(({ exposed }) => exposed))}, the oldest for ` +
    `${Math.max(...crashes.map(({ oldestMs }) => oldestMs))} ms; interrupted: ` +
    `${shownSpread(crashes.map(({ interrupted }) => interrupted))}\n`,
)

/** Runs an engine process and kills it after `lifeMs`. Without `lifeMs` it runs until no timer is left. */
async function life(round: number, lifeMs?: number): Promise<Crash> {
  const what = lifeMs === undefined ? 'drain' : values.plant
  const worker = spawn(process.execPath, [child, store, String(round), String(seed), what], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  receiver.life = round
  let killedAt = 0
  const kill = (): void => {
    killedAt = Date.now()
    worker.kill('SIGKILL')
  }
  const unready = setTimeout(kill, MAX_LIFE_MS)
  let isReady = false
  for await (const text of createInterface({ input: worker.stdout })) {
    writeSync(log, `${text}\n`)
    const line = parseLine(text)
    if (line === undefined) continue
    receiver.take(line)
    if (line.say !== 'ready' || lifeMs === undefined) continue
    isReady = true
    clearTimeout(unready)
    setTimeout(kill, lifeMs)
  }
  clearTimeout(unready)
  if (worker.exitCode === null && worker.signalCode === null) {
    await new Promise((resolve) => worker.once('exit', resolve))
  }
  const isAsWanted = lifeMs === undefined ? worker.exitCode === 0 : isReady && worker.signalCode === 'SIGKILL'
  if (!isAsWanted) {
    receiver.faults.push(
      `the child of round ${round} ended by itself (${worker.exitCode ?? worker.signalCode}), see above`,
    )
  }
  return receiver.crashed(killedAt)
}

function check(when: string): void {
  const { faults } = receiver
  if (faults.length === 0) return
  process.stderr.write(
    `${when} of seed ${seed}: ${faults.length} faults\n  ${faults.slice(0, 20).join('\n  ')}\n` +
      `the store and the receiver's log are kept in ${folder}\n`,
  )
  process.exit(1)
}

function say(round: number): void {
  process.stderr.write(
    `chaos: round ${round} of ${rounds}: ${receiver.acked} timers acknowledged, ${receiver.deliveries} deliveries, ` +
      `${receiver.settledCount} settled, ${receiver.repeats} repeated after a kill, ${receiver.resumed} resumed, ` +
      `${receiver.retries} retried\n`,
  )
}

function shownSpread(numbers: readonly number[]): string {
  const sorted = numbers.toSorted((a, b) => a - b)
  return `median ${sorted[sorted.length >> 1] ?? 0}, most ${sorted.at(-1) ?? 0}`
}
