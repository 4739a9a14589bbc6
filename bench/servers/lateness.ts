import { type Bench, lower, type Measurement, type Metric } from '../harness/bench.js'
import { costs } from './burst.js'
import { drivenCandidates, type ServerName } from './candidates.js'
import { type Driven, driven } from './driven.js'

const RATES = [2000, 10_000]

const metrics: readonly Metric[] = [
  lower('p50', 'ms', 'the median lateness at the handler'),
  lower('p99', 'ms', 'the 99th percentile'),
  lower('max', 'ms', 'the largest lateness'),
  lower(
    'operations',
    '',
    'server calls per 1,000 fired timers: statements sent, or commands run including those in scripts',
  ),
  lower('CPU', 'µs', 'processor time of the process per fired timer'),
  lower('server CPU', 'µs', 'processor time of the server per fired timer'),
]

/** A steady load of 2,000 and of 10,000 timers per second, added before it is due. */
export function lateness(on: ServerName): Bench[] {
  return RATES.map((rate): Bench => {
    const [first, ...others] = drivenCandidates(
      on,
      async (it, { n }) => await measure(it, rate, n),
      `-${rate / 1000}k`,
    )
    return {
      name: `servers lateness ${on} ${rate}`,
      about: `${on}: how late ${rate} timers per second reach their handler, added before they are due`,
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
    notes: missing! > 0 ? [`it could not keep up: ${missing} timers had not fired half a minute later`] : [],
  }
}
