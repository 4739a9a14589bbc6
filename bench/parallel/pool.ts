import { TimerPool } from 'carillon/parallel'
import { LateHistogram } from './late-histogram.js'
import type { Shared } from './tasks.js'

const tasks = new URL('./tasks.js', import.meta.url)
const PLACES = 16
const HANDLES = 1_000_000

/** A pool with the tasks of the bench, and the memory that it shares with them. */
export async function startPool(
  workers: number,
): Promise<{ readonly pool: TimerPool; readonly shared: Shared }> {
  const shared: Shared = {
    fired: new Int32Array(new SharedArrayBuffer(PLACES * 4)),
    late: new LateHistogram().counts,
    costs: new Float64Array(new SharedArrayBuffer(PLACES * 8)),
    handles: new Float64Array(new SharedArrayBuffer(HANDLES * 8)),
    places: new Int32Array(new SharedArrayBuffer(4)),
  }
  const pool = await TimerPool.start({ module: tasks, workers, maxTimers: 4_000_000, data: shared })
  return { pool, shared }
}

/** Sets a task for each worker at once, so that each gets one, and waits until all have ended. */
export async function runInEach(
  pool: TimerPool,
  workers: number,
  task: string,
  payload?: number,
): Promise<void> {
  const handles = Array.from({ length: workers }, () => pool.set(task, 0, payload))
  while (handles.some((handle) => ['scheduled', 'firing'].includes(pool.state(handle)))) await pause(5)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
