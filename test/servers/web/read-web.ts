import { CarillonError, type Timers } from 'carillon'
import { machineMs } from '../chaos/report.js'
import { web } from './caller.js'
import type { WebRead, WebRow } from './web-line.js'

/** Reads timers of web processes in any other process. */
export async function readWeb(timers: Timers, keys: readonly string[]): Promise<WebRead> {
  const from = machineMs()
  const seen: WebRow[] = []
  try {
    for (const key of keys) {
      const found = await timers.get(web, key)
      if (found !== undefined && found.state !== 'settled')
        seen.push({ key, version: found.payload.v, dueAt: found.dueAt })
    }
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    return { how: 'get', keys, seen: [], from, at: machineMs(), failed: error.code }
  }
  return { how: 'get', keys, seen, from, at: machineMs() }
}
