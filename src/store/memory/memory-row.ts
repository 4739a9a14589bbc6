import type { TimerContent, TimerProgress, TimerRow } from '../../timer/index.js'
import type { Standing } from '../store.js'

/** A row as the memory store keeps it: never changed, replaced by a new one; only its lease comes and goes. */
export interface MemoryRow extends TimerRow {
  lease: RowLease | undefined
}

/** Who holds a row of a store with the strategy `claim`, and until when. */
interface RowLease {
  readonly owner: string
  readonly nonce: number
  until: number
}

export function rowOf(
  content: TimerContent,
  progress: TimerProgress,
  position: number,
  revision: number,
): MemoryRow {
  return {
    namespace: content.namespace,
    kind: content.kind,
    key: content.key,
    identity: content.identity,
    createdAt: content.createdAt,
    // A copy: the caller's buffer is the caller's to change. `slice` of a Buffer would be a view.
    payload: new Uint8Array(content.payload),
    tags: [...content.tags],
    details: content.details,
    dueAt: progress.dueAt,
    attempt: progress.attempt,
    occurrence: progress.occurrence,
    position,
    revision,
    lease: undefined,
  }
}

export function standingOf(row: TimerRow): Standing {
  return { position: row.position, revision: row.revision, identity: row.identity }
}

/** About what a row takes in memory. */
export function bytesOf(row: TimerRow): number {
  return 160 + row.payload.length + 2 * (row.key.length + row.details.length)
}
