import type { Clock } from '../../../time/index.js'
import { firstPlace, laterOf, type Place, type TimerRow } from '../../../timer/index.js'
import { KindCounter } from '../../kind-counter.js'
import { lastPage, type ListStart, listStartOf, pageBefore } from '../../list-cursor.js'
import type { HistogramQuery, KindCount, KindCountQuery, ListedRows, ListQuery, Usage } from '../../store.js'
import { readDefaults } from '../defaults.js'
import type { Batch } from '../lmdb/batch.js'
import type { Bucket } from '../rows/bucket.js'
import type { RowTable } from '../rows/row-table.js'
import { ListScan, type Scanned } from './list-scan.js'
import { stretchFrom } from './list-stretch.js'
import type { RowLister } from './row-lister.js'
import { RowMatcher } from './row-matcher.js'

/** Applies a read in its turn among the store's calls, after `prepare`. */
type Read = <Answer>(apply: () => Answer, prepare?: (batch: Batch) => void) => Promise<Answer>

/** Applies a step of a read in a turn of its own, without waiting for commits. */
type Look = <Answer>(step: () => Answer) => Promise<Answer>

/**
 * Queries that may look at every row of the store: lists, histograms, counts, usage. Each works in short turns, so
 * other calls do not wait for all of it.
 */
export class StoreQueries {
  readonly #read: Read
  readonly #table: RowTable
  readonly #lister: RowLister
  readonly #clock: Clock
  readonly #look: Look
  readonly #settledLevel: (shard: number) => Place
  #undone = 0

  constructor(parts: {
    read: Read
    look: Look
    table: RowTable
    lister: RowLister
    settledLevel: (shard: number) => Place
    clock: Clock
  }) {
    const { read, look, table, lister, settledLevel, clock } = parts
    this.#read = read
    this.#look = look
    this.#settledLevel = settledLevel
    this.#table = table
    this.#lister = lister
    this.#clock = clock
  }

  /**
   * A list goes through the shards in stretches of time. The steps of a stretch do not wait for commits. Its last step
   * does, so that the rows of the page are durable.
   */
  async list(query: ListQuery): Promise<ListedRows> {
    const { signal, limit, budgetMs = Infinity } = query
    const until = this.#clock.monotonic() + budgetMs
    const matcher = new RowMatcher(query)
    const items: TimerRow[] = []
    const start = listStartOf(query.cursor, this.#table.buckets.length)
    let { shard, place } = start
    let lookedAt = 0
    let passedBy = start.looked
    let mostRows: number = readDefaults.minListedRows
    signal?.throwIfAborted()
    while (shard < this.#table.buckets.length) {
      const from = { shard, place }
      const { rows, next, looked, passed } = await this.#listStretch(
        query,
        from,
        matcher,
        mostRows,
        limit - items.length,
      )
      lookedAt += looked
      passedBy += passed
      signal?.throwIfAborted()
      for (const row of rows) items.push(row)
      shard = next === undefined ? shard + 1 : shard
      place = next ?? firstPlace
      if (shard === this.#table.buckets.length) break
      const isFull = items.length === limit && next?.revision !== undefined && next.revision > 0
      // A small store has no short pages, however slow the machine is.
      const isOut = lookedAt >= readDefaults.minBudgetedRows && this.#clock.monotonic() >= until
      if (isFull || isOut) {
        return pageBefore({ shard, place, looked: passedBy }, items, isFull)
      }
      // Rows that match are rare: read more at a time.
      if (2 * looked >= mostRows) mostRows = Math.min(4 * mostRows, readDefaults.maxListedRows)
    }
    return lastPage(items, passedBy)
  }

  async #listStretch(
    query: ListQuery,
    { shard, place }: Pick<ListStart, 'shard' | 'place'>,
    matcher: RowMatcher,
    mostRows: number,
    most: number,
  ): Promise<Scanned> {
    for (;;) {
      const undone = this.#undone
      const scan = await this.#look(() => {
        if (!this.#table.hasScope(query.namespace, query.kind)) return undefined
        const level = laterOf(place, this.#settledLevel(shard))
        const stretch = stretchFrom(this.#table, shard, level, matcher, mostRows)
        return stretch && new ListScan(this.#table, shard, level, stretch, matcher, most)
      })
      const isOver = (): boolean => scan === undefined || !scan.step(this.#table.tuning.listedRows)
      while (!(await this.#look(isOver))) query.signal?.throwIfAborted()
      const found = await this.#read(
        () => scan?.finish() ?? { rows: [], next: undefined, looked: 0, passed: 0 },
      )
      // Rows that were gone in a batch that failed are there again, and the scan may have missed them.
      if (undone === this.#undone) return found
    }
  }

  /** Is called after a batch was undone. */
  afterUndo(): void {
    this.#undone++
  }

  async histogram(query: HistogramQuery): Promise<readonly number[]> {
    const slices = new Array<number>(
      Math.ceil((query.untilExclusive - query.fromInclusive) / query.sliceMs),
    ).fill(0)
    await this.#eachBucket((bucket) => this.#lister.addToHistogram(slices, bucket, query))
    return slices
  }

  async countKinds(query: KindCountQuery): Promise<readonly KindCount[]> {
    const counter = new KindCounter(query)
    await this.#eachBucket((bucket) => this.#lister.addKinds(counter, bucket))
    return counter.all()
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
