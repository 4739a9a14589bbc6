import process from 'node:process'
import { openTimers, timer, type Timers, type TimersOptions } from 'carillon'
import { Folder } from '../stores/folder.js'

const SET_BATCH = 10_000
export const kind = timer<{ order: number }>('bench')

/** A folder with timers, and how long it took to set them. */
interface Filled {
  readonly folder: Folder
  readonly setMs: number
  /** Processor time of the process, including the creation of the rows. */
  readonly setCpuUs: number
}

/**
 * Sets `n` timers with `setMany`, 10,000 per call, awaiting each call. Returns how long that took. Creating the rows is
 * not timed. The first timer gets the number `first`.
 */
export async function fill(
  timers: Timers,
  n: number,
  dueAt: (index: number) => number,
  first = 0,
): Promise<number> {
  let ms = 0
  for (let i = 0; i < n; i += SET_BATCH) {
    const rows = Array.from({ length: Math.min(SET_BATCH, n - i) }, (_, j) => ({
      key: `bench-timer-${String(first + i + j).padStart(8, '0')}`,
      at: dueAt(i + j),
      payload: { order: first + i + j },
    }))
    const from = performance.now()
    await timers.setMany(kind, rows)
    ms += performance.now() - from
  }
  return ms
}

/** Creates a folder with `n` timers, and closes it. */
export async function filledFolder(n: number, dueAt: (index: number) => number): Promise<Filled> {
  const folder = new Folder()
  const timers = await openTimers({ store: `file:${folder.path}` })
  const before = process.cpuUsage()
  const setMs = await fill(timers, n, dueAt)
  const { user, system } = process.cpuUsage(before)
  await timers.stop()
  return { folder, setMs, setCpuUs: user + system }
}

/** Opens timers on a folder, and counts what the store reports as settled. */
export async function openCounted(
  folder: Folder,
  options: Omit<TimersOptions, 'store'> = {},
): Promise<{ readonly timers: Timers; readonly settled: (count: number) => Promise<void> }> {
  let count = 0
  let wanted = Infinity
  let reached = (): void => undefined
  const timers = await openTimers({
    ...options,
    store: `file:${folder.path}`,
    onEvent: (event) => {
      options.onEvent?.(event)
      if (event.type === 'lost' || event.type === 'store-trouble') {
        process.stderr.write(`${JSON.stringify(event)}\n`)
      }
      if (event.type !== 'settled') return
      count += event.count
      if (count >= wanted) reached()
    },
  })
  const settled = async (most: number): Promise<void> => {
    wanted = most
    if (count < wanted) await new Promise<void>((resolve) => (reached = resolve))
  }
  return { timers, settled }
}

const TRIAL = 50_000
const FIRST_OF_TRIAL = 90_000_000
const DAY_MS = 86_400_000

/** Estimates when `n` timers will all be set, from the time that some others took. */
export async function plannedStart(timers: Timers, n: number): Promise<number> {
  const later = Date.now() + DAY_MS
  const from = performance.now()
  await fill(timers, TRIAL, (index) => later + index, FIRST_OF_TRIAL)
  const msEach = (performance.now() - from) / TRIAL
  return Math.ceil(Date.now() + 2000 + 1.5 * n * msEach)
}
