import { type Bench, lower, type Measurement, type NodeCandidate } from '../harness/bench.js'
import { Folder } from '../stores/folder.js'
import { higher, measureBurst } from './burst.js'
import { latenessMetrics, measureLateness } from './lateness.js'

const DAY_MS = 86_400_000
const RATE = 10_000

/** Burst and lateness with 100,000 to 1 M pending timers, and with `--full` up to 10 M. */
export function growth(isFull: boolean): Bench {
  return {
    name: 'engine growth',
    about:
      'how the figures change with the number of pending timers: a burst of them, and a load of 10,000/s beside them',
    unit: 'seconds of load',
    defaultN: 5,
    leastN: 1,
    defaultRounds: 1,
    metrics: [
      higher('burst', 'k/s', 'timers of a burst fired and settled per second through handleMany'),
      lower('burst CPU', 'µs', 'processor time per fired timer of the burst'),
      lower('burst resident', 'MB', 'resident set at the end of the burst'),
      higher('set', 'k/s', 'timers set per second with `setMany`, due evenly over the next day'),
      ...latenessMetrics.map(({ name, unit, means }) =>
        lower(name, unit, `${means}, at 10,000/s through handleMany`),
      ),
      lower('resident', 'MB', 'resident set while the timers are pending'),
    ],
    candidates: [
      candidate('100k-pending', 100_000),
      candidate('1M-pending', 1_000_000),
      ...(isFull ? [candidate('10M-pending', 10_000_000)] : []),
    ],
  }
}

function candidate(name: string, pending: number): NodeCandidate {
  return { name, about: `${pending} timers`, measure: async ({ n }) => await measure(pending, n) }
}

async function measure(pending: number, seconds: number): Promise<Measurement> {
  const folder = new Folder()
  try {
    // Measured before the burst: the burst's memory would be counted, too.
    const beside = await measureLateness({
      folder,
      rate: RATE,
      way: 'many',
      seconds,
      background: pending,
      horizonMs: DAY_MS,
    })
    const { metrics } = await measureBurst(pending, 'handleMany')
    return {
      metrics: {
        burst: metrics['settled']!,
        'burst CPU': metrics['CPU']!,
        'burst resident': metrics['resident']!,
        set: pending / beside.setMs,
        ...beside.metrics,
        resident: beside.residentMb,
      },
      checks: {},
      notes: [],
    }
  } finally {
    folder.remove()
  }
}
