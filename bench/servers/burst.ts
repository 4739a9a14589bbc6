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
  higher('add', 'k/s', 'timers for later added per second, in the batch size that suits the candidate best'),
  higher('settled', 'k/s', 'due timers fired and settled per second, from the start until none is open'),
  lower(
    'operations',
    '',
    'server calls per 1,000 fired timers: statements sent, or commands run including those in scripts',
  ),
  lower('CPU', 'µs', 'processor time of the process per fired timer'),
  lower('server CPU', 'µs', 'processor time of the server per fired timer'),
]

/** n timers for later and n due timers are added in bulk. Then the due ones are fired and settled. */
export function burst(on: ServerName): Bench {
  const [first, ...others] = drivenCandidates(on, async (it, { n }) => await measure(it, n, n, ['add']))
  return {
    name: `servers burst ${on}`,
    about: `${on}: timers added in bulk, and a burst of due timers fired and settled, against peers and floors`,
    defaultN: 100_000,
    leastN: 2000,
    defaultRounds: 3,
    metrics,
    candidates: [first!, ...others, ...floors[on]],
  }
}

const FEW = 10_000
const MANY = 5_000_000

/** A burst with few and with many timers for later in the store. */
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
    about: `${on}: a burst of due timers fired and settled, with ${FEW} and with ${MANY} timers for later`,
    defaultN: 10_000,
    leastN: 2000,
    defaultRounds: 1,
    longestRunMs: 2 * 3_600_000,
    metrics: metrics.filter(({ name }) => name !== 'add'),
    candidates: [first!, ...others],
  }
}

/** `also` names the figures that not every bench has. */
async function measure(
  it: Driven,
  n: number,
  count: number,
  also: readonly 'add'[] = [],
): Promise<Measurement> {
  const outcome = await driven(it, { what: 'burst', n, future: count })
  const { end, wasRewriting } = outcome
  if (end.fired !== n) throw new Error(`${end.fired} of ${n} timers fired`)
  const { ms, addMs } = end.figures
  return {
    metrics: {
      ...(also.includes('add') && { add: n / addMs! }),
      settled: n / ms!,
      ...costs(outcome),
    },
    checks: { fired: end.fired },
    notes: [
      ...(end.repeats > 0 ? [`${end.repeats} timers fired more than once`] : []),
      ...(wasRewriting ? ['Redis rewrote its append-only file during the burst, on the same cores'] : []),
    ],
  }
}

/** The cost of a fired timer on both sides. */
export function costs({ end, operations, serverCpuUs }: Outcome): Record<string, number> {
  return {
    operations: (operations * 1000) / end.fired,
    CPU: end.cpuUs / end.fired,
    ...(serverCpuUs !== undefined && { 'server CPU': serverCpuUs / end.fired }),
  }
}

/** Rows inserted, read and deleted with the least work for the same server, with the same durability. */
const floors: Readonly<Record<ServerName, readonly NodeCandidate[]>> = {
  postgres: (['copy', 'unnest'] as const).map((way) => ({
    name: `floor-${way}`,
    about: `${way} into the same columns and indexes, read in order, deleted by range; 10,000 per statement`,
    measure: async (task) =>
      floorOf(await (await import('../postgres/floor.js')).measureFloor(way, task), 'load', 'settle'),
  })),
  redis: [
    {
      name: 'floor-variadic',
      about: 'the same data with variadic commands, append-only file flushed every second',
      measure: async (task: Task) =>
        floorOf(await (await import('../stores/redis-floor.js')).measureRedisFloor(task), 'load+settle'),
    },
  ],
}

/** Converts a floor's figures, which are µs per timer. */
function floorOf({ metrics: us }: Measurement, ...fired: readonly string[]): Measurement {
  const firedUs = fired.reduce((sum, name) => sum + us[name]!, 0)
  return {
    metrics: { add: 1000 / us['add 10k']!, settled: 1000 / firedUs },
    checks: {},
    notes: ['it checks nothing, finds nothing by name, and calls no handler'],
  }
}
