import { setTimeout as sleep } from 'node:timers/promises'
import { higher } from '../../engine/burst.js'
import { type Bench, lower, type Measurement, type Metric, type Task } from '../../harness/bench.js'
import { drivenCandidates, type ServerName } from '../candidates.js'
import type { Driven } from '../driven.js'
import { type Pair, withPair } from './pair.js'
import type { Single } from './task.js'

const HOUR_MS = 3_600_000
const WARM_UP = 20_000
const CALLERS = [1, 64, 256]
const SINGLES: readonly Single[] = ['set', 'move', 'cancel']

/** Each timer is added by a process that only sets, and fired by one that only fires. */
export function topology(on: ServerName): readonly Bench[] {
  return [bulk(on), ...CALLERS.map((callers) => singles(on, callers))]
}

function bulk(on: ServerName): Bench {
  const metrics: readonly Metric[] = [
    higher(
      'add',
      'k/s',
      'timers for later added per second by the process that sets, until all are acknowledged',
    ),
    higher('applied', 'k/s', 'the same, until every process sees them'),
    lower('set CPU', 'µs', 'processor time of the process that sets, per timer added'),
    lower(
      'fire CPU',
      'µs',
      'processor time of the process that fires, per timer added, until all are applied',
    ),
    lower('server CPU', 'µs', 'processor time of the server per timer added, until all are applied'),
    higher(
      'burst',
      'k/s',
      'timers of the other process, all due at one instant, fired and settled per second',
    ),
    lower('burst CPU', 'µs', 'processor time of the process that fires, per timer of the burst'),
    lower('burst server', 'µs', 'processor time of the server per timer of the burst'),
  ]
  const [first, ...others] = candidates(on, '-bulk', async (pair, { n }) => await measureBulk(pair, n))
  return {
    name: `servers topology ${on} bulk`,
    about: `${on}: timers added in bulk by a process that only sets, and fired by another, against peers`,
    defaultN: 50_000,
    leastN: 1000,
    defaultRounds: 1,
    metrics,
    candidates: [first!, ...others],
  }
}

function singles(on: ServerName, callers: number): Bench {
  const [first, ...others] = candidates(on, `-${callers}`, async (pair, { n }) => {
    const figures: Record<string, number> = {}
    // The first pass compiles the code.
    for (const isTrial of [true, false]) {
      const count = callers === 1 ? Math.ceil(n / 10) : n
      const calls = isTrial ? Math.ceil(count / 5) : count
      for (const what of SINGLES) {
        const { ms, p50, p99 } = await pair.setter.ask({ ask: 'single', what, n: calls, callers })
        Object.assign(figures, {
          [what]: calls / ms!,
          [`${what} p50`]: p50,
          [`${what} p99`]: p99,
        })
      }
    }
    return { metrics: figures, checks: {}, notes: [] }
  })
  return {
    name: `servers topology ${on} ${callers}`,
    about: `${on}: single calls of a process that only sets, by ${callers} callers at once`,
    unit: callers === 1 ? 'ten calls of each kind' : 'calls of each kind',
    defaultN: 5000,
    leastN: 100,
    defaultRounds: 1,
    metrics: SINGLES.flatMap((what) => [
      higher(what, 'k/s', `calls of ${what} answered per second`),
      lower(`${what} p50`, 'ms', `the median time of a ${what} until its answer`),
      lower(`${what} p99`, 'ms', 'the 99th percentile'),
    ]),
    candidates: [first!, ...others],
  }
}

/** Timers for later, then timers that are all due at one instant, after a smaller run of the same. */
async function measureBulk({ setter, worker, cpu }: Pair, n: number): Promise<Measurement> {
  let settled = 0
  const add = async (
    count: number,
    prefix: string,
    dueAt: number,
  ): Promise<{ ms: number; appliedMs: number }> => {
    const { ms } = await setter.ask({ ask: 'add', n: count, prefix, dueAt })
    const { ms: waitedMs } = await setter.ask({ ask: 'applied' })
    return { ms: ms!, appliedMs: ms! + waitedMs! }
  }
  const fire = async (count: number, prefix: string, leadMs: number) => {
    const dueAt = Date.now() + Math.ceil(leadMs)
    await add(count, prefix, dueAt)
    if (Date.now() > dueAt)
      throw new Error(`adding ${count} timers took longer than the ${leadMs} ms planned`)
    await sleep(dueAt - Date.now() - 100)
    const before = await cpu()
    settled += count
    const { at, fired, repeats } = await worker.ask({ ask: 'settled', count: settled })
    const after = await cpu()
    if (fired !== count) throw new Error(`${fired} of ${count} timers fired`)
    return { ms: at! - dueAt, repeats: repeats!, before, after }
  }
  const warm = await add(WARM_UP, 'warm-later', Date.now() + 3 * HOUR_MS)
  const leadOf = (count: number): number => 2000 + (6 * warm.appliedMs * count) / WARM_UP
  await fire(WARM_UP, 'warm', leadOf(WARM_UP))
  const before = await cpu()
  const added = await add(n, 'later', Date.now() + HOUR_MS)
  const after = await cpu()
  const burst = await fire(n, 'due', leadOf(n))
  const each = (to: number | undefined, from: number | undefined): number | undefined =>
    to === undefined || from === undefined ? undefined : (to - from) / n
  const metrics = {
    add: n / added.ms,
    applied: n / added.appliedMs,
    'set CPU': each(after.setter, before.setter),
    'fire CPU': each(after.worker, before.worker),
    'server CPU': each(after.server, before.server),
    burst: n / burst.ms,
    'burst CPU': each(burst.after.worker + burst.after.setter, burst.before.worker + burst.before.setter),
    'burst server': each(burst.after.server, burst.before.server),
  }
  return {
    metrics: Object.fromEntries(
      Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== undefined),
    ),
    checks: { fired: n },
    notes: burst.repeats > 0 ? [`${burst.repeats} timers fired more than once`] : [],
  }
}

function candidates(
  on: ServerName,
  circumstance: string,
  measure: (pair: Pair, task: Task) => Promise<Measurement>,
) {
  const measured = async (driven: Driven, task: Task): Promise<Measurement> =>
    await withPair(driven, driven.isOneProcess === true, async (pair) => await measure(pair, task))
  return drivenCandidates(on, measured, circumstance, 'topology')
}
