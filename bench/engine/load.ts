import { openTimers, timer } from 'carillon'
import type { EngineSettings } from 'carillon/engine'
import { MemoryStore } from 'carillon/store'
import { VirtualClock } from 'carillon/time'
import { type Bench, lower, type Measurement, type Metric, type NodeCandidate } from '../harness/bench.js'
import { countingStore } from './counting-store.js'
import { measureFirstApproach } from './first-approach.js'

const SECOND = 1000
/** How long before their due time timers are set. It is beyond the window, so each timer must be loaded. */
const AHEAD_SECONDS = 300
/** How long finished timers are remembered: not an hour, so that they are swept while this bench runs. */
const OUTCOMES_MS = 60_000
const leaseCalls = ['renew', 'heartbeat', 'shards', 'requests', 'busyInboxes'] as const

const metrics: readonly Metric[] = [
  lower('reads', 'calls', 'loads per 1,000 fired timers'),
  lower('deletes', 'calls', 'calls that remove rows, by name or by range, per 1,000 fired timers'),
  lower('rows deleted', 'rows', 'rows removed one by one per 1,000 fired timers'),
  lower('settlements', 'calls', 'settlements per 1,000 fired timers'),
  lower('sweeps', 'calls', 'range deletions per 1,000 fired timers'),
  lower(
    'writes',
    'calls',
    'writes per 1,000 fired timers: the same for both strategies, because the load sets its timers',
  ),
  lower('lease', 'calls', 'renewals, heartbeats and reads of shards and inboxes per 1,000 fired timers'),
  lower('fire calls', 'calls', 'all calls but writes'),
  lower('all', 'calls', 'all calls'),
]

/** The store calls of each strategy under the same steady load. A virtual clock makes the counts exact. */
export const load: readonly Bench[] = [200, 1].map((rate) => ({
  name: `engine load of ${rate}/s`,
  about: `store calls per 1,000 fired timers at ${rate} timers per second, each set five minutes ahead`,
  unit: 'virtual minutes',
  defaultN: 30,
  leastN: 1,
  defaultRounds: 1,
  metrics,
  candidates: [
    candidate('preload', rate),
    candidate('lookahead', rate),
    {
      name: `first-approach-${rate}`,
      about: 'the first approach of document 000, as it is written there',
      measure: async ({ n }) => measureFirstApproach(rate, n * 60),
    },
  ],
}))

function candidate(strategy: EngineSettings['strategy'], rate: number): NodeCandidate {
  return {
    name: `${strategy}-${rate}`,
    about: `the strategy ${strategy} with its defaults`,
    measure: async ({ n }) => await measure(strategy, rate, n * 60),
  }
}

async function measure(
  strategy: EngineSettings['strategy'],
  rate: number,
  seconds: number,
): Promise<Measurement> {
  const clock = new VirtualClock()
  const { store, calls } = countingStore(new MemoryStore({ clock }))
  const timers = await openTimers({ store, clock, engine: { strategy, outcomesMs: OUTCOMES_MS } })
  const kind = timer('bench')
  let fired = 0
  timers.handleMany(kind, (firings) => {
    fired += firings.length
  })
  await timers.start()
  const run = async (until: number): Promise<void> => {
    for (let second = 0; second < until; second++) {
      const from = clock.now() + AHEAD_SECONDS * SECOND
      const rows = Array.from({ length: rate }, (_, i) => ({ at: from + Math.floor((i * SECOND) / rate) }))
      const set = timers.setMany(kind, rows)
      await clock.advance(SECOND)
      await set
    }
  }
  await run(AHEAD_SECONDS * 2)
  calls.byMethod.clear()
  calls.rowDeletes = calls.deletes = fired = 0
  await run(seconds)
  const each = (count: number): number => (count * 1000) / fired
  const called = (...names: readonly string[]): number =>
    each(names.reduce((sum, name) => sum + (calls.byMethod.get(name) ?? 0), 0))
  const all = each([...calls.byMethod.values()].reduce((sum, count) => sum + count, 0))
  const measurement: Measurement = {
    metrics: {
      reads: called('load'),
      deletes: each(calls.deletes),
      'rows deleted': each(calls.rowDeletes),
      settlements: called('settle'),
      sweeps: called('sweep'),
      writes: called('write'),
      lease: called(...leaseCalls),
      'fire calls': all - called('write'),
      all,
    },
    checks: { fired },
    notes: [`${fired} timers fired`],
  }
  const stop = timers.stop()
  await clock.advance('1m')
  await stop
  return measurement
}
