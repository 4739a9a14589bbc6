import { lower, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'

/**
 * npm run bench delivery: webhooks per second, end to end. Timers on file are loaded, signed, sent, answered and settled.
 * The comparison is bare undici, sending as many requests of the same size. A third candidate measures the memory for a
 * target that never answers. The receiver is another process on this machine.
 */
const CONNECTIONS = 64

const metrics: readonly Metric[] = [
  { name: 'sent', unit: 'k/s', means: 'webhooks sent and answered per second', better: 'higher' },
  lower('CPU', 'µs', 'processor time of the sender per webhook'),
  lower('held', 'MB', 'growth of the resident set with n timers due for a target that never answers'),
]

await runBench({
  name: 'delivery',
  about: 'webhooks to a receiver on this machine',
  // The last settlement comes up to a second after the last answer. With few timers that would be most of the time.
  defaultN: 100_000,
  leastN: 1000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'floor',
      about: "undici's dispatch alone",
      measure: async ({ n }) => await (await import('./delivery/floor.js')).measureFloor(n, CONNECTIONS),
    },
    {
      name: 'webhook',
      about: 'deliver(kind, webhook(url)) on file',
      measure: async ({ n }) =>
        await (await import('./delivery/webhooks.js')).measureWebhooks(n, CONNECTIONS),
    },
    {
      name: 'stalled',
      about: 'a target that never answers',
      mostRounds: 1,
      measure: async ({ n }) => await (await import('./delivery/webhooks.js')).measureStalled(n),
    },
  ],
})
