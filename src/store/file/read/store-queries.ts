import type { Clock } from '../../../time/index.js'
import type { TimerRow } from '../../../timer/index.js'
import type { HistogramQuery, Listed, ListQuery, Usage } from '../../store.js'
import { readDefaults } from '../defaults.js'
import type { Batch } from '../lmdb/batch.js'
import type { Bucket } from '../rows/bucket.js'
import type { RowTable } from '../rows/row-table.js'
import { listCursorOf, listPage, type RowLister } from './row-lister.js'
import { TimeBudget } from './time-budget.js'

/** Applies a read in its turn among the store's calls, after `prepare`. */
type Read = <Answer>(apply: () => Answer, prepare: (batch: Batch) => void) => Promise<Answer>

/**
 * Queries that may look at every row of the store: lists, histograms, counts, usage. Each works in short turns, so
 * other calls do not wait for all of it.
 */
export class StoreQueries {
  readonly #read: Read
  readonly #table: RowTable
  readonly #lister: RowLister
  readonly #clock: Clock

  constructor(read: Read, table: RowTable, lister: RowLister, clock: Clock) {
    this.#read = read
    this.#table = table
    this.#lister = lister
    this.#clock = clock
  }

  async list(query: ListQuery): Promise<Listed<TimerRow>> {
    const budget = new TimeBudget(this.#clock, query.budgetMs)
    const items: TimerRow[] = []
    let from = listCursorOf(query.cursor, this.#table.buckets.length)
    for (;;) {
      const next = await this.#read(() => this.#lister.listStep(query, from, items, budget), this.#sealChunks)
      if (next === undefined || next.isOver === true) return listPage(items, next)
      from = next
    }
  }

  async histogram(query: HistogramQuery): Promise<readonly number[]> {
    const slices = new Array<number>(
      Math.ceil((query.untilExclusive - query.fromInclusive) / query.sliceMs),
    ).fill(0)
    await this.#eachBucket((bucket) => this.#lister.addToHistogram(slices, bucket, query))
    return slices
  }

  /** The number of live rows in each shard. */
  async rowsByShard(): Promise<readonly number[]> {
    const rows = this.#table.buckets.map(() => 0)
    await this.#eachBucket((bucket) => (rows[bucket.shard]! += this.#lister.countIn(bucket)))
    return rows
  }

  async usage(namespace: string): Promise<Usage> {
    const usage = { timers: 0, bytes: 0 }
    await this.#eachBucket((bucket) => this.#lister.addUsage(usage, bucket, namespace))
    return usage
  }

  async #eachBucket(visit: (bucket: Bucket) => void): Promise<void> {
    const buckets = await this.#read(
      () => this.#table.buckets.flatMap((table) => table.all()),
      this.#sealChunks,
    )
    for (let at = 0; at < buckets.length;) {
      await this.#read(() => {
        for (let rows = 0; at < buckets.length && rows < readDefaults.rowsPerTurn; at++) {
          rows += buckets[at]!.rows + readDefaults.rowsPerBucket
          visit(buckets[at]!)
        }
      }, this.#sealChunks)
    }
  }

  /** Rows of a chunk can be read in order only once the chunk is sealed. */
  readonly #sealChunks = (batch: Batch): void => {
    this.#table.join(batch)
    this.#table.seal()
  }
}
