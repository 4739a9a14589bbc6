import { lower, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'

/**
 * npm run bench service: timers set over HTTP, one to a request on 64 connections and a thousand to a request on
 * four, against bare fastify that checks and writes by the same schemas and does nothing else. The callers are
 * another process on this machine.
 */
const metrics: readonly Metric[] = [
  { name: 'set', unit: 'k/s', means: 'single sets answered a second', better: 'higher' },
  lower('CPU', 'µs', 'processor time of the server for one of them'),
  { name: 'batch', unit: 'k/s', means: 'timers set a second, a thousand to a request', better: 'higher' },
]

await runBench({
  name: 'service',
  about: 'timers set over HTTP',
  defaultN: 50_000,
  leastN: 1000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'memory',
      about: 'the server on memory',
      measure: async ({ n }) => await (await import('./service/measure.js')).measureServer('memory', n),
    },
    {
      name: 'file',
      about: 'the server on file',
      measure: async ({ n }) => await (await import('./service/measure.js')).measureServer('file', n),
    },
    {
      name: 'echo',
      about: 'bare fastify',
      measure: async ({ n }) => await (await import('./service/measure.js')).measureEcho(n),
    },
  ],
})
