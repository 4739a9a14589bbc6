import { higher } from '../engine/burst.js'
import {
  type Bench,
  lower,
  type Measurement,
  type Metric,
  type NodeCandidate,
  type Task,
} from '../harness/bench.js'
import { drivenCandidates, type ServerName } from './candidates.js'
import { type Driven, driven, type Outcome } from './driven.js'

const metrics: readonly Metric[] = [
  higher('add', 'k/s', 'timers for later added a second, in the batches that suit the candidate best'),
  higher(
    'settled',
    'k/s',
    'due timers fired and settled a second, from the start of the work until none is open',
  ),
  lower(
    'operations',
    '',
    'what the server was asked for 1,000 fired: statements sent, or commands run, scripts included',
  ),
  lower('CPU', 'µs', 'processor time of the process for one fired timer'),
  lower('server CPU', 'µs', 'processor time of the server for one fired timer'),
]

/** n timers for later and n that are due: added in bulk, then fired and settled. */
export function burst(on: ServerName): Bench {
  const [first, ...others] = drivenCandidates(on, async (it, { n }) => await measure(it, n, n, ['add']))
  return {
    name: `servers burst ${on}`,
    about: `${on}: timers added in bulk, and a burst of due ones fired and settled, beside peers and floors`,
    defaultN: 100_000,
    leastN: 2000,
    defaultRounds: 3,
    metrics,
    candidates: [first!, ...others, ...floors[on]],
  }
}

const FEW = 10_000
const MANY = 5_000_000

/** A burst among few and among many timers for later. */
export function future(on: ServerName): Bench {
  const [first, ...others] = [FEW, MANY].flatMap((count) =>
    drivenCandidates(
      on,
      async (it, { n }) => await measure(it, n, Math.max(n, count)),
      count === FEW ? '-few' : '-many',
    ),
  )
  return {
    name: `servers future ${on}`,
    about: `${on}: a burst of due timers fired and settled among ${FEW} and among ${MANY} for later`,
    defaultN: 10_000,
    leastN: 2000,
    defaultRounds: 1,
    longestRunMs: 2 * 3_600_000,
    metrics: metrics.filter(({ name }) => name !== 'add'),
    candidates: [first!, ...others],
  }
}

/** `also` names figures that not every bench has. */
async function measure(
  it: Driven,
  n: number,
  count: number,
  also: readonly 'add'[] = [],
): Promise<Measurement> {
  const outcome = await driven(it, { what: 'burst', n, future: count })
  const { end, wasRewriting } = outcome
  if (end.fired !== n) throw new Error(`${end.fired} of ${n} were fired`)
  const { ms, addMs } = end.figures
  return {
    metrics: {
      ...(also.includes('add') && { add: n / addMs! }),
      settled: n / ms!,
      ...costs(outcome),
    },
    checks: { fired: end.fired },
    notes: [
      ...(end.repeats > 0 ? [`${end.repeats} were fired more than once`] : []),
      ...(wasRewriting ? ['its append-only file was written anew during the burst, on the same cores'] : []),
    ],
  }
}

/** What a fired timer cost on both sides. */
export function costs({ end, operations, serverCpuUs }: Outcome): Record<string, number> {
  return {
    operations: (operations * 1000) / end.fired,
    CPU: end.cpuUs / end.fired,
    ...(serverCpuUs !== undefined && { 'server CPU': serverCpuUs / end.fired }),
  }
}

/** Rows put in, read and deleted by the least that the same server can be asked for, under the same durability. */
const floors: Readonly<Record<ServerName, readonly NodeCandidate[]>> = {
  postgres: (['copy', 'unnest'] as const).map((way) => ({
    name: `floor-${way}`,
    about: `${way} into the same columns and indexes, read in order, deleted by range; 10,000 to a statement`,
    measure: async (task) =>
      floorOf(await (await import('../postgres/floor.js')).measureFloor(way, task), 'load', 'settle'),
  })),
  redis: [
    {
      name: 'floor-variadic',
      about: 'the same data in variadic commands, append-only file flushed every second',
      measure: async (task: Task) =>
        floorOf(await (await import('../stores/redis-floor.js')).measureRedisFloor(task), 'load+settle'),
    },
  ],
}

/** Floors are measured in µs a timer. */
function floorOf({ metrics: us }: Measurement, ...fired: readonly string[]): Measurement {
  const firedUs = fired.reduce((sum, name) => sum + us[name]!, 0)
  return {
    metrics: { add: 1000 / us['add 10k']!, settled: 1000 / firedUs },
    checks: {},
    notes: ['nothing is checked, nothing is found by name, and no handler is called'],
  }
}
