/**
 * npm run soak -- --minutes 10: a file store under churn. About `--live` timers exist at any time. They are added,
 * replaced, moved and cancelled all the while, and due ones are settled and swept. Every minute the store is stopped,
 * opened again and counted. The run fails when the store takes more than `--most-disk` times the size of its live
 * timers, or when memory after a garbage collection exceeds `--most-memory` times that after the first minute (or after
 * a third of a shorter run).
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { type Fence, openStore, type Operation, type Store } from 'carillon/store'
import { Random } from 'carillon/testing'
import { acquireShard } from './acquire-shard.js'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    live: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    'most-disk': { type: 'string', default: '5' },
    'most-memory': { type: 'string', default: '1.5' },
  },
})
const minutes = Number(values.minutes)
const live = Number(values.live)
const mostDisk = Number(values['most-disk'])
const mostMemory = Number(values['most-memory'])
if (![minutes, live, mostDisk, mostMemory, Number(values.seed)].every((value) => value > 0)) {
  process.stderr.write(
    'usage: npm run soak -- --minutes 10 [--live 100000] [--most-disk 5] [--most-memory 1.5]\n',
  )
  process.exit(2)
}

const BATCH = 500
const PAYLOAD_BYTES = 120
/** The size of a timer without any overhead: key, name, numbers and payload. */
const TIMER_BYTES = 40 + 20 + 12 + PAYLOAD_BYTES
/** A small store takes this much in any case. */
const SMALLEST_STORE_BYTES = 4 << 20

const random = new Random(Number(values.seed))
const folder = mkdtempSync(path.join(tmpdir(), 'carillon-soak-'))
const lapMs = Math.min(60_000, (minutes * 60_000) / 3)
const endsAt = performance.now() + minutes * 60_000
/** The position of each timer. */
const positions = new Map<string, number>()
let identities = 0
let settlements = 0
let firstMemory: number | undefined
let worstDisk = 0
let worstMemory = 0
let operations = 0

process.stdout.write('  at s    rows  disk MB  × live   heap MB    rss MB  × first  kops/s  open ms\n')
for (let epoch = 1; performance.now() < endsAt; epoch++) await runLap(epoch)
rmSync(folder, { recursive: true, force: true })
process.stdout.write(
  `${operations.toLocaleString('en')} operations in ${minutes} min: at most ${worstDisk.toFixed(1)} times the live data on disk ` +
    `(${mostDisk} allowed), memory at most ${worstMemory.toFixed(2)} times the first (${mostMemory} allowed)\n`,
)

/** Opens the store, changes timers for one lap, measures and stops. */
async function runLap(epoch: number): Promise<void> {
  const from = performance.now()
  const store = await openStore(`file:${folder}`, {})
  const openMs = performance.now() - from
  const { fence, row } = await acquireShard(store, `soak-${epoch}`, epoch, 3_600_000)
  const owner: Owner = { fence, readLevel: row.readLevel }
  await checkRows(store)
  const before = operations
  while (performance.now() - from < lapMs && performance.now() < endsAt + 1000) await churn(store, owner)
  await checkRows(store)
  measure(positions.size, openMs, (operations - before) / (performance.now() - from))
  await store.release(owner.fence)
  await store.stop()
}

interface Owner {
  fence: Fence
  readLevel: Fence['settledLevel']
}

/** Makes one write. About every tenth time it also settles and sweeps due timers. */
async function churn(store: Store, owner: Owner): Promise<void> {
  const wanted = Array.from({ length: BATCH }, () => operation(positions.size < live))
  const { answers } = await store.write(owner.fence, { operations: wanted })
  for (const [index, { outcome }] of answers.entries()) {
    const each = wanted[index]!
    if (each.type === 'answer') continue
    if (outcome === 'cancelled') positions.delete(each.key)
    else if (each.type !== 'cancel' && (outcome === 'set' || outcome === 'moved')) {
      positions.set(each.key, each.position)
    }
  }
  operations += BATCH
  if (!random.chance(0.1)) return
  const now = Date.now()
  const request = { from: owner.readLevel, untilExclusive: now, limit: 1_000_000, limitBytes: 2 ** 30 }
  const { page, readLevel } = await store.load(owner.fence, request)
  owner.readLevel = readLevel
  const level = { position: Math.min(readLevel.position, now), revision: 0 }
  let settledCount = 0
  for (const [key, position] of positions) {
    if (position >= level.position) continue
    positions.delete(key)
    settledCount++
  }
  const ended = { done: [], followUps: [], dead: [], history: [] }
  await store.settle(owner.fence, { id: ++settlements, level, settledCount, ...ended })
  owner.fence = { ...owner.fence, settledLevel: level }
  while ((await store.sweep(owner.fence)).more);
  operations += page.size
}

/** The store must have the expected timers, and its counts must add up. */
async function checkRows(store: Store): Promise<void> {
  const rows = await store.countRows()
  const { created, settled, cancelled, replaced, dead } = await store.counts()
  if (rows === positions.size && created === rows + settled + cancelled + replaced + dead) return
  const counts = { created, settled, cancelled, replaced, dead }
  process.stderr.write(
    `the store should have ${positions.size} timers, but has ${rows}; ${JSON.stringify(counts)}; the store is kept in ${folder}\n`,
  )
  process.exit(1)
}

function operation(isFilling: boolean): Operation {
  const name = {
    namespace: 'soak',
    kind: 'timer',
    key: `key-${String(random.below(live * 2)).padStart(16, '0')}`,
  }
  const position = Date.now() + 50 + random.below(random.chance(0.5) ? 60_000 : 86_400_000)
  const what = random.fraction()
  if (what < (isFilling ? 0.7 : 0.3)) {
    const payload = Buffer.alloc(PAYLOAD_BYTES, identities & 255)
    const content = { ...name, identity: ++identities, createdAt: Date.now(), payload, tags: [], details: '' }
    return { type: 'set', ...content, position, dueAt: position, attempt: 0, occurrence: 0 }
  }
  if (what < 0.85) return { type: 'move', ...name, position, dueAt: position }
  return { type: 'cancel', ...name }
}

function measure(rows: number, openMs: number, opsPerMs: number): void {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  const held = heapUsed + external
  firstMemory ??= Math.max(held, 32 << 20)
  const disk = diskBytes()
  const timesLive = disk / Math.max(rows * TIMER_BYTES, SMALLEST_STORE_BYTES)
  const timesFirst = held / firstMemory
  worstDisk = Math.max(worstDisk, timesLive)
  worstMemory = Math.max(worstMemory, timesFirst)
  const cells = [
    ((performance.now() - (endsAt - minutes * 60_000)) / 1000).toFixed(0).padStart(6),
    String(rows).padStart(8),
    (disk / 2 ** 20).toFixed(1).padStart(9),
    timesLive.toFixed(1).padStart(8),
    (held / 2 ** 20).toFixed(1).padStart(10),
    (rss / 2 ** 20).toFixed(1).padStart(10),
    timesFirst.toFixed(2).padStart(9),
    opsPerMs.toFixed(1).padStart(8),
    openMs.toFixed(0).padStart(9),
  ]
  process.stdout.write(`${cells.join('')}\n`)
  if (timesLive <= mostDisk && timesFirst <= mostMemory) return
  process.stderr.write(`the store or its memory grew beyond the limit; the store is kept in ${folder}\n`)
  process.exit(1)
}

function diskBytes(): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).blocks * 512, 0)
}
