import { setImmediate as atTurnEnd } from 'node:timers'
import { StoreError } from '../../error/index.js'
import { isBefore, type Place } from '../../timer/index.js'
import { type Bucket, bucketLayout } from './bucket.js'
import { parseChunkKey } from './chunk-key.js'
import type { Environment } from './environment.js'
import type { RowTable } from './row-table.js'

const ROWS_PER_TURN = 10_000

/** How far opening has got. */
export interface OpenProgress {
  readonly indexedRows: number
  readonly rows: number
}

/**
 * Finds out at open which chunks there are, from their keys alone, and then reads them, the near ones first, to
 * learn which rows are dead and to fill the key index. A bucket that is needed earlier is read when it is needed.
 */
export class IndexBuilder {
  /** Resolves when every name can be found. */
  readonly done: Promise<void>
  readonly #environment: Environment
  readonly #table: RowTable
  readonly #settledLevel: (shard: number) => Place
  #finish: () => void = () => undefined
  #fail: (error: unknown) => void = () => undefined
  #isDone = false
  #isStopped = false
  #rows = 0
  #indexedRows = 0

  constructor(environment: Environment, table: RowTable, settledLevel: (shard: number) => Place) {
    this.#environment = environment
    this.#table = table
    this.#settledLevel = settledLevel
    this.done = new Promise((resolve, reject) => {
      this.#finish = resolve
      this.#fail = reject
    })
    // Whoever waits hears of a failure; that nobody does is no failure of its own.
    this.done.catch(() => undefined)
  }

  get isDone(): boolean {
    return this.#isDone
  }

  /** Reads the keys of all chunks. */
  readKeys(): void {
    const { chunks, buckets } = this.#table
    for (const bytes of this.#environment.tables.chunks.getKeys()) {
      const key = parseChunkKey(bytes)
      const table = key === undefined ? undefined : buckets[key.shard]
      if (key === undefined || table === undefined || key.level >= bucketLayout.levels) {
        throw new StoreError(
          'store-damaged',
          `${this.#environment.folder} has a chunk under the key ${Buffer.from(bytes).toString('hex')}`,
        )
      }
      const bucket = table.make(key.level, key.index)
      bucket.isIndexed = false
      const ref = chunks.add(bucket, key.id)
      chunks.indexed[ref] = 0
      chunks.describe(ref, key.rows, key.removals, key.bytes)
      if (key.id > this.#table.lastChunk) this.#table.lastChunk = key.id
      this.#rows += key.rows
    }
  }

  /** Reads the rest, a little each turn. */
  async run(onProgress: (progress: OpenProgress) => void): Promise<void> {
    try {
      const all = this.#table.buckets.flatMap((buckets) => buckets.all())
      all.sort((a, b) => a.start - b.start)
      let last = 0
      for (const bucket of all) {
        for (const _ of this.#steps(bucket)) {
          if (this.#indexedRows - last < ROWS_PER_TURN) continue
          last = this.#indexedRows
          onProgress({ indexedRows: last, rows: this.#rows })
          await new Promise<void>((resolve) => void atTurnEnd(resolve))
          if (this.#isStopped) return
          this.#table.look()
        }
      }
      this.#isDone = true
      onProgress({ indexedRows: this.#rows, rows: this.#rows })
      this.#finish()
    } catch (error) {
      this.#fail(error)
    }
  }

  stop(): void {
    this.#isStopped = true
    if (!this.#isDone)
      this.#fail(new StoreError('store-unavailable', 'the file store was stopped while opening'))
  }

  /** Reads a bucket now, if it was not read before. */
  readonly index = (bucket: Bucket): void => {
    if (bucket.isIndexed) return
    for (const _ of this.#steps(bucket));
  }

  /** Reads the buckets that a row at this position may lie in. */
  indexAt(shard: number, position: number): void {
    if (this.#isDone) return
    for (const bucket of this.#table.buckets[shard]!.overlapping(position, position + 1)) this.index(bucket)
  }

  *#steps(bucket: Bucket): Generator<void, void, undefined> {
    if (bucket.isIndexed) return
    const { chunks } = this.#table
    const level = this.#settledLevel(bucket.shard)
    const refs = bucket.refs.filter((ref) => chunks.indexed[ref] === 0)
    // All of the bucket's removals first: they may stand in any chunk after the row they remove.
    const removed = new Set<number>()
    for (const ref of refs) {
      if (chunks.removals[ref] === 0) continue
      const chunk = this.#table.peek(ref)
      for (let i = 0; i < chunk.removals; i++) removed.add(chunk.removal(i))
    }
    for (const ref of refs) {
      // It may have been read, or swept away, between two steps.
      if (!chunks.has(ref) || chunks.indexed[ref] !== 0) continue
      this.#indexChunk(ref, removed, bucket.endExclusive <= level.position ? undefined : level)
      chunks.indexed[ref] = 1
      yield
    }
    bucket.isIndexed = true
  }

  /** Without a level every row of it is settled. */
  #indexChunk(ref: number, removed: ReadonlySet<number>, level: Place | undefined): void {
    const { chunks, hash, index } = this.#table
    const rows = chunks.rows[ref]!
    this.#indexedRows += rows
    if (level === undefined || rows === 0) return
    const chunk = this.#table.peek(ref)
    if (chunk.rows !== rows)
      throw new StoreError('store-damaged', `a chunk has ${chunk.rows} rows, not ${rows}`)
    for (let ordinal = 0; ordinal < rows; ordinal++) {
      const revision = chunk.revision(ordinal)
      if (removed.size > 0 && removed.has(revision)) {
        chunks.kill(ref, ordinal)
        continue
      }
      if (isBefore({ position: chunk.position(ordinal), revision }, level)) continue
      this.#table.hashRow(chunk, ordinal)
      index.insert(hash.low, hash.high, ref, ordinal)
    }
  }
}
