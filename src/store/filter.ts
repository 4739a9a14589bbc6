import type { TimerName, TimerRow } from '../timer/index.js'
import type { TimerFilter } from './store.js'

/** Whether a row matches a filter. */
export function matches(row: TimerRow, filter: TimerFilter): boolean {
  return (
    row.namespace === filter.namespace &&
    (filter.kind === undefined || row.kind === filter.kind) &&
    (filter.keyPrefix === undefined || row.key.startsWith(filter.keyPrefix)) &&
    (filter.tag === undefined || row.tags.includes(filter.tag)) &&
    (filter.dueFromInclusive === undefined || row.dueAt >= filter.dueFromInclusive) &&
    (filter.dueUntilExclusive === undefined || row.dueAt < filter.dueUntilExclusive)
  )
}

/** Whether a name matches a filter by namespace, kind and key. */
export function matchesName(
  name: TimerName,
  filter: { readonly namespace: string; readonly kind?: string; readonly key?: string },
): boolean {
  return (
    name.namespace === filter.namespace &&
    (filter.kind === undefined || name.kind === filter.kind) &&
    (filter.key === undefined || name.key === filter.key)
  )
}
