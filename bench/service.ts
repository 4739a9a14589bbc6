import { lower, type Measurement, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'
import type * as Measures from './service/measure.js'

/**
 * npm run bench service: timers over HTTP. Set one to a request on 256 and on 64 connections and a thousand to a request on
 * four, against bare fastify that checks and writes by the same schemas and does nothing else; leased and acked by
 * workers; sent as webhooks from their sets on; and what is held after a minute of everything. Callers, workers and
 * the receiver are other processes on this machine.
 */
const higher = (name: string, unit: string, means: string): Metric => ({
  name,
  unit,
  means,
  better: 'higher',
})
const metrics: readonly Metric[] = [
  higher('set 256', 'k/s', 'single sets answered a second, 256 connections asking'),
  lower('CPU 256', 'µs', 'processor time of the server for one of them'),
  higher('set 64', 'k/s', 'the same with 64 connections'),
  lower('CPU 64', 'µs', 'processor time of the server for one of them'),
  higher('batch', 'k/s', 'timers set a second, a thousand to a request'),
  higher('acked', 'k/s', 'firings leased and acked a second, each ack a request'),
  higher('webhooks', 'k/s', 'timers a second, from the first set to the last webhook received'),
  lower(
    'firing CPU',
    'µs',
    'processor time of the server for one firing, its set included where that is timed',
  ),
  lower('warm', 'MiB', 'resident after 20 s of everything'),
  lower('end', 'MiB', 'resident after a minute more'),
  lower('growth', '×', 'the one over the other'),
  lower(
    'own',
    '×',
    "the same without pages of the store's file, which the system takes back when it needs them",
  ),
  lower('held', '×', "the same of what is in V8's heap and buffers"),
]

const by =
  (measure: (measures: typeof Measures, n: number) => Promise<Measurement>) =>
  async ({ n }: { readonly n: number }): Promise<Measurement> =>
    await measure(await import('./service/measure.js'), n)

await runBench({
  name: 'service',
  about: 'timers over HTTP',
  defaultN: 50_000,
  leastN: 1000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'file',
      about: 'the server on file',
      measure: by(({ measureServer }, n) => measureServer('file', n)),
    },
    {
      name: 'memory',
      about: 'the server on memory',
      measure: by(({ measureServer }, n) => measureServer('memory', n)),
    },
    { name: 'echo', about: 'bare fastify', measure: by(({ measureEcho }, n) => measureEcho(n)) },
    {
      name: 'leases',
      about: 'workers on the server on file',
      measure: by(({ measureLeases }, n) => measureLeases(n)),
    },
    {
      name: 'webhooks',
      about: 'webhooks of the server on file',
      measure: by(({ measureWebhooks }, n) => measureWebhooks(n)),
    },
    {
      name: 'soak',
      about: 'a minute of everything on file, once',
      mostRounds: 1,
      measure: by(({ measureSoak }) => measureSoak()),
    },
  ],
})
