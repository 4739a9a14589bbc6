import { ownBytes, PayloadColumn, type Place, shardsOf, type TimerRow } from '../timer/index.js'
import { checkPayloadBytes, checkPlainSet, checkWholeInstant } from './check-set.js'
import type { OwnerWrite, SetOperation } from './store.js'

const noTags: readonly string[] = Object.freeze([])

/** What plain sets of one call have in common. */
export interface PlainScope {
  readonly namespace: string
  readonly kind: string
  readonly createdAt: number
}

/**
 * The sets of one call that say nothing but when a timer is due and what it carries: of one kind, without condition,
 * schedule, tag or note. They are kept in columns from the caller to the store, because an object for each, and for
 * its payload, costs more than all that is done with it; what they say as operations is made when it is asked for.
 * Each was found good when it was added.
 */
export class PlainSets implements PlainScope {
  readonly namespace: string
  readonly kind: string
  readonly createdAt: number
  readonly keys: string[] = []
  readonly identities: Float64Array
  readonly dueAts: Float64Array
  readonly payloads: PayloadColumn
  /** The most that any of their payloads may weigh. */
  readonly maxPayloadBytes: number

  /** For as many as `count`. */
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

  /** Refuses what no store should keep. Answers false, and adds nothing, when the payloads together are too much. */
  add(key: string, identity: number, dueAt: number, payload: unknown): boolean {
    const index = this.keys.length
    if (index === this.identities.length)
      throw new RangeError(`these are ${index} sets already, as many as were to come`)
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

  /** The numbers of those that live in each shard, in their order; nothing for a shard that has none. */
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

  /** What one of them says as an operation. Its payload is a view of what all share. */
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

  /** What they say as operations, those of `indexes` or all. */
  operations(indexes?: Uint32Array): SetOperation[] {
    return indexes === undefined
      ? Array.from(this.keys, (_, index) => this.operation(index))
      : Array.from(indexes, (index) => this.operation(index))
  }

  /** The row that one of them became, with a payload of its own: it may stay for long. */
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

/** Some plain sets of a call, all of one shard. */
export interface PlainShare {
  readonly sets: PlainSets
  readonly indexes: Uint32Array
}

/**
 * An owner's write of plain sets. A store that takes columns finds them here; for any other it is a write like all,
 * whose operations are made when it asks for them.
 */
export class PlainWrite implements OwnerWrite {
  readonly sets: PlainSets
  readonly indexes: Uint32Array
  /** Where each of `indexes` is to stand. */
  readonly positions: Float64Array
  readonly leastPosition: number
  /** Code units of all keys. */
  readonly keyUnits: number
  readonly payloadBytes: number
  /** Whether each is due where it stands. */
  readonly isDueInPlace: boolean
  readonly ifInboxEmpty: boolean
  #operations: readonly SetOperation[] | undefined

  /** None is to stand below `floor`. */
  constructor({ sets, indexes }: PlainShare, floor: number, ifInboxEmpty: boolean) {
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
    if (!isDueInPlace) checkWholeInstant('position', floor)
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
