import process from 'node:process'
import { openTimers } from 'carillon'
import { type Bench, lower, type Measurement, type Metric, type NodeCandidate } from '../harness/bench.js'
import { Folder } from '../stores/folder.js'
import { fill, kind, plannedStart } from './filled.js'
import { IdleTimer } from './idle-timer.js'

const WARM_UP_MS = 3000

export const latenessMetrics: readonly Metric[] = [
  lower('p50', 'ms', 'the median lateness of firings at their handler'),
  lower('p99', 'ms', 'the 99th percentile'),
  lower('max', 'ms', 'the largest lateness'),
  lower('CPU', 'µs', 'processor time of the whole process per fired timer'),
]

/** The machine's own lateness. Without it, a pause of the machine would look like ours. */
const controlMetrics: readonly Metric[] = [
  lower(
    'idle p99',
    'ms',
    'the 99th percentile of the lateness of a bare 1 ms timer meanwhile, in an otherwise idle process',
  ),
  lower('idle max', 'ms', 'the largest lateness of that timer'),
]

/** A steady load on file in real time. Lateness is measured at the handler with the finest clock. */
export const lateness: Bench = {
  name: 'engine lateness',
  about: 'how late timers reach their handler under a steady load, set before the engine starts, on file',
  unit: 'seconds of load',
  defaultN: 10,
  leastN: 1,
  defaultRounds: 3,
  metrics: [...latenessMetrics, ...controlMetrics],
  candidates: [
    candidate(10_000, 'many'),
    candidate(10_000, 'one'),
    candidate(2000, 'many'),
    candidate(2000, 'one'),
    candidate(100_000, 'many'),
    candidate(100_000, 'one'),
  ],
}

type Way = 'many' | 'one'

function candidate(rate: number, way: Way): NodeCandidate {
  return {
    name: `${rate / 1000}k-${way}`,
    about: `${rate} timers per second through ${way === 'many' ? 'handleMany' : 'handle'}`,
    measure: async ({ n }) => await measure(rate, way, n),
  }
}

async function measure(rate: number, way: Way, seconds: number): Promise<Measurement> {
  const folder = new Folder()
  const idle = new IdleTimer()
  try {
    const found = await measureLateness({
      folder,
      rate,
      way,
      seconds,
      background: 0,
      horizonMs: 0,
      onWarm: () => idle.begin(),
    })
    const { p99, max } = await idle.end()
    return { metrics: { ...found.metrics, 'idle p99': p99, 'idle max': max }, checks: {}, notes: [] }
  } finally {
    idle.kill()
    folder.remove()
  }
}

/**
 * Wall time in milliseconds with fractions. `Date.now` rounds down, which hides half a millisecond on average. It is
 * never ahead, so the largest of many differences to the monotonic clock is the right one.
 */
function fineClock(): () => number {
  let offset = -Infinity
  for (let i = 0; i < 200_000; i++) offset = Math.max(offset, Date.now() - performance.now())
  return () => offset + performance.now()
}

export interface LatenessTask {
  readonly folder: Folder
  readonly rate: number
  readonly way: Way
  readonly seconds: number
  /** Timers that are pending beside the load, due evenly over the next `horizonMs`. */
  readonly background: number
  readonly horizonMs: number
  /** Called after the warm-up. */
  readonly onWarm?: () => void
}

export async function measureLateness({
  folder,
  rate,
  way,
  seconds,
  background,
  horizonMs,
  onWarm,
}: LatenessTask): Promise<{
  readonly metrics: Readonly<Record<string, number>>
  /** How long it took to set the pending timers. */
  readonly setMs: number
  readonly residentMb: number
}> {
  const timers = await openTimers({ store: `file:${folder.path}` })
  const now = fineClock()
  const measured = rate * seconds
  const n = measured + (rate * WARM_UP_MS) / 1000
  const begin = await plannedStart(timers, n + background)
  const measureFrom = begin + WARM_UP_MS
  const until = measureFrom + seconds * 1000
  // Due times are even, but their order is unrelated to the keys, as in real use.
  const spread = (index: number): number =>
    Math.floor(begin + ((index * 7919) % background) * (horizonMs / background))
  const setMs = background === 0 ? 0 : await fill(timers, background, spread, n)
  await fill(timers, n, (index) => Math.floor(begin + (index * 1000) / rate))
  if (Date.now() > begin) throw new Error(`setting ${n} timers took longer than planned`)
  const late = new Float32Array(measured)
  let fired = 0
  let cpu = process.cpuUsage()
  let isWarm = false
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const take = (dueAt: number, at: number): void => {
    if (dueAt < measureFrom || dueAt >= until) return
    if (!isWarm) {
      isWarm = true
      onWarm?.()
      cpu = process.cpuUsage()
    }
    if (fired < measured) late[fired] = at - dueAt
    if (++fired === measured) finish()
  }
  if (way === 'many') {
    timers.handleMany(kind, (firings) => {
      const at = now()
      for (const firing of firings) if (firing.payload.order < n) take(firing.dueAt, at)
    })
  } else {
    timers.handle(kind, (firing) => {
      if (firing.payload.order < n) take(firing.dueAt, now())
    })
  }
  await timers.start()
  await finished
  cpu = process.cpuUsage(cpu)
  const residentMb = process.memoryUsage.rss() / 2 ** 20
  await timers.stop()
  late.sort()
  const at = (share: number): number => late[Math.min(measured - 1, Math.floor(measured * share))]!
  if (late[0]! < -1) throw new Error(`a timer was early by ${-late[0]!} ms`)
  return {
    metrics: {
      p50: at(0.5),
      p99: at(0.99),
      max: late[measured - 1]!,
      CPU: (cpu.user + cpu.system) / measured,
    },
    setMs,
    residentMb,
  }
}
