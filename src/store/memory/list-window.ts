import { isBefore, laterOf, levelAt, type Place } from '../../timer/index.js'
import type { ListQuery, TimerFilter } from '../store.js'
import type { MemoryRows } from './memory-rows.js'
import type { Scope } from './row-record.js'

/** The slots of the rows from `level` on that may be in the query's due window, in order. */
export function* slotsInWindow(
  rows: MemoryRows,
  level: Place,
  { dueFromInclusive = 0, dueUntilExclusive = Infinity }: ListQuery,
): Generator<number, void, undefined> {
  const { displaced, order } = rows
  const from = levelAt(dueFromInclusive)
  if (isBefore(level, from)) yield* until(rows, displaced.from(level), dueFromInclusive)
  const inside = laterOf(level, from)
  yield* until(rows, order.from(inside), dueUntilExclusive)
  if (dueUntilExclusive < Infinity) yield* displaced.from(laterOf(inside, levelAt(dueUntilExclusive)))
}

/** False if a row does not match a filter, by what can be read without making an object of the row. */
export function mayMatch(rows: MemoryRows, slot: number, filter: TimerFilter): boolean {
  const { namespace, kind, dueFromInclusive = 0, dueUntilExclusive = Infinity } = filter
  const dueAt = rows.dueAt(slot)
  return (
    dueAt >= dueFromInclusive && dueAt < dueUntilExclusive && isInScope(rows.scope(slot), namespace, kind)
  )
}

/** Whether a scope has this namespace and this kind, as far as they are given. */
export function isInScope(scope: Scope, namespace: string | undefined, kind: string | undefined): boolean {
  return (
    (namespace === undefined || scope.namespace === namespace) && (kind === undefined || scope.kind === kind)
  )
}

function* until(
  rows: MemoryRows,
  slots: Generator<number, void, undefined>,
  position: number,
): Generator<number, void, undefined> {
  for (const slot of slots) {
    if (rows.position(slot) >= position) return
    yield slot
  }
}
