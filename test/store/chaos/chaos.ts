/**
 * npm run chaos -- --rounds 200: a child changes timers of a file store, with many calls in flight, and is killed with
 * SIGKILL at a random moment. Then the store is opened again and compared with what was acknowledged. No acknowledged
 * timer may be lost, no cancelled or settled one may come back, and no call may be half there. The system still writes
 * the pages that it had at the kill, so this does not test power losses: power.ts does.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openStore } from 'carillon/store'
import { Random } from 'carillon/testing'
import { Ledger } from './ledger.js'
import { parseReportLine } from './report.js'

const START_TIMEOUT_MS = 30_000

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    plant: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed)
if (!(Number.isInteger(rounds) && rounds > 0 && Number.isInteger(seed))) {
  process.stderr.write('usage: npm run chaos -- --rounds 200 [--seed 1] [--plant early-ack]\n')
  process.exit(2)
}

const child = fileURLToPath(new URL('child.js', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'carillon-chaos-'))
const random = new Random(seed)
const ledger = new Ledger()
let slowestOpenMs = 0

for (let round = 1; round <= rounds; round++) {
  await killedRound(round)
  const from = performance.now()
  const store = await openStore(`file:${folder}`, {})
  const openMs = performance.now() - from
  slowestOpenMs = Math.max(slowestOpenMs, openMs)
  const faults = await ledger.check(store)
  await store.stop()
  if (faults.length > 0) {
    process.stderr.write(
      `round ${round} of seed ${seed}: ${faults.length} faults\n  ${faults.slice(0, 20).join('\n  ')}\n` +
        `the store is kept in ${folder}\n`,
    )
    process.exit(1)
  }
  if (round % 10 === 0 || round === rounds) {
    process.stderr.write(
      `chaos: round ${round} of ${rounds}: ${ledger.acknowledged} calls acknowledged, ${ledger.inFlight} in flight ` +
        `at a kill (${ledger.happened} of these happened), ${ledger.size} timers, slowest open ${slowestOpenMs.toFixed(0)} ms\n`,
    )
  }
}
rmSync(folder, { recursive: true, force: true })
process.stdout.write(
  `${rounds} kills, seed ${seed}: ${ledger.acknowledged} acknowledged calls, none lost; ` +
    `${ledger.inFlight} in flight, none half there; slowest open ${slowestOpenMs.toFixed(0)} ms\n`,
)

/** Starts a child, lets it work for a while and kills it. The ledger then has all that the child reported. */
async function killedRound(round: number): Promise<void> {
  const args = [child, folder, String(round), String(seed), values.plant]
  const worker = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lifeMs = 10 + random.below(random.chance(0.3) ? 30 : 500)
  const startTimeout = setTimeout(() => worker.kill('SIGKILL'), START_TIMEOUT_MS)
  let isReady = false
  for await (const text of createInterface({ input: worker.stdout })) {
    const line = parseReportLine(text)
    if (line === undefined) continue
    ledger.take(line)
    if (line.type !== 'ready') continue
    isReady = true
    slowestOpenMs = Math.max(slowestOpenMs, line.openMs)
    clearTimeout(startTimeout)
    setTimeout(() => worker.kill('SIGKILL'), lifeMs)
  }
  clearTimeout(startTimeout)
  if (worker.exitCode === null && worker.signalCode === null) {
    await new Promise((resolve) => worker.once('exit', resolve))
  }
  if (!isReady || worker.signalCode !== 'SIGKILL') {
    process.stderr.write(
      `round ${round} of seed ${seed}: the child was not killed, it exited with ${worker.exitCode}: see above\n`,
    )
    process.exit(1)
  }
}
