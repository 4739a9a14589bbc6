import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as parallel from 'carillon/parallel'

/** The built pool: its threads run compiled files, so the tests use these, too. */
export async function builtPool(): Promise<Pick<typeof parallel, 'TimerPool' | 'poolMetrics'>> {
  const file = fileURLToPath(new URL('../../dist/parallel/index.js', import.meta.url))
  return (await import(pathToFileURL(file).href)) as typeof parallel
}

export const tasks = new URL('./tasks.mjs', import.meta.url)

/** Memory in which the tasks of the tests note what they did. */
export interface Ledger {
  /** For each timer: 1 for each firing, 256 for each cancel, 65,536 for each firing that was early. */
  readonly ledger: Int32Array
  readonly dues: Float64Array
  readonly handles: Float64Array
  readonly next: Int32Array
  /**
   * For each thread that was started, the timer that it is setting or cancelling, plus one; 0 if none. If a thread is
   * ended in the middle of that, it cannot note what came of it.
   */
  readonly doing: Int32Array
  readonly threads: Int32Array
}

const MAX_THREADS = 65_536

export function newLedger(timers: number): Ledger {
  return {
    ledger: new Int32Array(new SharedArrayBuffer(timers * 4)),
    dues: new Float64Array(new SharedArrayBuffer(timers * 8)),
    handles: new Float64Array(new SharedArrayBuffer(timers * 8)),
    next: new Int32Array(new SharedArrayBuffer(4)),
    doing: new Int32Array(new SharedArrayBuffer(MAX_THREADS * 4)),
    threads: new Int32Array(new SharedArrayBuffer(4)),
  }
}

/** The timers whose fate an ended thread could not note. */
export function unnoted({ doing, threads }: Ledger): ReadonlySet<number> {
  return new Set([...doing.subarray(0, threads[0])].filter((each) => each > 0).map((each) => each - 1))
}

/** How many timers had each fate. */
export function fates(noted: Ledger): Record<string, number> {
  const { ledger, next } = noted
  const without = unnoted(noted)
  const count: Record<string, number> = {}
  for (let id = 0; id < Math.min(next[0]!, ledger.length); id++) {
    const fate = ledger[id]!
    if (fate === 0 && without.has(id)) continue
    const name = fate === 1 ? 'fired' : fate === 256 ? 'cancelled' : `broken: ${fate.toString(16)}`
    count[name] = (count[name] ?? 0) + 1
  }
  return count
}
