import type { TimerPool } from 'carillon/parallel'
import { fates, type Ledger, newLedger, unnoted } from './built.js'

export interface ChurnOptions {
  readonly Pool: typeof TimerPool
  readonly module: URL
  /** Random operations of the workers in all. */
  readonly operations: number
  /** How often a worker or the metronome is ended meanwhile. */
  readonly deaths: number
  readonly onProgress?: (text: string) => void
}

export interface ChurnReport {
  readonly operations: number
  readonly timers: number
  /** How many timers were fired or cancelled. Everything else is a broken promise. */
  readonly fates: Readonly<Record<string, number>>
  /** Timers whose task was running when its worker was ended. */
  readonly interrupted: number
  /** Timers that a thread was setting or cancelling when it was ended. */
  readonly unnoted: number
  /** How often each way to end a thread was used. */
  readonly deaths: Readonly<Record<string, number>>
}

const WORKERS = 2
// Operations of one task, so that workers poll in between.
const AT_ONCE = 2000
/** How long operations run at most before a thread is ended. */
const LONGEST_START_MS = 25
const waysToDie = [
  'exit',
  'throwLater',
  'rejectLater',
  'exhaustMemory',
  'blockForEver',
  'terminate',
  'metronome',
]

/**
 * Lets workers set, move and cancel each other's timers at random, and ends threads in every way meanwhile. Every timer
 * must then be fired or cancelled, exactly once, and never early.
 */
export async function churn(options: ChurnOptions): Promise<ChurnReport> {
  const { Pool, module, operations, deaths, onProgress } = options
  const data = newLedger(Math.ceil(operations * 0.45) + 1000)
  const interrupted = new Set<number>()
  const pool = await Pool.start({
    module,
    workers: WORKERS,
    data,
    maxHeapMb: 64,
    maxTimers: 2 ** 20,
    onError: (error, task, payload) => {
      if (task === 'fire' && codeOf(error) === 'task-interrupted') interrupted.add(Number(payload))
    },
  })
  const died: Record<string, number> = {}
  let begun = 0
  let left = deaths
  while (begun < operations || left > 0) {
    for (let i = 0; i < 10 && begun < operations; i++, begun += AT_ONCE) pool.set('churn', 0, AT_ONCE)
    if (left > 0) {
      // The operations have begun, are half done or have ended when the thread ends.
      await pause((left * 7) % LONGEST_START_MS)
      const way = waysToDie[left-- % waysToDie.length]!
      died[way] = (died[way] ?? 0) + 1
      await endThread(pool, way, left)
    }
    await quiet(pool)
    onProgress?.(`${begun} operations, ${deaths - left} deaths, ${data.next[0]} timers`)
  }
  await settled(data, interrupted)
  await pool.stop()
  for (const id of interrupted) if (data.ledger[id] === 0) data.ledger[id] = 1
  return {
    operations: begun,
    timers: Math.min(data.next[0]!, data.ledger.length),
    fates: fates(data),
    interrupted: interrupted.size,
    unnoted: unnoted(data).size,
    deaths: died,
  }
}

async function endThread(pool: TimerPool, way: string, round: number): Promise<void> {
  const worker = 1 + (round % WORKERS)
  if (way === 'metronome') await pool.terminate('metronome')
  else if (way === 'terminate') await pool.terminate(worker)
  else if (way === 'blockForEver') {
    const handle = pool.set(way, 0)
    // It never yields, so only `terminate` ends it. Which worker runs it is unknown: end both.
    while (pool.state(handle) === 'scheduled') await pause(5)
    for (let each = 1; each <= WORKERS; each++) await pool.terminate(each)
  } else {
    const { deaths } = pool.stats()
    pool.set(way, 0)
    while (pool.stats().deaths === deaths) await pause(5)
  }
}

/** Waits until no operations are under way. */
async function quiet(pool: TimerPool): Promise<void> {
  const handle = pool.set('setMany', 0, 0)
  while (['scheduled', 'firing'].includes(pool.state(handle))) await pause(5)
}

/** Waits until every timer has an end, for at most ten seconds: then one is lost. */
async function settled(noted: Ledger, interrupted: ReadonlySet<number>): Promise<void> {
  const { ledger, next } = noted
  const without = unnoted(noted)
  const end = Date.now() + 10_000
  for (let id = 0; id < Math.min(next[0]!, ledger.length); id++) {
    const hasEnd = (): boolean => Atomics.load(ledger, id) !== 0 || interrupted.has(id) || without.has(id)
    while (!hasEnd() && Date.now() < end) await pause(10)
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
