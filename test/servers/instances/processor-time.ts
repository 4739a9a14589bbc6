import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'

// The unit in which Linux counts processor time, on every platform of Node.
const TICKS_PER_SECOND = 100

interface ProcessTime {
  readonly parent: number
  readonly own: number
  /** The processor time of children that have ended. */
  readonly ended: number
}

/** Seconds of processor time that these processes and their children have used; 0 if the system does not say. */
export function processorSeconds(pids: readonly number[]): number {
  if (process.platform !== 'linux') return 0
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const time = timeOf(pid)
    if (time === undefined || !(pids.includes(pid) || pids.includes(time.parent))) continue
    ticks += time.own + (pids.includes(pid) ? time.ended : 0)
  }
  return ticks / TICKS_PER_SECOND
}

function timeOf(pid: number): ProcessTime | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name is in brackets and may contain anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const at = (index: number): number => Number(fields[index])
    return { parent: at(1), own: at(11) + at(12), ended: at(13) + at(14) }
  } catch {
    // The process has ended meanwhile.
    return undefined
  }
}
