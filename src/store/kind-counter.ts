import type { KindCount, KindCountQuery } from './store.js'

interface Count {
  readonly namespace: string
  readonly kind: string
  readonly counts: number[]
  attempted: number
  firstDueAt: number
}

/** Counts rows by kind and by the slice in which they are due, for `countKinds`. */
export class KindCounter {
  readonly #query: KindCountQuery
  readonly #byNamespace = new Map<string, Map<string, Count>>()

  constructor(query: KindCountQuery) {
    this.#query = query
  }

  /** Counts one row, if it is asked for. */
  add(namespace: string, kind: string, dueAt: number, isAttempted: boolean): void {
    const { namespace: asked, edges } = this.#query
    if (asked !== undefined && asked !== namespace) return
    const slice = sliceOf(edges, dueAt)
    if (slice === undefined) return
    const count = this.#of(namespace, kind)
    count.counts[slice]!++
    if (isAttempted) count.attempted++
    if (dueAt < count.firstDueAt) count.firstDueAt = dueAt
  }

  /** Adds what was counted elsewhere. */
  addAll({ namespace, kind, counts, attempted, firstDueAt }: KindCount): void {
    const count = this.#of(namespace, kind)
    for (const [slice, rows] of counts.entries()) count.counts[slice]! += rows
    count.attempted += attempted
    count.firstDueAt = Math.min(count.firstDueAt, firstDueAt)
  }

  /** What was counted. */
  all(): readonly KindCount[] {
    const all: KindCount[] = []
    for (const kinds of this.#byNamespace.values()) for (const count of kinds.values()) all.push(count)
    return all
  }

  #of(namespace: string, kind: string): Count {
    let kinds = this.#byNamespace.get(namespace)
    if (kinds === undefined) this.#byNamespace.set(namespace, (kinds = new Map()))
    let count = kinds.get(kind)
    if (count === undefined) {
      const counts = new Array<number>(Math.max(0, this.#query.edges.length - 1)).fill(0)
      count = { namespace, kind, counts, attempted: 0, firstDueAt: Infinity }
      kinds.set(kind, count)
    }
    return count
  }
}

/** The slice of an instant; undefined if it is in none. */
function sliceOf(edges: readonly number[], at: number): number | undefined {
  if (edges.length < 2 || at < edges[0]! || at >= edges.at(-1)!) return undefined
  let low = 0
  let high = edges.length - 1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (edges[middle]! <= at) low = middle
    else high = middle
  }
  return low
}
