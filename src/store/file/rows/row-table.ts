import {
  isBefore,
  type Place,
  type TimerContent,
  type TimerName,
  type TimerProgress,
  type TimerRow,
} from '../../../timer/index.js'
import type { Batch } from '../lmdb/batch.js'
import { type Bucket, bucketIndexOf, levelForDistance } from './bucket.js'
import { BucketTable } from './bucket-table.js'
import { Chunk, identityOf, isNamed, keyAt, type RowSource, rowOf } from './chunk.js'
import { chunkLayout } from './chunk-layout.js'
import { ChunkBuilder } from './chunk-builder.js'
import { chunkKeyBytes, writeChunkKey } from './chunk-key.js'
import { ChunkTable } from './chunk-table.js'
import type { Environment } from '../lmdb/environment.js'
import { UndoLog } from './undo-log.js'
import { KeyIndex } from '../../names/key-index.js'
import { NameHash } from '../../names/name-hash.js'
import { WriteOnceBuffers } from '../lmdb/write-once-buffers.js'
import type { SetColumns } from '../../set-columns.js'
import type { Tuning } from '../defaults.js'

/** Is called for each chunk that is sealed. */
export interface ChunkListener {
  chunkAdded(bucket: Bucket, ref: number): void
}

/**
 * The rows of all shards, packed into chunks by time and found by name through the key index. A change takes effect in
 * memory at once and joins a batch. Until the batch is durable, its chunks are read from memory.
 *
 * `find` moves a cursor to a row. `row`, `identity`, `kill` and `put` then work on it. A cursor needs no object per
 * timer, and this code runs for every timer.
 *
 * Proven by the random model that test/store/file/contract.test.ts runs, once with small sizes, and by
 * test/store/file/failed-commit.test.ts.
 */
export class RowTable {
  readonly chunks = new ChunkTable()
  readonly index = new KeyIndex()
  /** The finished rows that were there when the store was opened. They are found only if `index` lacks the name. */
  readonly finished = new KeyIndex()
  readonly tuning: Tuning
  readonly hash: NameHash
  readonly buckets: readonly BucketTable[]
  readonly listeners: ChunkListener[]
  lastChunkId = 0

  // The cursor: the row that `find` found.
  position = 0
  revision = 0
  #ref = -1
  #ordinal = 0
  #source: RowSource | undefined
  /** Whether the index has an entry that the name can use: its own, or that of a settled row. */
  #hasEntry = false

  readonly #environment: Environment
  readonly #pending = new Map<number, Chunk>()
  readonly #builders: ChunkBuilder[] = []
  readonly #spare: ChunkBuilder[] = []
  readonly #buffers = new WriteOnceBuffers()
  readonly #key = Buffer.alloc(chunkKeyBytes)
  #peekedChunk: Chunk | undefined
  #peekedRef = -1
  #batch: Batch | undefined
  #undoLog = new UndoLog()
  #lastBucket: Bucket | undefined

  constructor(environment: Environment, shardCount: number, seed: number, tuning: Tuning) {
    this.#environment = environment
    this.tuning = tuning
    this.hash = new NameHash(seed)
    this.buckets = Array.from({ length: shardCount }, (_, shard) => new BucketTable(shard))
    this.listeners = []
  }

  /** Every call that changes rows first names its batch. */
  join(batch: Batch): void {
    this.#peekedRef = -1
    if (this.#batch === batch) return
    this.#batch = batch
    const undoLog = (this.#undoLog = new UndoLog())
    batch.onUndo(() => undoLog.undo(this.index, this.chunks))
    batch.onSeal(() => this.seal())
  }

  /** Forgets the peeked chunk. Reads outside a batch start with this: other reads may have reused its bytes. */
  dropPeeked(): void {
    this.#peekedRef = -1
  }

  /** Every chunk up to this id is sealed. */
  get lastSealedId(): number {
    let last = this.lastChunkId
    for (const { ref } of this.#builders) last = Math.min(last, this.chunks.ids[ref]! - 1)
    return last
  }

  /** Whether there may be rows of this namespace, and of this kind if it is given. */
  hasScope(namespace: string, kind: string | undefined): boolean {
    if (this.chunks.scopes.has(namespace, kind)) return true
    return this.#builders.some(({ scopes }) =>
      scopes.some((scope) => scope.namespace === namespace && (kind ?? scope.kind) === scope.kind),
    )
  }

  /** Moves the cursor to the row of this name. Returns false if there is none at or above `level`. */
  find(name: TimerName, level: Place): boolean {
    const { hash, index, chunks } = this
    hash.set(name)
    this.#hasEntry = false
    for (let isThere = index.first(hash.low, hash.high); isThere; isThere = index.next()) {
      const { ref, ordinal } = index
      const isOver = !chunks.has(ref) || chunks.bucketOf(ref).endExclusive <= level.position
      if (isOver) {
        // The row is settled, whatever its name: its entry can be reused.
        this.#hasEntry = true
        return false
      }
      const source = this.source(ref)
      if (!isNamed(source, ordinal, name)) continue
      this.#hasEntry = true
      this.#source = source
      this.#ref = ref
      this.#ordinal = ordinal
      this.position = source.position(ordinal)
      this.revision = source.revision(ordinal)
      return !isBefore(this, level)
    }
    return false
  }

  /** Moves the cursor to the finished row of this name. Returns false if there is none below `level`. */
  findSettled(name: TimerName, level: Place): boolean {
    this.hash.set(name)
    if (this.#findIn(this.index, name)) return isBefore(this, level)
    return this.#findIn(this.finished, name) && isBefore(this, level)
  }

  /** Moves the cursor to the last version of a row of this name that an index has. */
  #findIn(index: KeyIndex, name: TimerName): boolean {
    const { hash, chunks } = this
    let isFound = false
    for (let isThere = index.first(hash.low, hash.high); isThere; isThere = index.next()) {
      const { ref, ordinal } = index
      if (!chunks.has(ref) || chunks.isDead(ref, ordinal)) continue
      const source = this.source(ref)
      // The ref may have been reused since the store was opened.
      if (ordinal >= source.rows || !isNamed(source, ordinal, name)) continue
      const revision = source.revision(ordinal)
      if (isFound && revision < this.revision) continue
      isFound = true
      this.#source = source
      this.#ref = ref
      this.#ordinal = ordinal
      this.position = source.position(ordinal)
      this.revision = revision
    }
    if (isFound) this.#source = this.source(this.#ref)
    return isFound
  }

  /** The identity of the row at the cursor. */
  identity(): number {
    return identityOf(this.#source!, this.#ordinal)
  }

  /** The row at the cursor, with a copy of its payload. */
  row(): TimerRow {
    return rowOf(this.#source!, this.#ordinal, true)
  }

  /** Writes a row under the name that `find` looked for. If `find` returned true, `kill` the old row first. */
  put(
    shard: number,
    content: TimerContent,
    progress: TimerProgress,
    position: number,
    revision: number,
    now: number,
  ): void {
    const builder = this.#builderOf(this.#bucketFor(shard, position, now))
    this.#added(builder, builder.add(content, progress, position, revision, this.hash.isAscii))
  }

  /** The same for one of the plain sets of a call, from its columns. */
  putPlain(
    shard: number,
    sets: SetColumns,
    at: number,
    position: number,
    revision: number,
    now: number,
  ): void {
    const builder = this.#builderOf(this.#bucketFor(shard, position, now))
    this.#added(builder, builder.addPlain(sets, at, position, revision, this.hash.isAscii))
  }

  /** Lets the name that `find` looked for lead to this row. */
  #added(builder: ChunkBuilder, ordinal: number): void {
    const { hash, index } = this
    const { ref } = builder
    if (this.#hasEntry) {
      this.#undoLog.entry(hash.low, hash.high, ref + 1, ordinal, index.ref + 1, index.ordinal)
      index.replace(ref, ordinal)
    } else {
      this.#undoLog.entry(hash.low, hash.high, ref + 1, ordinal, 0, 0)
      index.add(ref, ordinal)
    }
    if (builder.isFull) this.#sealFull(builder)
  }

  /** Marks the row at the cursor as dead. Call `put` or `forgetName` next, for its name. */
  kill(): void {
    const ref = this.#ref
    const ordinal = this.#ordinal
    this.chunks.kill(ref, ordinal)
    this.#undoLog.kill(ref, ordinal)
    const builder = this.#builderOf(this.chunks.bucketOf(ref))
    builder.removals.push(this.revision)
    if (builder.isFull) this.#sealFull(builder)
  }

  forgetName(): void {
    const { hash, index } = this
    this.#undoLog.entry(hash.low, hash.high, 0, 0, index.ref + 1, index.ordinal)
    index.remove()
    this.#hasEntry = false
  }

  /** Copies a row of a chunk that is being rewritten. If the index has the row, its entry follows. */
  copy(sourceOf: RowSource, ref: number, ordinal: number, bucket: Bucket): void {
    const { index, hash } = this
    const builder = this.#builderOf(bucket)
    const copied = builder.addCopy(sourceOf, ordinal)
    this.hashRow(sourceOf, ordinal)
    if (index.firstOf(hash.low, hash.high, ref, ordinal)) {
      this.#undoLog.entry(hash.low, hash.high, builder.ref + 1, copied, ref + 1, ordinal)
      index.replace(builder.ref, copied)
    } else if (this.finished.size > 0 && this.finished.firstOf(hash.low, hash.high, ref, ordinal)) {
      this.finished.replace(builder.ref, copied)
    }
    if (builder.isFull) this.#sealFull(builder)
  }

  hashRow(source: RowSource, ordinal: number): void {
    hashRow(this.hash, source, ordinal)
  }

  /** The rows of a chunk, open or sealed. Valid until the next read of a chunk. */
  source(ref: number): RowSource {
    const { builder } = this.chunks.bucketOf(ref)
    if (builder !== undefined && builder.ref === ref) return builder
    return this.#pending.get(ref) ?? this.peekChunk(ref)
  }

  /** A sealed chunk. Valid until the next read of a chunk. */
  peekChunk(ref: number): Chunk {
    const pending = this.#pending.get(ref)
    if (pending !== undefined) return pending
    if (this.#peekedRef === ref) return this.#peekedChunk!
    this.#peekedRef = -1
    const peek = this.#environment.peekChunk(this.#keyOf(ref, this.#key), this.#peekedChunk)
    this.#peekedChunk = peek
    this.#peekedRef = ref
    return peek
  }

  /** A sealed chunk that the caller may keep. */
  keepChunk(ref: number): Chunk {
    const pending = this.#pending.get(ref)
    if (pending !== undefined) return pending
    const peek = this.peekChunk(ref)
    const bytes = this.#buffers.take(peek.length)
    bytes.set(peek.bytes.subarray(0, peek.length))
    return new Chunk(bytes)
  }

  /** Removes a chunk in this batch. */
  removeChunk(batch: Batch, ref: number): void {
    const { chunks } = this
    batch.remove('chunks', this.#keyOf(ref, Buffer.allocUnsafe(chunkKeyBytes)))
    chunks.detach(ref)
    batch.onUndo(() => chunks.restore(ref))
    batch.onCommitted(() => chunks.retire(ref))
  }

  /** Seals every open chunk. */
  seal(): void {
    for (const builder of this.#builders) {
      const bucket = builder.bucket!
      if (builder.isEmpty) this.chunks.discard(builder.ref)
      else this.#sealBuilder(builder)
      bucket.builder = undefined
      builder.ref = -1
      this.#spare.push(builder)
    }
    this.#builders.length = 0
    this.#lastBucket = undefined
  }

  #bucketFor(shard: number, position: number, now: number): Bucket {
    const level = levelForDistance(position - now)
    const last = this.#lastBucket
    if (
      last !== undefined &&
      last.level === level &&
      last.shard === shard &&
      position >= last.start &&
      position < last.endExclusive
    )
      return last
    return (this.#lastBucket = this.buckets[shard]!.getOrCreate(level, bucketIndexOf(level, position)))
  }

  #builderOf(bucket: Bucket): ChunkBuilder {
    if (bucket.builder !== undefined) return bucket.builder
    const builder = this.#spare.pop() ?? new ChunkBuilder()
    this.#builders.push(builder)
    builder.begin(bucket, this.#newChunk(bucket))
    bucket.builder = builder
    return builder
  }

  #newChunk(bucket: Bucket): number {
    return this.chunks.add(bucket, ++this.lastChunkId)
  }

  /** Seals a full chunk and begins a new one. */
  #sealFull(builder: ChunkBuilder): void {
    this.#sealBuilder(builder)
    builder.begin(builder.bucket!, this.#newChunk(builder.bucket!))
  }

  #sealBuilder(builder: ChunkBuilder): void {
    const batch = this.#batch!
    const { ref } = builder
    const bucket = builder.bucket!
    const { rows } = builder
    const removals = builder.removals.length
    this.chunks.summarize(ref, builder.scopes, builder.dueFrom, builder.dueTo)
    const bytes = builder.seal(this.#buffers)
    this.chunks.describe(ref, rows, removals, bytes.length)
    this.#pending.set(ref, new Chunk(bytes))
    batch.put('chunks', this.#keyOf(ref, Buffer.allocUnsafe(chunkKeyBytes)), bytes)
    batch.onCommitted(() => this.#pending.delete(ref))
    batch.onUndo(() => {
      this.#pending.delete(ref)
      this.chunks.detach(ref)
      this.chunks.retire(ref)
    })
    for (const listener of this.listeners) listener.chunkAdded(bucket, ref)
  }

  #keyOf(ref: number, into: Buffer): Buffer {
    const { chunks } = this
    const { shard, level, index } = chunks.bucketOf(ref)
    return writeChunkKey(
      into,
      shard,
      level,
      index,
      chunks.ids[ref]!,
      chunks.rows[ref]!,
      chunks.removals[ref]!,
      chunks.bytes[ref]!,
    )
  }
}

function hashRow(hash: NameHash, source: RowSource, ordinal: number): void {
  const tail = source.tail(ordinal)
  const scope = source.scopes[source.view.getUint16(tail + 1, true)]!
  const at = keyAt(source, tail)
  const length = source.view.getUint16(tail + 3, true)
  if ((source.bytes[tail]! & chunkLayout.WIDE) === 0)
    hash.setBytes(scope.namespace, scope.kind, source.bytes, at, length)
  else hash.set({ ...scope, key: source.bytes.toString('utf8', at, at + length) })
}
