import { lower, type Metric, type Task } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { kinds } from './schedule/kinds.js'
import { type Effort, measureNext, RANDOM } from './schedule/passes.js'

/**
 * npm run bench schedule: a million `next` calls for each kind of schedule, one after the other through ten
 * years, against croner and cron-parser, which make as many.
 *
 * Processor time is measured, so that a busy machine changes little. croner makes its million of every kind. For some
 * kinds a million calls would take cron-parser up to an hour and a half: after half a minute it stops, and a note says
 * how many it made, what one took, and what all would take at that rate. The first occurrences of each kind must agree,
 * or the run fails.
 */
const CRONER_MOST_MS = 300_000
const CRON_PARSER_MOST_MS = 30_000

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
  nOption: '--calls',
  // About twenty minutes: croner takes 30 to 90 s for a kind, cron-parser its half minute, ours a second.
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
        measureNext((await import('./schedule/croner.js')).croner, effort(task, CRONER_MOST_MS)),
    },
    {
      name: 'cron-parser',
      about: 'cron-parser 5, reset and next of a parsed expression',
      measure: async (task) =>
        measureNext(
          (await import('./schedule/cron-parser.js')).cronParser,
          effort(task, CRON_PARSER_MOST_MS),
        ),
    },
  ],
})

function effort({ n }: Task, mostMs: number): Effort {
  return { calls: n, mostMs }
}
