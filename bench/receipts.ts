import { lower, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { measureReceipts } from './stores/receipts.js'

/**
 * npm run bench receipts: timers for receipt handles, as a queue needs them, with ticks of one second. A million
 * timers are added with random due times within an hour, half by calls of their own with 1,000 in flight and
 * half 10,000 to a call; 1,200 ticks pass, each loading and settling what is due; the rest is cancelled, half
 * of it in each way. Payloads of 120 bytes, keys of 20 characters.
 */
const metrics: readonly Metric[] = [
  lower('user', 's', 'processor time in user mode, of all threads'),
  lower('add', 'µs', 'one timer by a call of its own, 1,000 in flight'),
  lower('add batch', 'µs', 'one timer, 10,000 to a call'),
  lower('cancel', 'µs', 'one cancel by a call of its own, 1,000 in flight'),
  lower('cancel batch', 'µs', 'one cancel, 10,000 to a call'),
  lower('tick avg', 'ms', 'one tick of a second: what is due is loaded, looked at and settled'),
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
      about: 'a Redis server of its own, append-only file flushed every second',
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
