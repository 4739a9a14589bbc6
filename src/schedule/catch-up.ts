import { checkInstant, checkOptions, InvalidInputError } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { defaults } from './defaults.js'
import type { Schedule, SeedOptions } from './schedule.js'

export interface CatchUpOptions extends SeedOptions {
  /** The occurrence that was dealt with last, or the instant the timer was set. */
  readonly lastOccurrence: number
  readonly now: number
  /** How late the latest occurrence may be and still count as in time under `'skip'`. Default one minute. */
  readonly grace?: Duration
}

/** What is to be done about the occurrences after the last one and up to now. */
export interface CatchUp {
  /** To be fired, earliest first; never more than the schedule's `missedLimit`. */
  readonly fire: readonly number[]
  /** The first and the last of those that are dropped, both inclusive; undefined when none is. */
  readonly dropped: { readonly firstAt: number; readonly lastAt: number } | undefined
  /** The first occurrence after now, or undefined when the schedule has ended. */
  readonly next: number | undefined
}

/**
 * Says which of the occurrences that have come since the last one are fired, by the schedule's own `missed`
 * rule: `'skip'` fires the latest if it is in time, `'once'` the latest, `'all'` the latest `missedLimit`. The
 * cost depends on that limit and not on how many were missed, so that a schedule of seconds may wake after
 * years.
 */
export function catchUp(schedule: Schedule, options: CatchUpOptions): CatchUp {
  checkOptions('catchUp', options, ['lastOccurrence', 'now', 'grace', 'seed'])
  const { lastOccurrence, now, grace = defaults.missedGraceMs } = options
  checkInstant(lastOccurrence)
  checkInstant(now)
  if (now < lastOccurrence) {
    throw new InvalidInputError(
      'invalid-option',
      `now must not be before the last occurrence: lastOccurrence=${lastOccurrence} now=${now}`,
    )
  }
  const graceMs = parseDuration(grace)
  const seed = options.seed === undefined ? undefined : { seed: options.seed }
  const nextAfter = (after: number): number => schedule.next(after, seed) ?? Infinity
  const next = schedule.next(now, seed)
  const first = nextAfter(lastOccurrence)
  if (first > now) return { fire: [], dropped: undefined, next }
  const most = schedule.missed === 'all' ? schedule.missedLimit : 1
  const latest = latestOccurrences(nextAfter, lastOccurrence, now, most + 1)
  const fire = latest.slice(-most)
  if (schedule.missed === 'skip' && now - fire[0]! > graceMs + schedule.windowMs) {
    return { fire: [], dropped: { firstAt: first, lastAt: fire[0]! }, next }
  }
  const dropped = latest.length > most ? { firstAt: first, lastAt: latest[0]! } : undefined
  return { fire, dropped, next }
}

/** The latest occurrences after `after` and up to `until`, at most `most`, earliest first. */
function latestOccurrences(
  nextAfter: (after: number) => number,
  after: number,
  until: number,
  most: number,
): number[] {
  const found: number[] = []
  let end = until
  // How far the one before lies is a good guess from the second on.
  let reach = 1000
  while (found.length < most && nextAfter(after) <= end) {
    while (end - reach > after && nextAfter(end - reach) > end) reach *= 2
    const at = latestOccurrence(nextAfter, nextAfter(Math.max(after, end - reach)), end)
    found.push(at)
    reach = end - at + 1
    end = at - 1
  }
  return found.toReversed()
}

/** The latest occurrence up to `end`, given an earlier one. */
function latestOccurrence(nextAfter: (after: number) => number, known: number, end: number): number {
  let latest = known
  if (nextAfter(latest) > end) return latest
  // There is none after `high`; the middle between the two tells which of them to bring closer.
  let high = end
  while (latest < high) {
    const middle = Math.ceil((latest + high) / 2)
    const at = nextAfter(middle - 1)
    if (at <= end) latest = at
    else high = middle - 1
  }
  return latest
}
