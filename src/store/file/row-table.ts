import {
  isBefore,
  type Place,
  type TimerContent,
  type TimerName,
  type TimerProgress,
  type TimerRow,
} from '../../timer/index.js'
import type { Batch } from './batch.js'
import { type Bucket, bucketIndexOf, levelForDistance } from './bucket.js'
import { BucketTable } from './bucket-table.js'
import { Chunk, identityOf, isNamed, keyAt, type RowSource, rowOf } from './chunk.js'
import { chunkLayout } from './chunk-layout.js'
import { ChunkBuilder } from './chunk-builder.js'
import { chunkKeyBytes, writeChunkKey } from './chunk-key.js'
import { ChunkTable } from './chunk-table.js'
import type { Environment } from './environment.js'
import { Journal } from './journal.js'
import { KeyIndex } from './key-index.js'
import { NameHash } from './name-hash.js'
import { Slab } from './slab.js'
import type { Tuning } from './tuning.js'

/** Hears of chunks as they are written. */
export interface ChunkListener {
  chunkAdded(bucket: Bucket, ref: number): void
}

/**
 * The rows of all shards: packed into chunks by time, found by name through the key index. Changes go into
 * memory at once and into a batch; what a batch has not yet made durable is read from memory.
 */
export class RowTable {
  readonly chunks = new ChunkTable()
  readonly index = new KeyIndex()
  readonly tuning: Tuning
  readonly hash: NameHash
  readonly buckets: readonly BucketTable[]
  readonly listeners: ChunkListener[]
  lastChunk = 0

  // What `find` found.
  position = 0
  revision = 0
  #ref = -1
  #ordinal = 0
  #source: RowSource | undefined
  /** Whether the index is at an entry for the name, be it of a settled row. */
  #hasEntry = false

  readonly #environment: Environment
  readonly #pending = new Map<number, Chunk>()
  readonly #builders: ChunkBuilder[] = []
  readonly #spare: ChunkBuilder[] = []
  readonly #slab = new Slab()
  readonly #key = Buffer.alloc(chunkKeyBytes)
  #peek: Chunk | undefined
  #peeked = -1
  #batch: Batch | undefined
  #journal = new Journal()
  #bucket: Bucket | undefined

  constructor(environment: Environment, shardCount: number, seed: number, tuning: Tuning) {
    this.#environment = environment
    this.tuning = tuning
    this.hash = new NameHash(seed)
    this.buckets = Array.from({ length: shardCount }, (_, shard) => new BucketTable(shard))
    this.listeners = []
  }

  /** Every call that changes rows says first to which batch. */
  join(batch: Batch): void {
    this.#peeked = -1
    if (this.#batch === batch) return
    this.#batch = batch
    const journal = (this.#journal = new Journal())
    batch.onUndo(() => journal.undo(this.index, this.chunks))
    batch.onSeal(() => this.seal())
  }

  /** Readings outside of a batch say so: nobody may have read in between. */
  look(): void {
    this.#peeked = -1
  }

  /** Goes to the row of this name that stands at or after `level`; false when there is none. */
  find(name: TimerName, level: Place): boolean {
    const { hash, index, chunks } = this
    hash.set(name)
    this.#hasEntry = false
    for (let isThere = index.first(hash.low, hash.high); isThere; isThere = index.next()) {
      const { ref, ordinal } = index
      const isOver = !chunks.has(ref) || chunks.bucketOf(ref).endExclusive <= level.position
      if (isOver) {
        // Of this name or not, its row is settled: the entry is free to be used.
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

  /** The identity of the row gone to. */
  identity(): number {
    return identityOf(this.#source!, this.#ordinal)
  }

  /** The row gone to, with a payload of its own. */
  row(): TimerRow {
    return rowOf(this.#source!, this.#ordinal, true)
  }

  /** Writes a row of the name just looked for; if it stood, `kill` it first. */
  put(
    shard: number,
    content: TimerContent,
    progress: TimerProgress,
    position: number,
    revision: number,
    now: number,
  ): void {
    const { hash, index } = this
    const bucket = this.#bucketFor(shard, position, now)
    const builder = this.#builderOf(bucket)
    const ordinal = builder.add(content, progress, position, revision, hash.isAscii)
    const { ref } = builder
    if (this.#hasEntry) {
      this.#journal.entry(hash.low, hash.high, ref + 1, ordinal, index.ref + 1, index.ordinal)
      index.replace(ref, ordinal)
    } else {
      this.#journal.entry(hash.low, hash.high, ref + 1, ordinal, 0, 0)
      index.add(ref, ordinal)
    }
    if (builder.isFull) this.#close(builder)
  }

  /** The row gone to is no more; its name is forgotten with `forget`, or put anew. */
  kill(): void {
    const ref = this.#ref
    const ordinal = this.#ordinal
    this.chunks.kill(ref, ordinal)
    this.#journal.kill(ref, ordinal)
    const builder = this.#builderOf(this.chunks.bucketOf(ref))
    builder.removals.push(this.revision)
    if (builder.isFull) this.#close(builder)
  }

  forget(): void {
    const { hash, index } = this
    this.#journal.entry(hash.low, hash.high, 0, 0, index.ref + 1, index.ordinal)
    index.remove()
    this.#hasEntry = false
  }

  /** Moves a row of a chunk that is being rewritten: its name, if the index knows it, follows. */
  copy(source: RowSource, ref: number, ordinal: number, bucket: Bucket): void {
    const { index, hash } = this
    const builder = this.#builderOf(bucket)
    const copied = builder.addCopy(source, ordinal)
    this.hashRow(source, ordinal)
    if (index.firstOf(hash.low, hash.high, ref, ordinal)) {
      this.#journal.entry(hash.low, hash.high, builder.ref + 1, copied, ref + 1, ordinal)
      index.replace(builder.ref, copied)
    }
    if (builder.isFull) this.#close(builder)
  }

  hashRow(source: RowSource, ordinal: number): void {
    hashRow(this.hash, source, ordinal)
  }

  /** The rows of a chunk, until the next one is asked for. */
  source(ref: number): RowSource {
    const { builder } = this.chunks.bucketOf(ref)
    if (builder !== undefined && builder.ref === ref) return builder
    return this.#pending.get(ref) ?? this.peek(ref)
  }

  /** A chunk that is sealed, until the next one is asked for. */
  peek(ref: number): Chunk {
    const pending = this.#pending.get(ref)
    if (pending !== undefined) return pending
    if (this.#peeked === ref) return this.#peek!
    this.#peeked = -1
    const peek = this.#environment.peekChunk(this.#keyOf(ref, this.#key), this.#peek)
    this.#peek = peek
    this.#peeked = ref
    return peek
  }

  /** A chunk that is sealed, to keep. */
  take(ref: number): Chunk {
    const pending = this.#pending.get(ref)
    if (pending !== undefined) return pending
    const peek = this.peek(ref)
    const bytes = this.#slab.take(peek.length)
    bytes.set(peek.bytes.subarray(0, peek.length))
    return new Chunk(bytes)
  }

  /** Takes a chunk away in this batch. */
  removeChunk(batch: Batch, ref: number): void {
    const { chunks } = this
    batch.remove('chunks', this.#keyOf(ref, Buffer.allocUnsafe(chunkKeyBytes)))
    chunks.detach(ref)
    batch.onUndo(() => chunks.restore(ref))
    batch.onCommitted(() => chunks.retire(ref))
  }

  /** Closes every chunk that is being built. */
  seal(): void {
    for (const builder of this.#builders) {
      const bucket = builder.bucket!
      if (builder.isEmpty) this.chunks.discard(builder.ref)
      else this.#closeInto(builder)
      bucket.builder = undefined
      builder.ref = -1
      this.#spare.push(builder)
    }
    this.#builders.length = 0
    this.#bucket = undefined
  }

  #bucketFor(shard: number, position: number, now: number): Bucket {
    const level = levelForDistance(position - now)
    const last = this.#bucket
    if (
      last !== undefined &&
      last.level === level &&
      last.shard === shard &&
      position >= last.start &&
      position < last.endExclusive
    )
      return last
    return (this.#bucket = this.buckets[shard]!.make(level, bucketIndexOf(level, position)))
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
    return this.chunks.add(bucket, ++this.lastChunk)
  }

  /** Closes a full chunk and goes on with a new one. */
  #close(builder: ChunkBuilder): void {
    this.#closeInto(builder)
    builder.begin(builder.bucket!, this.#newChunk(builder.bucket!))
  }

  #closeInto(builder: ChunkBuilder): void {
    const batch = this.#batch!
    const { ref } = builder
    const bucket = builder.bucket!
    const { rows } = builder
    const removals = builder.removals.length
    const bytes = builder.seal(this.#slab)
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
