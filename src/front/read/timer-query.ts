import { checkInteger, checkOptions, InvalidInputError, shown } from '../../error/index.js'
import type { Listed, TimerFilter } from '../../store/index.js'
import { epochMsOf, type Instant, type TimerView } from '../../timer/index.js'
import { FIRING_TOLERANCE_MS, MAX_KEY_PART } from '../defaults.js'
import type { AnyKind } from '../kind/kind.js'
import { NEVER } from './timer-view.js'

const states = ['waiting', 'firing', 'paused', 'retrying'] as const

/** Which timers to find. An empty query finds all timers of the namespace. */
export interface TimerQuery {
  readonly kind?: AnyKind
  readonly keyPrefix?: string
  /** Is somewhere in the key. Upper and lower case differ. */
  readonly keyPart?: string
  readonly tag?: string
  /** Due at or after this instant. */
  readonly dueFrom?: Instant
  /** Due before this instant. */
  readonly dueUntil?: Instant
  /** Has had at least this many attempts at its current occurrence. */
  readonly attemptsFrom?: number
  /** Has had fewer attempts than this. */
  readonly attemptsUntil?: number
  /** Whether it has a schedule. */
  readonly recurring?: boolean
  /**
   * The state as `TimerView` shows it: 'firing' means that this instance fires it. 'retrying': it waits, after at least
   * one attempt.
   */
  readonly state?: (typeof states)[number]
}

/** One page of timers. */
export interface ListedTimers extends Listed<TimerView> {
  /** Whether the page is as long as asked for, or the last one. Otherwise it ended early: the cursor continues. */
  readonly complete: boolean
  /** How many timers the list has looked at since its first page. */
  readonly looked: number
  /** About how many timers the store has, in all namespaces. Only if the page ended early. */
  readonly total?: number
}

/** How many timers match, as far as they were counted. */
export interface CountedTimers {
  readonly count: number
  /** Goes on counting, if not all were counted. Add up the counts. */
  readonly cursor: string | undefined
  /** Whether all were counted. */
  readonly complete: boolean
  readonly looked: number
  readonly total?: number
}

/** The names of the conditions of a query. */
const queryNames = [
  'kind',
  'keyPrefix',
  'keyPart',
  'tag',
  'dueFrom',
  'dueUntil',
  'attemptsFrom',
  'attemptsUntil',
  'recurring',
  'state',
] as const

/** Refuses a query with other names, or with values that no timer can have. */
export function checkQuery(call: string, query: TimerQuery, moreNames: readonly string[] = []): void {
  checkOptions(call, query, [...queryNames, ...moreNames])
  const { keyPart, attemptsFrom, attemptsUntil, recurring, state } = query
  const isPart = keyPart === undefined || (keyPart.length > 0 && keyPart.length <= MAX_KEY_PART)
  if (!isPart) throw invalid('keyPart', `a string of 1 to ${MAX_KEY_PART} characters`, keyPart)
  if (attemptsFrom !== undefined) checkInteger('attemptsFrom', attemptsFrom, 0)
  if (attemptsUntil !== undefined) checkInteger('attemptsUntil', attemptsUntil, 0)
  if (recurring !== undefined && typeof recurring !== 'boolean') {
    throw invalid('recurring', 'true or false', recurring)
  }
  if (state !== undefined && !states.includes(state)) throw invalid('state', states.join(', '), state)
}

/** What the store filters by. `isMatch` filters by the rest. A paused timer has no due time in the store. */
export function filterOf(query: TimerQuery, now: number): Omit<TimerFilter, 'namespace' | 'kind'> {
  const { keyPrefix, keyPart, tag, attemptsFrom, attemptsUntil, recurring, state } = query
  const from = query.dueFrom === undefined ? undefined : epochMsOf(query.dueFrom)
  const until = query.dueUntil === undefined ? undefined : epochMsOf(query.dueUntil)
  const isPaused = state === 'paused'
  const dueFromInclusive = isPaused ? NEVER : from
  // Only a due timer fires.
  const dueUntilExclusive = isPaused
    ? undefined
    : state === 'firing'
      ? Math.min(until ?? Infinity, now + FIRING_TOLERANCE_MS)
      : until
  const attemptFromInclusive = state === 'retrying' ? Math.max(1, attemptsFrom ?? 0) : attemptsFrom
  return {
    ...(keyPrefix !== undefined && { keyPrefix }),
    ...(keyPart !== undefined && { keyPart }),
    ...(tag !== undefined && { tag }),
    ...(dueFromInclusive !== undefined && { dueFromInclusive }),
    ...(dueUntilExclusive !== undefined && { dueUntilExclusive }),
    ...(attemptFromInclusive !== undefined && { attemptFromInclusive }),
    ...(attemptsUntil !== undefined && { attemptUntilExclusive: attemptsUntil }),
    ...(recurring !== undefined && { isRecurring: recurring }),
  }
}

/** Whether a timer that the store found matches the conditions that the store does not know. */
export function isMatch(view: TimerView, { state, dueFrom, dueUntil }: TimerQuery): boolean {
  if (state === undefined) return true
  if (view.state !== (state === 'retrying' ? 'waiting' : state)) return false
  return (
    state !== 'paused' ||
    ((dueFrom === undefined || view.dueAt >= epochMsOf(dueFrom)) &&
      (dueUntil === undefined || view.dueAt < epochMsOf(dueUntil)))
  )
}

function invalid(name: string, wanted: string, got: unknown): InvalidInputError {
  return new InvalidInputError('invalid-option', `${name} must be ${wanted}, got ${shown(got)}`)
}
