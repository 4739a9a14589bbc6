import { lower, type Metric, type Task } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { kinds } from './schedule/kinds.js'
import { type Effort, measureNext, RANDOM } from './schedule/passes.js'

/**
 * npm run bench schedule: a million `next` calls for each kind of schedule, in order through ten years, against croner and
 * cron-parser.
 *
 * The bench measures processor time, so a busy machine changes little. croner makes a million calls for every kind. For
 * some kinds cron-parser would take up to an hour and a half. So it stops after half a minute, and a note says how many
 * calls it made, how long one took, and how long a million would take. All candidates must find the same first occurrences
 * of each kind, or the run fails.
 */
const CRONER_MAX_MS = 300_000
const CRON_PARSER_MAX_MS = 30_000

const metrics: readonly Metric[] = [
  ...kinds.map(({ name, means, zone }) => lower(name, 'ns', `one next in order: ${means}, in ${zone}`)),
  lower(RANDOM, 'ns', 'one next at a random instant of the ten years, mean over all kinds'),
]

await runBench({
  name: 'schedule',
  about: 'next calls of schedules, in order through ten years',
  unit: 'next calls for each kind',
  defaultN: 1_000_000,
  leastN: 1000,
  nOption: '--calls',
  // One round takes about twenty minutes: 30 to 90 s per kind for croner, half a minute for cron-parser, a second for ours.
  defaultRounds: 1,
  longestRunMs: 3_600_000,
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
      measure: async (task) =>
        measureNext((await import('./schedule/croner.js')).croner, effort(task, CRONER_MAX_MS)),
    },
    {
      name: 'cron-parser',
      about: 'cron-parser 5, reset and next of a parsed expression',
      measure: async (task) =>
        measureNext((await import('./schedule/cron-parser.js')).cronParser, effort(task, CRON_PARSER_MAX_MS)),
    },
  ],
})

function effort({ n }: Task, mostMs: number): Effort {
  return { calls: n, mostMs }
}
