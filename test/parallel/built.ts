import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as parallel from 'carillon/parallel'

/** The built pool: its threads run compiled files, so the tests use these, too. */
export async function builtPool(): Promise<Pick<typeof parallel, 'TimerPool'>> {
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
}

export function newLedger(timers: number): Ledger {
  return {
    ledger: new Int32Array(new SharedArrayBuffer(timers * 4)),
    dues: new Float64Array(new SharedArrayBuffer(timers * 8)),
    handles: new Float64Array(new SharedArrayBuffer(timers * 8)),
    next: new Int32Array(new SharedArrayBuffer(4)),
  }
}

/** How many timers had each fate. */
export function fates({ ledger, next }: Ledger): Record<string, number> {
  const count: Record<string, number> = {}
  for (let id = 0; id < Math.min(next[0]!, ledger.length); id++) {
    const fate = ledger[id]!
    const name = fate === 1 ? 'fired' : fate === 256 ? 'cancelled' : `broken: ${fate.toString(16)}`
    count[name] = (count[name] ?? 0) + 1
  }
  return count
}
