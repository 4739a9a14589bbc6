import { type Bench, lower, type Measurement, type Metric } from '../harness/bench.js'
import { costs } from './burst.js'
import { drivenCandidates, type ServerName } from './candidates.js'
import { type Driven, driven } from './driven.js'

const RATES = [2000, 10_000]

const metrics: readonly Metric[] = [
  lower('p50', 'ms', 'how late half of them reached their handler'),
  lower('p99', 'ms', 'how late 99 of 100 were at most'),
  lower('max', 'ms', 'how late the latest was'),
  lower(
    'operations',
    '',
    'what the server was asked for 1,000 fired: statements sent, or commands run, scripts included',
  ),
  lower('CPU', 'µs', 'processor time of the process for one fired timer'),
  lower('server CPU', 'µs', 'processor time of the server for one fired timer'),
]

/** A steady load, added ahead of its time, at 2,000 and at 10,000 a second. */
export function lateness(on: ServerName): Bench[] {
  return RATES.map((rate): Bench => {
    const [first, ...others] = drivenCandidates(
      on,
      async (it, { n }) => await measure(it, rate, n),
      `-${rate / 1000}k`,
    )
    return {
      name: `servers lateness ${on} ${rate}`,
      about: `${on}: how late ${rate} timers a second reach their handler, added before they are due`,
      unit: 'seconds of load',
      defaultN: 10,
      leastN: 1,
      defaultRounds: 3,
      metrics,
      candidates: [first!, ...others],
    }
  })
}

async function measure(it: Driven, rate: number, seconds: number): Promise<Measurement> {
  const outcome = await driven(it, { what: 'lateness', rate, seconds })
  const { p50, p99, max, missing } = outcome.end.figures
  return {
    metrics: { p50: p50!, p99: p99!, max: max!, ...costs(outcome) },
    checks: {},
    notes:
      missing! > 0 ? [`it could not hold the rate: ${missing} were still to come half a minute later`] : [],
  }
}
