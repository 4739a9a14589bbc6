import { checkInstant, checkOptions, InvalidInputError } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { defaults } from './defaults.js'
import type { Schedule, SeedOptions } from './schedule.js'

/** Which span to catch up, and how many occurrences at most. */
export interface CatchUpOptions extends SeedOptions {
  /** The latest occurrence that was handled, or the instant at which the timer was set. */
  readonly lastOccurrence: number
  readonly now: number
  /** Under `'skip'`, how late the latest occurrence may be and still fire. Default: one minute. */
  readonly grace?: Duration
}

/** What to do about the occurrences since the last one. */
export interface CatchUp {
  /** The occurrences to fire, earliest first. Never more than the schedule's `missedLimit`. */
  readonly fire: readonly number[]
  /** The first and the last dropped occurrence, both inclusive. Undefined if none is dropped. */
  readonly dropped: { readonly firstAt: number; readonly lastAt: number } | undefined
  /** The first occurrence after now, or undefined if the schedule has ended. */
  readonly next: number | undefined
}

/**
 * Decides which occurrences since the last one to fire, by the schedule's `missed` rule. `'skip'` fires the
 * latest if it is not too late, `'once'` the latest, `'all'` the latest `missedLimit`. The cost depends on
 * that limit, not on how many were missed. So a schedule of seconds may be caught up after years.
 *
 * Proven by test/schedule/catch-up.test.ts.
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

/** Returns the latest occurrences after `after` and up to `until`, at most `most`, earliest first. */
function latestOccurrences(
  nextAfter: (after: number) => number,
  after: number,
  until: number,
  most: number,
): number[] {
  const found: number[] = []
  let end = until
  // The distance between the latest two occurrences is a good guess for the next search.
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

/** Returns the latest occurrence up to `end`, given an earlier one. */
function latestOccurrence(nextAfter: (after: number) => number, known: number, end: number): number {
  let latest = known
  if (nextAfter(latest) > end) return latest
  // Binary search: there is no occurrence after `high` and up to `end`.
  let high = end
  while (latest < high) {
    const middle = Math.ceil((latest + high) / 2)
    const at = nextAfter(middle - 1)
    if (at <= end) latest = at
    else high = middle - 1
  }
  return latest
}
