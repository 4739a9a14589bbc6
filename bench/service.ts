import process from 'node:process'
import { type Bench, lower, type Measurement, type Metric, type NodeCandidate } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { type ListedStore, listMetrics } from './service/lists/questions.js'
import type * as Measures from './service/measure.js'

/**
 * npm run bench service: timers over HTTP. Callers, workers and the receiver are other processes on this machine.
 *
 * - Sets: one timer per request on 256 and on 64 connections, and a thousand per request on four, and how long the
 *   event loop was blocked. The comparison is bare fastify, which only validates and serializes with the same schemas.
 * - Firings leased and acked by workers.
 * - Webhooks, measured from the first set.
 * - The server's memory after a minute of mixed load.
 * - The lateness of one tenant while another sends the most expensive requests it may.
 *
 * npm run bench service -- --only lists: pages of lists among 2 M timers on each store, beside a steady load.
 */
const higher = (name: string, unit: string, means: string): Metric => ({
  name,
  unit,
  means,
  better: 'higher',
})
const metrics: readonly Metric[] = [
  higher('set 256', 'k/s', 'single sets answered per second, on 256 connections'),
  lower('CPU 256', 'µs', 'processor time of the server per set'),
  lower('loop 256', 'ms', "the event loop's delay meanwhile, at the 99.9th percentile"),
  higher('set 64', 'k/s', 'the same with 64 connections'),
  lower('CPU 64', 'µs', 'processor time of the server per set'),
  lower('loop 64', 'ms', "the event loop's delay meanwhile, at the 99.9th percentile"),
  higher('batch', 'k/s', 'timers set per second, a thousand per request'),
  lower('loop batch', 'ms', "the event loop's delay meanwhile, at the 99.9th percentile"),
  higher('acked', 'k/s', 'firings leased and acked per second, one request per ack'),
  higher('webhooks', 'k/s', 'timers per second, from the first set to the last webhook received'),
  lower('firing CPU', 'µs', 'processor time of the server per firing, including its set where that is timed'),
  lower('warm', 'MiB', 'resident set after 20 s of mixed load'),
  lower('end', 'MiB', 'resident set after another minute'),
  lower('growth', '×', 'end divided by warm'),
  lower(
    'own',
    '×',
    "the same without pages of the store's file, which the system reclaims when it needs memory",
  ),
  lower('held', '×', "the same for V8's heap and buffers"),
  lower('late quiet', 'ms', 'lateness of a modest tenant at the 99th percentile'),
  lower('late attacked', 'ms', 'the same while another tenant attacks, in the worst of seven ways'),
  lower('late ratio', '×', 'the one divided by the other (2 wanted)'),
  lower('longest turn', 'ms', "the longest delay of the server's event loop under attack (50 wanted)"),
]

const by =
  (measure: (measures: typeof Measures, n: number) => Promise<Measurement>) =>
  async ({ n }: { readonly n: number }): Promise<Measurement> =>
    await measure(await import('./service/measure.js'), n)

const service: Bench = {
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
      about: 'a minute of mixed load on file, once',
      mostRounds: 1,
      measure: by(({ measureSoak }) => measureSoak()),
    },
    {
      name: 'hostile',
      about: 'a tenant of a server on file while another tenant attacks, once',
      mostRounds: 1,
      measure: async ({ n }) => (await import('./service/hostile.js')).measureHostile(n),
    },
  ],
}

/** Its candidates are stores. Every figure is of a run among `n` timers. */
const lists: Bench = {
  name: 'service lists',
  about: 'pages of lists over HTTP among many timers, and how late a steady load is meanwhile',
  defaultN: 2_000_000,
  leastN: 1000,
  defaultRounds: 1,
  metrics: listMetrics,
  candidates: [list('file'), list('postgres'), list('redis')],
}

const args = process.argv.slice(2)
const { isLists, rest } = partOf(args)
await runBench(isLists ? lists : service, rest)

function list(store: ListedStore): NodeCandidate {
  return {
    name: `lists-${store}`,
    about: `lists on ${store}`,
    measure: async ({ n }) => {
      const { measureLists } = await import('./service/lists/measure-lists.js')
      return await measureLists(store, n)
    },
  }
}

/** `--only lists` selects the part. Within it, `--candidates a,b` selects stores. */
function partOf(given: readonly string[]): { readonly isLists: boolean; readonly rest: readonly string[] } {
  if (given[0] === 'measure') return { isLists: given[1]?.startsWith('lists-') === true, rest: given }
  const at = given.findIndex(
    (arg, i) => arg === '--only=lists' || (arg === '--only' && given[i + 1] === 'lists'),
  )
  if (at < 0) return { isLists: false, rest: given }
  const others = given.toSpliced(at, given[at] === '--only' ? 2 : 1)
  return { isLists: true, rest: others.map((arg) => arg.replace(/^--candidates/, '--only')) }
}
