import { checkInstant, checkOptions, InvalidInputError, LimitError, shown } from '../error/index.js'
import { checkCount } from './option-checks.js'
import { defaults, limits } from './defaults.js'
import { Schedule } from './schedule.js'

/** The span of a simulation. */
export interface SimulateOptions {
  /** Epoch milliseconds, inclusive. */
  readonly from: number
  /** Epoch milliseconds, exclusive. */
  readonly to: number
  /** The simulation throws if there are more firings than this. Default: 100,000. */
  readonly limit?: number
}

/** An occurrence of one of the simulated schedules. */
export interface SimulatedFiring {
  readonly name: string
  /** Epoch milliseconds. */
  readonly at: number
}

/**
 * Returns all firings of a set of named schedules from one instant up to another, in order of time, then
 * name. A schedule's name serves as its timer's identity, so jitter is spread as it will be in production.
 */
export function simulate(
  definitions: Readonly<Record<string, Schedule>>,
  options: SimulateOptions,
): SimulatedFiring[] {
  checkOptions('simulate', options, ['from', 'to', 'limit'])
  const { from, to, limit = defaults.simulateLimit } = options
  checkInstant(from)
  checkInstant(to)
  if (to < from)
    throw new InvalidInputError('invalid-option', `to must not be before from: from=${from} to=${to}`)
  checkCount('limit', limit, limits.simulate)
  const firings: SimulatedFiring[] = []
  for (const [name, schedule] of Object.entries(definitions)) {
    if (!(schedule instanceof Schedule)) {
      throw new InvalidInputError(
        'invalid-option',
        `${shown(name)} must be a schedule, got ${shown(schedule)}`,
      )
    }
    const seed = { seed: name }
    let at = schedule.next(Math.ceil(from) - 1, seed)
    for (; at !== undefined && at < to; at = schedule.next(at, seed)) {
      if (firings.length === limit) {
        throw new LimitError(
          'too-many-occurrences',
          `more than ${limit} firings from ${from} to ${to}: simulate a shorter time or fewer schedules`,
        )
      }
      firings.push({ name, at })
    }
  }
  return firings.sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1))
}
