import type { Place } from '../../../timer/index.js'
import type { Bucket } from '../rows/bucket.js'
import type { RowTable } from '../rows/row-table.js'
import type { RowMatcher } from './row-matcher.js'

/** A sealed chunk that may have matching rows. The id tells whether the ref was reused since. */
export interface ListedChunk {
  readonly ref: number
  readonly id: number
}

/** A stretch of time of a list: which chunks may have matching rows with a position before `untilExclusive`. */
export interface ListStretch {
  readonly untilExclusive: number
  readonly chunks: readonly ListedChunk[]
  /** Chunks with a later id are not among `chunks`. */
  readonly lastId: number
}

interface Candidate {
  readonly bucket: Bucket
  readonly chunks: ListedChunk[]
  readonly rows: number
}

/**
 * Plans the stretch of a list that begins at `level`. It ends before the bucket that would make it larger than
 * `mostRows`. Wide buckets at its start must be read whole; then it may have as many rows besides. Undefined when no
 * row can match.
 */
export function stretchFrom(
  table: RowTable,
  shard: number,
  level: Place,
  matcher: RowMatcher,
  mostRows: number,
): ListStretch | undefined {
  const { chunks } = table
  const lastId = table.lastSealedId
  const candidates: Candidate[] = []
  let hasOpen = false
  for (const bucket of table.buckets[shard]!.overlapping(level.position, Infinity)) {
    const listed: ListedChunk[] = []
    let rows = 0
    for (const ref of bucket.refs) {
      if (!matcher.mayMatch(chunks, ref, bucket.start, bucket.endExclusive)) continue
      const id = chunks.ids[ref]!
      if (id > lastId) hasOpen = true
      else if (chunks.rows[ref]! > chunks.dead[ref]!) {
        listed.push({ ref, id })
        rows += chunks.rows[ref]!
      }
    }
    if (listed.length > 0) candidates.push({ bucket, chunks: listed, rows })
  }
  if (candidates.length === 0) return hasOpen ? { untilExclusive: Infinity, chunks: [], lastId } : undefined
  candidates.sort((a, b) => a.bucket.start - b.bucket.start)
  const first = Math.max(level.position, candidates[0]!.bucket.start)
  let rows = 0
  let count = 0
  while (count < candidates.length && candidates[count]!.bucket.start <= first)
    rows += candidates[count++]!.rows
  const limit = rows + Math.max(mostRows - rows, rows)
  while (count < candidates.length && rows + candidates[count]!.rows <= limit)
    rows += candidates[count++]!.rows
  const taken = candidates.slice(0, count)
  return {
    untilExclusive: candidates[count]?.bucket.start ?? Infinity,
    chunks: taken.flatMap((candidate) => candidate.chunks),
    lastId,
  }
}
