import { isBefore, laterOf, levelAt, type Place } from '../../timer/index.js'
import type { ListQuery } from '../store.js'
import type { MemoryRow } from './memory-row.js'
import { OrderedRows } from './ordered-rows.js'

/**
 * What lets a list skip rows: how many rows each namespace and kind has, and the rows whose position is not their due
 * time. All other rows of a due window lie in the window.
 */
export class ListIndex {
  readonly #displaced = new OrderedRows<MemoryRow>()
  readonly #kinds = new Map<string, Map<string, number>>()

  add(row: MemoryRow): void {
    this.#count(row, 1)
    if (row.dueAt !== row.position) this.#displaced.add(row)
  }

  remove(row: MemoryRow): void {
    this.#count(row, -1)
    if (row.dueAt !== row.position) this.#displaced.remove(row)
  }

  /** Whether any row has this namespace, and this kind if it is given. */
  has({ namespace, kind }: Pick<ListQuery, 'namespace' | 'kind'>): boolean {
    const kinds = this.#kinds.get(namespace)
    return kinds !== undefined && (kind === undefined || kinds.has(kind))
  }

  /** The rows from `level` on that may be in the query's due window, in order. */
  *inWindow(
    rows: OrderedRows<MemoryRow>,
    level: Place,
    { dueFromInclusive = 0, dueUntilExclusive = Infinity }: ListQuery,
  ): Generator<MemoryRow, void, undefined> {
    const from = levelAt(dueFromInclusive)
    if (isBefore(level, from)) yield* until(this.#displaced.from(level), dueFromInclusive)
    const inside = laterOf(level, from)
    yield* until(rows.from(inside), dueUntilExclusive)
    if (dueUntilExclusive < Infinity) yield* this.#displaced.from(laterOf(inside, levelAt(dueUntilExclusive)))
  }

  #count({ namespace, kind }: MemoryRow, by: 1 | -1): void {
    let kinds = this.#kinds.get(namespace)
    if (kinds === undefined) this.#kinds.set(namespace, (kinds = new Map()))
    const count = (kinds.get(kind) ?? 0) + by
    if (count > 0) kinds.set(kind, count)
    else if (kinds.delete(kind) && kinds.size === 0) this.#kinds.delete(namespace)
  }
}

function* until(
  rows: Generator<MemoryRow, void, undefined>,
  position: number,
): Generator<MemoryRow, void, undefined> {
  for (const row of rows) {
    if (row.position >= position) return
    yield row
  }
}
