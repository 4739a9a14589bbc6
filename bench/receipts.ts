import { lower, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { measureReceipts } from './stores/receipts.js'

/**
 * npm run bench receipts: timers for the receipt handles of a queue, with ticks of one second. A million timers are added
 * with random due times within an hour: half in separate calls with 1,000 in flight, half with 10,000 per call. In each of
 * 1,200 ticks the due timers are loaded and settled. The rest is cancelled, half in each way. Payloads have 120 bytes, keys
 * 20 characters.
 */
const metrics: readonly Metric[] = [
  lower('user', 's', 'processor time in user mode, of all threads'),
  lower('add', 'µs', 'one timer in a separate call, 1,000 in flight'),
  lower('add batch', 'µs', 'one timer, 10,000 per call'),
  lower('cancel', 'µs', 'one cancel in a separate call, 1,000 in flight'),
  lower('cancel batch', 'µs', 'one cancel, 10,000 per call'),
  lower('tick avg', 'ms', 'one tick of one second: due timers are loaded, read and settled'),
  lower('tick worst', 'ms', 'the longest tick'),
]

await runBench({
  name: 'receipts',
  about: 'timers for receipt handles with ticks of one second: add, expire, cancel',
  defaultN: 1_000_000,
  leastN: 20_000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'file',
      about: "openStore('file:…')",
      measure: async (task) => await measureReceipts((await import('./stores/subject.js')).file, task),
    },
    {
      name: 'memory',
      about: 'MemoryStore, the reference',
      mostN: 10_000_000,
      measure: async (task) => await measureReceipts((await import('./stores/subject.js')).memory, task),
    },
    {
      name: 'redis',
      about: 'a separate Redis server, append-only file flushed every second',
      mostN: 2_000_000,
      measure: async (task) => await measureReceipts((await import('./stores/redis.js')).redis, task),
    },
    {
      name: 'redis-volatile',
      about: 'the same without any persistence',
      mostN: 2_000_000,
      measure: async (task) => await measureReceipts((await import('./stores/redis.js')).volatileRedis, task),
    },
  ],
})
