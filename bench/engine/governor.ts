import process from 'node:process'
import { openTimers } from 'carillon'
import type { TimerEngine } from 'carillon/engine'
import { type Bench, lower, type Measurement, type Metric, type NodeCandidate } from '../harness/bench.js'
import { Folder } from '../stores/folder.js'
import { higher } from './burst.js'
import { fill, kind, openCounted, plannedStart } from './filled.js'

const LIMIT = 100_000
const WITHIN_MS = 120_000
const LOOK_MS = 2

const metrics: readonly Metric[] = [
  lower(
    'most in memory',
    'timers',
    'the most timers in memory, checked at every event, at every delivery and every 2 ms',
  ),
  lower('smallest window', 's', 'the shortest window that the governor chose, from 270 s'),
  lower('resident', 'MB', 'the largest resident set'),
  higher(
    'settled',
    'k/s',
    'timers fired and settled per second, from the first due time to the last settlement',
  ),
  lower('p99', 'ms', 'the 99th percentile of lateness, counted in powers of two'),
  lower(
    'last',
    's',
    'time from the last due time, or the start of the engine if later, to the last settlement',
  ),
]

/** 5 M timers become due within two minutes, with at most 100,000 in memory. All must fire, and the limit must hold. */
export const governor: Bench = {
  name: 'engine governor',
  about: `timers on file that become due within two minutes, of which ${LIMIT} may be in memory`,
  defaultN: 5_000_000,
  leastN: 200_000,
  defaultRounds: 1,
  metrics,
  candidates: [candidate('overdue', true), candidate('real-time', false)],
}

function candidate(name: string, isOverdue: boolean): NodeCandidate {
  const about = isOverdue
    ? 'all timers are overdue when the engine starts'
    : 'the engine runs before the first timer is due, and they become due in real time'
  return { name, about, measure: async ({ n }) => await measure(n, isOverdue) }
}

/** Returns when the first timer is due. */
async function fillUp(folder: Folder, n: number, isOverdue: boolean): Promise<number> {
  const timers = await openTimers({ store: `file:${folder.path}` })
  const begin = isOverdue ? Date.now() - WITHIN_MS : await plannedStart(timers, n)
  // The order of keys is unrelated to the due times, as in real use.
  await fill(timers, n, (index) => Math.floor(begin + ((index * 7919) % n) * (WITHIN_MS / n)))
  await timers.stop()
  return begin
}

async function measure(n: number, isOverdue: boolean): Promise<Measurement> {
  const folder = new Folder()
  try {
    const begin = await fillUp(folder, n, isOverdue)
    if (!isOverdue && Date.now() > begin) throw new Error(`setting ${n} timers took longer than planned`)
    let most = 0
    let smallest = Infinity
    let resident = 0
    const fired = new Uint8Array(n)
    let repeats = 0
    let early = 0
    let watched: TimerEngine | undefined
    const look = (): void => {
      for (const view of watched?.stats().shards ?? []) {
        most = Math.max(most, view.inMemory)
        smallest = Math.min(smallest, view.windowMs)
      }
    }
    const { timers, settled } = await openCounted(folder, {
      engine: { maxTimers: LIMIT },
      onEvent: look,
    })
    watched = timers.engine
    const looking = setInterval(() => {
      look()
      resident = Math.max(resident, process.memoryUsage.rss())
    }, LOOK_MS)
    timers.handleMany(kind, (firings) => {
      look()
      const now = Date.now()
      for (const { payload, dueAt: due } of firings) {
        if (due > now) early++
        if (fired[payload.order]! > 0) repeats++
        fired[payload.order] = 1
      }
    })
    const startedAt = Date.now()
    await timers.start()
    await settled(n)
    const endedAt = Date.now()
    clearInterval(looking)
    const { lateness } = timers.engine.stats().counts
    const p99 = lateness.quantile(0.99)
    await timers.stop()
    const missing = fired.reduce((sum, count) => sum + (count === 0 ? 1 : 0), 0)
    if (missing + repeats + early > 0) {
      throw new Error(`${missing} timers never fired, ${repeats} fired again, ${early} fired early`)
    }
    if (most > LIMIT) throw new Error(`${most} timers were in memory, the limit is ${LIMIT}`)
    return {
      metrics: {
        'most in memory': most,
        'smallest window': smallest / 1000,
        resident: resident / 2 ** 20,
        settled: n / (endedAt - Math.max(startedAt, begin)),
        p99,
        last: (endedAt - Math.max(startedAt, begin + WITHIN_MS)) / 1000,
      },
      checks: { fired: n },
      notes: [],
    }
  } finally {
    folder.remove()
  }
}
