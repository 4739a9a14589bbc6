import {
  ownBytes,
  PayloadColumn,
  type Place,
  shardsOf,
  type TimerName,
  type TimerRow,
} from '../timer/index.js'
import { checkPayloadBytes, checkPlainSet, checkIntegerInstant } from './check/check-set.js'
import type { OwnerWrite, SetOperation } from './store.js'

const noTags: readonly string[] = Object.freeze([])

/** What all plain sets of one call share. */
export interface PlainScope {
  readonly namespace: string
  readonly kind: string
  readonly createdAt: number
}

/**
 * The plain sets of one call: timers of one kind with only a key, a due time and a payload, without condition, schedule,
 * tag or note. They stay in columns from the caller to the store, because an object for each set and payload would cost
 * more than the rest of the work. Operations are made on demand. `add` has checked every set.
 *
 * Proven by test/store/set-columns.test.ts and the chapter 'plain sets' of the store contract.
 */
export class SetColumns implements PlainScope {
  readonly namespace: string
  readonly kind: string
  readonly createdAt: number
  readonly keys: string[] = []
  readonly identities: Float64Array
  readonly dueAts: Float64Array
  readonly payloads: PayloadColumn
  /** The most bytes that each payload may have. */
  readonly maxPayloadBytes: number

  /** Room for `count` sets. */
  constructor({ namespace, kind, createdAt }: PlainScope, count: number, maxPayloadBytes: number) {
    this.namespace = namespace
    this.kind = kind
    this.createdAt = createdAt
    this.identities = new Float64Array(count)
    this.dueAts = new Float64Array(count)
    this.payloads = new PayloadColumn(count)
    this.maxPayloadBytes = maxPayloadBytes
  }

  get length(): number {
    return this.keys.length
  }

  /** Adds a set, or refuses an invalid one. Answers false, and adds nothing, when the payload column is full. */
  add(key: string, identity: number, dueAt: number, payload: unknown): boolean {
    const index = this.keys.length
    if (index === this.identities.length)
      throw new RangeError(`cannot add another set: there is room for ${index}`)
    checkPlainSet(this, key, identity, dueAt)
    if (!this.payloads.add(payload)) return false
    const payloadBytes = this.payloads.end(index) - this.payloads.from(index)
    if (payloadBytes > this.maxPayloadBytes) {
      this.payloads.removeLast()
      checkPayloadBytes(key, payloadBytes, this.maxPayloadBytes)
    }
    this.keys.push(key)
    this.identities[index] = identity
    this.dueAts[index] = dueAt
    return true
  }

  /** The indexes of the sets of each shard, in order. Shards without a set are left out. */
  byShard(shardCount: number): readonly { readonly shard: number; readonly indexes: Uint32Array }[] {
    const shards = shardsOf(this, this.keys, shardCount)
    const counts = new Uint32Array(shardCount)
    for (const shard of shards) counts[shard]!++
    const all = new Uint32Array(this.length)
    const ends = new Uint32Array(shardCount)
    for (let shard = 1; shard < shardCount; shard++) ends[shard] = ends[shard - 1]! + counts[shard - 1]!
    for (let index = 0; index < shards.length; index++) all[ends[shards[index]!]!++] = index
    const parts: { shard: number; indexes: Uint32Array }[] = []
    for (let shard = 0; shard < shardCount; shard++) {
      const end = ends[shard]!
      if (counts[shard]! > 0) parts.push({ shard, indexes: all.subarray(end - counts[shard]!, end) })
    }
    return parts
  }

  name(index: number): TimerName {
    return { namespace: this.namespace, kind: this.kind, key: this.keys[index]! }
  }

  /** One set as an operation. Its payload is a view of the shared buffer. */
  operation(index: number, position: number = this.dueAts[index]!): SetOperation {
    return {
      type: 'set',
      namespace: this.namespace,
      kind: this.kind,
      key: this.keys[index]!,
      identity: this.identities[index]!,
      createdAt: this.createdAt,
      dueAt: this.dueAts[index]!,
      position,
      attempt: 0,
      occurrence: 0,
      payload: this.payloads.view(index),
      tags: noTags,
      details: '',
    }
  }

  /** The sets as operations: those of `indexes`, or all. */
  operations(indexes?: Uint32Array): SetOperation[] {
    return indexes === undefined
      ? Array.from(this.keys, (_, index) => this.operation(index))
      : Array.from(indexes, (index) => this.operation(index))
  }

  /** The row of one set. It copies the payload, because the row may live long and must not keep the shared buffer. */
  row(index: number, { position, revision }: Place): TimerRow {
    return {
      namespace: this.namespace,
      kind: this.kind,
      key: this.keys[index]!,
      identity: this.identities[index]!,
      createdAt: this.createdAt,
      payload: ownBytes(this.payloads.view(index)),
      tags: noTags,
      details: '',
      dueAt: this.dueAts[index]!,
      attempt: 0,
      occurrence: 0,
      position,
      revision,
    }
  }
}

/** The plain sets of a call that belong to one shard. */
export interface ShardSetColumns {
  readonly sets: SetColumns
  readonly indexes: Uint32Array
}

/**
 * An owner's write of plain sets. A store can read the columns. For any other store it is a normal write whose
 * operations are made on demand.
 */
export class SetColumnsWrite implements OwnerWrite {
  readonly sets: SetColumns
  readonly indexes: Uint32Array
  /** The position of each of `indexes`. */
  readonly positions: Float64Array
  readonly leastPosition: number
  /** The UTF-16 code units of all keys together. */
  readonly keyUnits: number
  readonly payloadBytes: number
  /** Whether every position is the due time. */
  readonly isDueInPlace: boolean
  readonly ifInboxEmpty: boolean
  #operations: readonly SetOperation[] | undefined

  /** No position is below `floor`. */
  constructor({ sets, indexes }: ShardSetColumns, floor: number, ifInboxEmpty: boolean) {
    this.sets = sets
    this.indexes = indexes
    this.ifInboxEmpty = ifInboxEmpty
    const positions = new Float64Array(indexes.length)
    let least = Infinity
    let keyUnits = 0
    let payloadBytes = 0
    let isDueInPlace = true
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at]!
      const dueAt = sets.dueAts[index]!
      keyUnits += sets.keys[index]!.length
      payloadBytes += sets.payloads.end(index) - sets.payloads.from(index)
      const position = Math.max(dueAt, floor)
      if (position !== dueAt) isDueInPlace = false
      if (position < least) least = position
      positions[at] = position
    }
    if (!isDueInPlace) checkIntegerInstant('position', floor)
    this.positions = positions
    this.leastPosition = least
    this.keyUnits = keyUnits
    this.payloadBytes = payloadBytes
    this.isDueInPlace = isDueInPlace
  }

  get length(): number {
    return this.indexes.length
  }

  get operations(): readonly SetOperation[] {
    return (this.#operations ??= Array.from(this.indexes, (index, at) =>
      this.sets.operation(index, this.positions[at]),
    ))
  }
}
