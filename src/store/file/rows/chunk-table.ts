import type { Bucket } from './bucket.js'
import type { Scope } from './chunk.js'
import { type CountedScope, ScopeTable } from './scope-table.js'

const FIRST_CAPACITY = 1024

/**
 * The chunks as memory knows them, by a small number, the ref: the key, the number of rows, and which rows are dead.
 * The ref of a retired chunk is reused only after the key index has been scrubbed of it.
 */
export class ChunkTable {
  ids = new Float64Array(FIRST_CAPACITY)
  rows = new Uint32Array(FIRST_CAPACITY)
  removals = new Uint32Array(FIRST_CAPACITY)
  dead = new Uint32Array(FIRST_CAPACITY)
  bytes = new Uint32Array(FIRST_CAPACITY)
  /** 1 if the chunk's rows are in the key index. */
  indexed = new Uint8Array(FIRST_CAPACITY)
  /** 1 if there is a chunk of this ref. */
  isPresent = new Uint8Array(FIRST_CAPACITY)
  /** 1 if the chunk is in its bucket. A chunk that a batch removes is not, although it is present until the commit. */
  isAttached = new Uint8Array(FIRST_CAPACITY)
  /** The earliest and the latest due time of its rows that differ from the position; Infinity and -Infinity if none does. */
  dueFrom = new Float64Array(FIRST_CAPACITY)
  dueTo = new Float64Array(FIRST_CAPACITY)
  readonly scopes = new ScopeTable()
  readonly #scopes: (readonly CountedScope[] | undefined)[] = []
  readonly #buckets: (Bucket | undefined)[] = []
  readonly #deadBits: (Uint32Array | undefined)[] = []
  readonly #free: number[] = []
  #retired: number[] = []

  /** Rows of retired chunks, whose names may still be in the key index. */
  retiredRows = 0

  /** Adds a chunk to a bucket and returns its ref. */
  add(bucket: Bucket, id: number): number {
    const ref = this.#free.pop() ?? this.#buckets.length
    if (ref === this.ids.length) this.#grow()
    this.#buckets[ref] = bucket
    this.#deadBits[ref] = undefined
    this.ids[ref] = id
    this.rows[ref] = 0
    this.removals[ref] = 0
    this.dead[ref] = 0
    this.bytes[ref] = 0
    this.indexed[ref] = 1
    this.isPresent[ref] = 1
    this.isAttached[ref] = 1
    this.dueFrom[ref] = -Infinity
    this.dueTo[ref] = Infinity
    this.#scopes[ref] = undefined
    bucket.refs.push(ref)
    return ref
  }

  /** Records the sizes of a chunk, once they are known. */
  describe(ref: number, rows: number, removals: number, bytes: number): void {
    const bucket = this.bucketOf(ref)
    bucket.rows += rows - this.rows[ref]!
    bucket.removals += removals - this.removals[ref]!
    bucket.bytes += bytes - this.bytes[ref]!
    this.rows[ref] = rows
    this.removals[ref] = removals
    this.bytes[ref] = bytes
  }

  /** Records what a list needs to know of a chunk, to skip it. */
  summarize(ref: number, scopes: readonly Scope[], dueFrom: number, dueTo: number): void {
    this.#scopes[ref] = this.scopes.retain(scopes)
    this.dueFrom[ref] = dueFrom
    this.dueTo[ref] = dueTo
  }

  /** The scopes of a chunk's rows; undefined before `summarize`. */
  scopesOf(ref: number): readonly Scope[] | undefined {
    return this.#scopes[ref]
  }

  bucketOf(ref: number): Bucket {
    return this.#buckets[ref]!
  }

  has(ref: number): boolean {
    return this.isPresent[ref] === 1
  }

  isDead(ref: number, ordinal: number): boolean {
    const bits = this.#deadBits[ref]
    return bits !== undefined && (bits[ordinal >>> 5]! & (1 << (ordinal & 31))) !== 0
  }

  kill(ref: number, ordinal: number): void {
    let bits = this.#deadBits[ref]
    if (bits === undefined || bits.length <= ordinal >>> 5) {
      const longer = new Uint32Array(Math.max((ordinal >>> 5) + 1, (this.rows[ref]! + 31) >>> 5))
      if (bits !== undefined) longer.set(bits)
      bits = this.#deadBits[ref] = longer
    }
    bits[ordinal >>> 5]! |= 1 << (ordinal & 31)
    this.dead[ref]!++
    this.bucketOf(ref).dead++
  }

  revive(ref: number, ordinal: number): void {
    this.#deadBits[ref]![ordinal >>> 5]! &= ~(1 << (ordinal & 31))
    this.dead[ref]!--
    this.bucketOf(ref).dead--
  }

  /** Takes a chunk out of its bucket. `restore` undoes that, `retire` makes it final. */
  detach(ref: number): void {
    const bucket = this.bucketOf(ref)
    const { refs } = bucket
    refs.splice(refs[0] === ref ? 0 : refs.indexOf(ref), 1)
    this.isAttached[ref] = 0
    this.#count(bucket, ref, -1)
  }

  restore(ref: number): void {
    const bucket = this.bucketOf(ref)
    bucket.refs.push(ref)
    this.isAttached[ref] = 1
    // Oldest first: a rewrite relies on this order.
    bucket.refs.sort((a, b) => this.ids[a]! - this.ids[b]!)
    this.#count(bucket, ref, 1)
  }

  /** Undoes `add` for a chunk that stayed empty. */
  discard(ref: number): void {
    this.detach(ref)
    this.#buckets[ref] = undefined
    this.isPresent[ref] = 0
    this.#free.push(ref)
  }

  retire(ref: number): void {
    this.retiredRows += this.rows[ref]!
    this.#buckets[ref] = undefined
    this.isPresent[ref] = 0
    this.#deadBits[ref] = undefined
    const scopes = this.#scopes[ref]
    if (scopes !== undefined) this.scopes.release(scopes)
    this.#scopes[ref] = undefined
    this.#retired.push(ref)
  }

  /** Hands over the retired refs. They may be reused once the key index has none of them. */
  takeRetired(): { readonly refs: readonly number[]; readonly rows: number } {
    const taken = { refs: this.#retired, rows: this.retiredRows }
    this.#retired = []
    return taken
  }

  reuse(refs: readonly number[], rows: number): void {
    for (const ref of refs) this.#free.push(ref)
    this.retiredRows -= rows
  }

  #count(bucket: Bucket, ref: number, sign: 1 | -1): void {
    bucket.rows += sign * this.rows[ref]!
    bucket.dead += sign * this.dead[ref]!
    bucket.removals += sign * this.removals[ref]!
    bucket.bytes += sign * this.bytes[ref]!
  }

  #grow(): void {
    const capacity = this.ids.length * 2
    this.ids = grown(this.ids, new Float64Array(capacity))
    this.rows = grown(this.rows, new Uint32Array(capacity))
    this.removals = grown(this.removals, new Uint32Array(capacity))
    this.dead = grown(this.dead, new Uint32Array(capacity))
    this.bytes = grown(this.bytes, new Uint32Array(capacity))
    this.indexed = grown(this.indexed, new Uint8Array(capacity))
    this.isPresent = grown(this.isPresent, new Uint8Array(capacity))
    this.isAttached = grown(this.isAttached, new Uint8Array(capacity))
    this.dueFrom = grown(this.dueFrom, new Float64Array(capacity))
    this.dueTo = grown(this.dueTo, new Float64Array(capacity))
  }
}

function grown<Words extends Float64Array | Uint32Array | Uint8Array>(before: Words, after: Words): Words {
  after.set(before)
  return after
}
