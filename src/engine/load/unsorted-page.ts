import type { RowPage } from '../../store/index.js'
import type { TimerRow } from '../../timer/index.js'

/** A page that rows are added to one by one, in any order, until it is full. */
export class UnsortedPage implements RowPage {
  static readonly CAPACITY = 1024
  readonly size = UnsortedPage.CAPACITY
  readonly positions = new Float64Array(UnsortedPage.CAPACITY)
  readonly revisions = new Float64Array(UnsortedPage.CAPACITY)
  readonly dueAts = new Float64Array(UnsortedPage.CAPACITY)
  readonly #rows: TimerRow[] = []

  get bytes(): number {
    return 0
  }

  get isFull(): boolean {
    return this.#rows.length === UnsortedPage.CAPACITY
  }

  add(row: TimerRow): number {
    const index = this.#rows.length
    this.#rows.push(row)
    this.positions[index] = row.position
    this.revisions[index] = row.revision
    this.dueAts[index] = row.dueAt
    return index
  }

  row(index: number): TimerRow {
    return this.#rows[index]!
  }
}
