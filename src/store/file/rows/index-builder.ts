import { setImmediate as atTurnEnd } from 'node:timers'
import { StoreError } from '../../../error/index.js'
import { isBefore, type Place } from '../../../timer/index.js'
import { openDefaults } from '../defaults.js'
import { type Bucket, bucketLayout } from './bucket.js'
import { displacedDueAtOf } from './chunk.js'
import { parseChunkKey } from './chunk-key.js'
import type { Environment } from '../lmdb/environment.js'
import type { RowTable } from './row-table.js'

/** How far opening has got. */
export interface OpenProgress {
  readonly indexedRows: number
  readonly rows: number
}

/**
 * Builds the key index at open. First it lists the chunks, from their keys alone. Then it reads the chunks, the near
 * ones first, to learn which rows are dead and to index the rest. A bucket that is needed earlier is read at once.
 *
 * Proven by the reopen cases that test/store/file/contract.test.ts runs, and by test/store/file/file-store.test.ts.
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
    // Calls that wait get the error. Without them it must not count as an unhandled rejection.
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
          `${this.#environment.folder} has a chunk with the invalid key ${Buffer.from(bytes).toString('hex')}`,
        )
      }
      const bucket = table.getOrCreate(key.level, key.index)
      bucket.isIndexed = false
      const ref = chunks.add(bucket, key.id)
      chunks.indexed[ref] = 0
      chunks.describe(ref, key.rows, key.removals, key.bytes)
      if (key.id > this.#table.lastChunkId) this.#table.lastChunkId = key.id
      this.#rows += key.rows
    }
  }

  /** Reads all chunks, some in each turn of the event loop. */
  async run(onProgress: (progress: OpenProgress) => void): Promise<void> {
    try {
      const all = this.#table.buckets.flatMap((buckets) => buckets.all())
      all.sort((a, b) => a.start - b.start)
      let last = 0
      for (const bucket of all) {
        for (const _ of this.#indexSteps(bucket)) {
          if (this.#indexedRows - last < openDefaults.indexedRowsPerTurn) continue
          last = this.#indexedRows
          onProgress({ indexedRows: last, rows: this.#rows })
          await new Promise<void>((resolve) => void atTurnEnd(resolve))
          if (this.#isStopped) return
          this.#table.dropPeeked()
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
      this.#fail(new StoreError('store-unavailable', 'the file store was stopped before it was fully open'))
  }

  /** Indexes a bucket now, if it is not indexed yet. */
  readonly ensureIndexed = (bucket: Bucket): void => {
    if (bucket.isIndexed) return
    for (const _ of this.#indexSteps(bucket));
  }

  /** Indexes the buckets that may contain a row at this position. */
  ensureIndexedAt(shard: number, position: number): void {
    if (this.#isDone) return
    for (const bucket of this.#table.buckets[shard]!.overlapping(position, position + 1))
      this.ensureIndexed(bucket)
  }

  *#indexSteps(bucket: Bucket): Generator<void, void, undefined> {
    if (bucket.isIndexed) return
    const { chunks } = this.#table
    const level = this.#settledLevel(bucket.shard)
    const refs = bucket.refs.filter((ref) => chunks.indexed[ref] === 0)
    // Collect the bucket's removals first: each may be in any chunk after the row that it removes.
    const removed = new Set<number>()
    for (const ref of refs) {
      if (chunks.removals[ref] === 0) continue
      const chunk = this.#table.peekChunk(ref)
      for (let i = 0; i < chunk.removals; i++) removed.add(chunk.removal(i))
    }
    for (const ref of refs) {
      // Another call may have indexed or swept the chunk between two steps.
      if (!chunks.has(ref) || chunks.indexed[ref] !== 0) continue
      this.#indexChunk(ref, removed, level)
      chunks.indexed[ref] = 1
      yield
    }
    bucket.isIndexed = true
  }

  /** Indexes the rows of a chunk. Finished rows have an index of their own. */
  #indexChunk(ref: number, removed: ReadonlySet<number>, level: Place): void {
    const { chunks, hash, index, finished } = this.#table
    const rows = chunks.rows[ref]!
    this.#indexedRows += rows
    if (rows === 0) {
      chunks.summarize(ref, [], Infinity, -Infinity)
      return
    }
    const chunk = this.#table.peekChunk(ref)
    if (chunk.rows !== rows)
      throw new StoreError('store-damaged', `a chunk has ${chunk.rows} rows, but its key says ${rows}`)
    let dueFrom = Infinity
    let dueTo = -Infinity
    for (let ordinal = 0; ordinal < rows; ordinal++) {
      const revision = chunk.revision(ordinal)
      if (removed.size > 0 && removed.has(revision)) {
        chunks.kill(ref, ordinal)
        continue
      }
      const dueAt = displacedDueAtOf(chunk, ordinal)
      if (dueAt !== undefined) {
        dueFrom = Math.min(dueFrom, dueAt)
        dueTo = Math.max(dueTo, dueAt)
      }
      const isFinished = isBefore({ position: chunk.position(ordinal), revision }, level)
      this.#table.hashRow(chunk, ordinal)
      if (isFinished) finished.insert(hash.low, hash.high, ref, ordinal)
      else index.insert(hash.low, hash.high, ref, ordinal)
    }
    chunks.summarize(ref, chunk.scopes, dueFrom, dueTo)
  }
}
