import { lower, type Metric, type Task } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { kinds } from './schedule/kinds.js'
import { type Effort, measureNext, RANDOM } from './schedule/passes.js'

/**
 * npm run bench schedule: a million `next` calls for each kind of schedule, one after the other through ten
 * years, against croner and cron-parser.
 *
 * A million calls of a peer take minutes for each kind, up to an hour and a half for the rarest. Unless `--calls`
 * says how many they make, they make as many as fit in two seconds per kind, and a note says how many that were:
 * what is compared is the time of one call. The first occurrences of each kind must agree, or the run fails.
 */
const PEER_MS = 2000

const metrics: readonly Metric[] = [
  ...kinds.map(({ name, means, zone }) => lower(name, 'ns', `one next in order: ${means}, in ${zone}`)),
  lower(RANDOM, 'ns', 'one next at a random instant of the ten years, the mean over all kinds'),
]

await runBench({
  name: 'schedule',
  about: 'next calls of schedules, in order through ten years',
  unit: 'next calls for each kind',
  defaultN: 1_000_000,
  leastN: 1000,
  defaultRounds: 3,
  longestRunMs: 4 * 3_600_000,
  ownOption: { name: '--calls', about: 'how many calls the peers make for each kind, however long it takes' },
  metrics,
  candidates: [
    {
      name: 'ours',
      about: "Schedule of 'carillon/schedule'",
      measure: async ({ n, seed }) =>
        measureNext((await import('./schedule/ours.js')).ours, { calls: n, mostMs: Infinity }, seed),
    },
    {
      name: 'croner',
      about: 'croner 11, nextRun of a paused job',
      measure: async (task) => measureNext((await import('./schedule/croner.js')).croner, peerEffort(task)),
    },
    {
      name: 'cron-parser',
      about: 'cron-parser 5, reset and next of a parsed expression',
      measure: async (task) =>
        measureNext((await import('./schedule/cron-parser.js')).cronParser, peerEffort(task)),
    },
  ],
})

function peerEffort({ n, own }: Task): Effort {
  // Without end, but still looked at in small batches: Infinity is for those that are quick.
  return own === undefined ? { calls: n, mostMs: PEER_MS } : { calls: own, mostMs: Number.MAX_VALUE }
}
