/**
 * npm run chaos -- power [--points 500] [--seed N]: power losses of the file store. A workload adds, cancels, moves and
 * settles timers, rewrites buckets, compacts and backs up, under a library that records every write and flush of its
 * files. Then the disk is rebuilt as it may be after a power loss, at many points of the recording: flushed data is
 * there; other data may be there, missing or torn.
 *
 * The real store opens each rebuilt disk in a process of its own, and the result is compared with what was acknowledged
 * by then. The store must open. Nothing acknowledged may be missing, nothing cancelled or settled may be back, and
 * levels and epochs may not go back.
 */
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Random } from 'carillon/testing'
import { readRecording } from './recording.js'
import { compileShim, shimEnvironment } from './shim.js'
import type { Verdict } from './verifier.js'

const LIFE_TIMEOUT_MS = 120_000
const POINT_TIMEOUT_MS = 60_000
const VERIFIERS = 2
const POINTS_PER_PROCESS = 25

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    lives: { type: 'string', default: '4' },
    turns: { type: 'string', default: '40' },
    plant: { type: 'string', default: '' },
  },
})
const [points, seed, lives, turns] = [values.points, values.seed, values.lives, values.turns].map(Number) as [
  number,
  number,
  number,
  number,
]
const plants = ['', 'early-ack', 'no-sync', 'no-folder-sync']
if (![points, seed + 1, lives, turns].every((value) => value > 0) || !plants.includes(values.plant)) {
  process.stderr.write(
    'usage: npm run chaos -- power [--points 500] [--seed N] [--lives 4] [--turns 40] [--plant early-ack|no-sync|no-folder-sync]\n',
  )
  process.exit(2)
}

const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'carillon-power-')))
const shim = compileShim(scratch)
if ('why' in shim) {
  rmSync(scratch, { recursive: true })
  process.stdout.write(`power: skipped: ${shim.why}\n`)
  process.exit(0)
}
const { library } = shim
const home = path.join(scratch, 'home')
const recording = path.join(scratch, 'recording')
mkdirSync(home)
for (let life = 1; life <= lives; life++) runWorkload(life)

const calls = readRecording(recording)
const syncs = calls.filter(({ type }) => type === 'sync').length
const places = calls.flatMap(({ path: name }, index) => (name === path.join(home, 'ledger') ? [] : [index]))
const random = new Random(seed, 1)
// The calls before which the power goes. Half of them are soon after a change of file names, which is rare.
const NEAR = 16
const isNear = (index: number): boolean =>
  calls.slice(Math.max(0, index - NEAR), index).some(({ type }) => type !== 'write' && type !== 'sync')
const ranked = places.map((index) => ({ index, rank: random.fraction() })).toSorted((a, b) => a.rank - b.rank)
const near = ranked.filter(({ index }) => isNear(index)).slice(0, points / 2)
const others = ranked.filter((place) => !near.includes(place)).slice(0, points - near.length)
const chosen = [...near, ...others].map(({ index }) => index)
process.stderr.write(
  `power: ${lives} lives made ${places.length} calls on files (${syncs} syncs); ` +
    `the power goes at ${chosen.length} of them\n`,
)
const verdicts: Verdict[] = []
const plans = Array.from({ length: Math.ceil(chosen.length / POINTS_PER_PROCESS) }, (_, index) =>
  chosen.slice(index * POINTS_PER_PROCESS, (index + 1) * POINTS_PER_PROCESS),
)
let next = 0
await Promise.all(
  Array.from({ length: VERIFIERS }, async () => {
    while (next < plans.length) await verify(next++)
  }),
)

const faulty = verdicts.filter(({ faults }) => faults.length > 0)
if (faulty.length > 0) {
  for (const { point, how, faults } of faulty.slice(0, 10))
    process.stderr.write(
      `call ${point} of seed ${seed} (${how}): ${faults.length} faults\n  ${faults.join('\n  ')}\n`,
    )
  process.stderr.write(
    `${faulty.length} of ${verdicts.length} power losses have faults; the files are kept in ${scratch}\n`,
  )
  process.exit(1)
}
rmSync(scratch, { recursive: true, force: true })
const most = Math.max(...verdicts.map(({ acknowledged }) => acknowledged))
const copies = verdicts.reduce((sum, verdict) => sum + verdict.copies, 0)
process.stdout.write(
  `${verdicts.length} power losses, seed ${seed}: up to ${most} acknowledged calls, none lost, none back; ` +
    `all opened, ${copies} backups too\n`,
)

/** Runs one process on the store. Its reports go into the recording too, in order among the writes. */
function runWorkload(life: number): void {
  const child = fileURLToPath(new URL('../chaos/child.js', import.meta.url))
  const ledger = openSync(path.join(home, 'ledger'), 'a')
  const plant = values.plant === 'early-ack' ? values.plant : ''
  const { status, signal } = spawnSync(
    process.execPath,
    [child, path.join(home, 'store'), String(life), String(seed), plant, String(turns)],
    {
      stdio: ['ignore', ledger, 'inherit'],
      env: shimEnvironment(library, home, { record: recording }),
      timeout: LIFE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    },
  )
  closeSync(ledger)
  if (status === 0) return
  process.stderr.write(
    `life ${life} of seed ${seed} ended with ${status ?? signal}; the files are kept in ${scratch}\n`,
  )
  process.exit(1)
}

async function verify(index: number): Promise<void> {
  const plan = path.join(scratch, `plan-${index}.json`)
  const own = path.join(scratch, `points-${index}`)
  mkdirSync(own)
  writeFileSync(plan, JSON.stringify(plans[index]))
  const program = fileURLToPath(new URL('verifier.js', import.meta.url))
  const verifier = spawn(
    process.execPath,
    [program, home, recording, own, String(seed), plan, values.plant],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: POINT_TIMEOUT_MS * POINTS_PER_PROCESS,
      killSignal: 'SIGKILL',
    },
  )
  const ended = new Promise((resolve) => verifier.once('exit', resolve))
  const open = new Set(plans[index])
  for await (const text of createInterface({ input: verifier.stdout })) {
    const verdict = JSON.parse(text) as Verdict
    open.delete(verdict.point)
    verdicts.push(verdict)
    if (verdicts.length % 50 === 0) process.stderr.write(`power: ${verdicts.length} of ${chosen.length}\n`)
  }
  await ended
  if (open.size === 0) return
  const point = Math.min(...open)
  const faults = [`the process that opened it ended with ${verifier.exitCode ?? verifier.signalCode}`]
  verdicts.push({ point, how: 'unknown', faults, acknowledged: 0, copies: 0 })
}
