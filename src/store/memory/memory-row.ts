import type { TimerContent, TimerProgress, TimerRow } from '../../timer/index.js'
import type { RowVersion } from '../store.js'

/** A row in the memory store. Only its lease changes; every other change makes a new row. */
export interface MemoryRow extends TimerRow {
  lease: RowLease | undefined
}

/** Who has leased a row of a store of the mode `claim`, and until when. */
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
    // A copy, because the caller may change its buffer. `slice` of a Buffer would be a view.
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

export function versionOf(row: TimerRow): RowVersion {
  return { position: row.position, revision: row.revision, identity: row.identity }
}

/** About how many bytes of memory a row needs. */
export function bytesOf(row: TimerRow): number {
  return 160 + row.payload.length + 2 * (row.key.length + row.details.length)
}
