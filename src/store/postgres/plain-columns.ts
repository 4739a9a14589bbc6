import type { PlainWrite } from '../plain-sets.js'
import type { SetOperation } from '../store.js'
import { int8Array, ListWriter, textArray } from './binary-array.js'

/** What a list of one can say of all sets, if it is the same for all of them. */
type Common = Pick<SetOperation, 'namespace' | 'kind' | 'attempt' | 'occurrence' | 'createdAt' | 'details'>

/** Plain sets of one shard, and what must be known of them to write them. */
export interface PlainGroup {
  readonly length: number
  /** The lowest of their positions. */
  readonly least: number
  /** Code units of all keys. */
  readonly keyUnits: number
  readonly payloadBytes: number
  /** What all have in common, where each is due where it stands and has no tags; undefined otherwise. */
  readonly common: Common | undefined
  /** Each for itself. */
  readonly operations: readonly SetOperation[]
  /** Writes what differs from set to set. */
  addTo(lists: PlainLists): void
}

/** The lists of what differs from set to set. */
class PlainLists {
  readonly keys: ListWriter
  readonly identities: ListWriter
  readonly positions: ListWriter
  readonly payloads: ListWriter

  constructor(length: number, keyUnits: number, payloadBytes: number) {
    this.keys = ListWriter.ofText(length, keyUnits)
    this.identities = ListWriter.ofInt8(length)
    this.positions = ListWriter.ofInt8(length)
    this.payloads = ListWriter.ofBytea(length, payloadBytes)
  }
}

/** Those of a call that brought them in columns. */
export class ColumnGroup implements PlainGroup {
  readonly #write: PlainWrite

  constructor(write: PlainWrite) {
    this.#write = write
  }

  get length(): number {
    return this.#write.length
  }

  get least(): number {
    return this.#write.leastPosition
  }

  get keyUnits(): number {
    return this.#write.keyUnits
  }

  get payloadBytes(): number {
    return this.#write.payloadBytes
  }

  get common(): Common | undefined {
    const { namespace, kind, createdAt } = this.#write.sets
    return this.#write.isDueInPlace
      ? { namespace, kind, createdAt, attempt: 0, occurrence: 0, details: '' }
      : undefined
  }

  get operations(): readonly SetOperation[] {
    return this.#write.operations
  }

  addTo({ keys, identities, positions, payloads }: PlainLists): void {
    const { sets, indexes } = this.#write
    const bytes = sets.payloads.dataView()
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at]!
      keys.addText(sets.keys[index]!)
      identities.addNumber(sets.identities[index]!)
      positions.addNumber(this.#write.positions[at]!)
      payloads.addSlice(bytes, sets.payloads.from(index), sets.payloads.end(index))
    }
  }
}

/** Those of calls that came one by one. */
export class OperationGroup implements PlainGroup {
  readonly operations: readonly SetOperation[]
  readonly least: number
  readonly keyUnits: number
  readonly payloadBytes: number
  readonly common: Common | undefined

  constructor(operations: readonly SetOperation[]) {
    this.operations = operations
    const first = operations[0]!
    let least = Infinity
    let keyUnits = 0
    let payloadBytes = 0
    let isUniform = true
    for (const set of operations) {
      if (set.position < least) least = set.position
      keyUnits += set.key.length
      payloadBytes += set.payload.length
      if (isUniform) isUniform = isLike(first, set) && set.dueAt === set.position && set.tags.length === 0
    }
    this.least = least
    this.keyUnits = keyUnits
    this.payloadBytes = payloadBytes
    this.common = isUniform ? first : undefined
  }

  get length(): number {
    return this.operations.length
  }

  addTo({ keys, identities, positions, payloads }: PlainLists): void {
    for (const set of this.operations) {
      keys.addText(set.key)
      identities.addNumber(set.identity)
      positions.addNumber(set.position)
      payloads.addBytes(set.payload)
    }
  }
}

/** Plain sets as the columns of `insert_plain`, from `o_group` on. */
export function plainColumns(groups: readonly PlainGroup[]): (Buffer | null)[] {
  const sum = (of: (group: PlainGroup) => number): number =>
    groups.reduce((total, group) => total + of(group), 0)
  const length = sum((group) => group.length)
  const numbers = ListWriter.ofInt8(length)
  const lists = new PlainLists(
    length,
    sum(({ keyUnits }) => keyUnits),
    sum(({ payloadBytes }) => payloadBytes),
  )
  for (const [at, group] of groups.entries()) {
    for (let i = 0; i < group.length; i++) numbers.addNumber(at + 1)
    group.addTo(lists)
  }
  const [{ common }] = groups as [PlainGroup]
  const isUniform = common !== undefined && groups.every((group) => isLike(common, group.common))
  const sets = isUniform ? [] : groups.flatMap((group) => group.operations)
  const first = common ?? sets[0]!
  // A list of one stands for a column that is the same everywhere.
  const few = (of: (set: Common) => unknown): readonly Common[] =>
    sets.every((set) => of(set) === of(first)) ? [first] : sets
  const texts = (of: (set: Common) => string): Buffer => textArray(few(of), of)
  const counts = (of: (set: Common) => number): Buffer => int8Array(few(of), of)
  return [
    numbers.done(),
    texts((set) => set.namespace),
    texts((set) => set.kind),
    lists.keys.done(),
    lists.identities.done(),
    lists.positions.done(),
    sets.every((set) => set.dueAt === set.position) ? null : int8Array(sets, (set) => set.dueAt),
    counts((set) => set.attempt),
    counts((set) => set.occurrence),
    counts((set) => set.createdAt),
    lists.payloads.done(),
    sets.every(({ tags }) => tags.length === 0)
      ? null
      : textArray(sets, ({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags))),
    texts((set) => set.details),
  ]
}

/** Whether two differ in nothing that a list of one could say. */
function isLike(one: Common, other: Common | undefined): boolean {
  return (
    other !== undefined &&
    one.namespace === other.namespace &&
    one.kind === other.kind &&
    one.attempt === other.attempt &&
    one.occurrence === other.occurrence &&
    one.createdAt === other.createdAt &&
    one.details === other.details
  )
}
