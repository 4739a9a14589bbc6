import { type Bench, lower, type Measurement, type NodeCandidate } from '../harness/bench.js'
import { Folder } from '../stores/folder.js'
import { higher, measureBurst } from './burst.js'
import { latenessMetrics, measureLateness } from './lateness.js'

const DAY_MS = 86_400_000
const RATE = 10_000

/** The same from 100,000 timers to 1 M, and to 10 M in full. */
export function growth(isFull: boolean): Bench {
  return {
    name: 'engine growth',
    about: 'how the figures change with what is pending: a burst of that many, and 10,000/s beside that many',
    unit: 'seconds of load',
    defaultN: 5,
    leastN: 1,
    defaultRounds: 1,
    metrics: [
      higher('burst', 'k/s', 'a burst of that many through handleMany, fired and settled a second'),
      lower('burst CPU', 'µs', 'processor time for one fired timer in the burst'),
      lower('burst resident', 'MB', 'resident set at the end of the burst'),
      higher('set', 'k/s', 'that many set a second with `setMany`, due evenly over the next day'),
      ...latenessMetrics.map(({ name, unit, means }) =>
        lower(name, unit, `${means}, at 10,000/s through handleMany`),
      ),
      lower('resident', 'MB', 'resident set while that many are pending'),
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
    // Before the burst, whose memory would be counted with it.
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
