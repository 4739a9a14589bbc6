import type { SetColumnsWrite } from '../../set-columns.js'
import type { SetOperation } from '../../store.js'
import { int8Array, ArrayWriter, textArray } from './binary-array.js'

/** The columns that are often the same for all sets. Then an array of one element stands for the whole column. */
type Common = Pick<SetOperation, 'namespace' | 'kind' | 'attempt' | 'occurrence' | 'createdAt' | 'details'>

/** The plain sets of one shard. */
export interface PlainGroup {
  readonly length: number
  readonly lowestPosition: number
  /** The UTF-16 code units of all keys. */
  readonly keyUnits: number
  readonly payloadBytes: number
  /** The values that all sets share, if each set's position is its due time and none has tags; else undefined. */
  readonly common: Common | undefined
  readonly operations: readonly SetOperation[]
  /** Writes the values that differ from set to set. */
  addTo(arrays: PlainArrays): void
}

/** The arrays of the values that differ from set to set. */
class PlainArrays {
  readonly keys: ArrayWriter
  readonly identities: ArrayWriter
  readonly positions: ArrayWriter
  readonly payloads: ArrayWriter

  constructor(length: number, keyUnits: number, payloadBytes: number) {
    this.keys = ArrayWriter.ofText(length, keyUnits)
    this.identities = ArrayWriter.ofInt8(length)
    this.positions = ArrayWriter.ofInt8(length)
    this.payloads = ArrayWriter.ofBytea(length, payloadBytes)
  }
}

/** Sets that the caller gave as columns. */
export class ColumnGroup implements PlainGroup {
  readonly #write: SetColumnsWrite

  constructor(write: SetColumnsWrite) {
    this.#write = write
  }

  get length(): number {
    return this.#write.length
  }

  get lowestPosition(): number {
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

  addTo({ keys, identities, positions, payloads }: PlainArrays): void {
    const { sets, indexes } = this.#write
    const bytes = sets.payloads.dataView()
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at]!
      keys.addString(sets.keys[index]!)
      identities.addNumber(sets.identities[index]!)
      positions.addNumber(this.#write.positions[at]!)
      payloads.addSlice(bytes, sets.payloads.from(index), sets.payloads.end(index))
    }
  }
}

/** Sets that the caller gave as operations. */
export class OperationGroup implements PlainGroup {
  readonly operations: readonly SetOperation[]
  readonly lowestPosition: number
  readonly keyUnits: number
  readonly payloadBytes: number
  readonly common: Common | undefined

  constructor(operations: readonly SetOperation[]) {
    this.operations = operations
    const first = operations[0]!
    let lowest = Infinity
    let keyUnits = 0
    let payloadBytes = 0
    let isUniform = true
    for (const set of operations) {
      if (set.position < lowest) lowest = set.position
      keyUnits += set.key.length
      payloadBytes += set.payload.length
      if (isUniform)
        isUniform = isSameCommon(first, set) && set.dueAt === set.position && set.tags.length === 0
    }
    this.lowestPosition = lowest
    this.keyUnits = keyUnits
    this.payloadBytes = payloadBytes
    this.common = isUniform ? first : undefined
  }

  get length(): number {
    return this.operations.length
  }

  addTo({ keys, identities, positions, payloads }: PlainArrays): void {
    for (const set of this.operations) {
      keys.addString(set.key)
      identities.addNumber(set.identity)
      positions.addNumber(set.position)
      payloads.addBytes(set.payload)
    }
  }
}

/** Encodes plain sets as the parameters of `insert_plain`, from `o_group` on. */
export function plainColumns(groups: readonly PlainGroup[]): (Buffer | null)[] {
  const sum = (of: (group: PlainGroup) => number): number =>
    groups.reduce((total, group) => total + of(group), 0)
  const length = sum((group) => group.length)
  const numbers = ArrayWriter.ofInt8(length)
  const arrays = new PlainArrays(
    length,
    sum(({ keyUnits }) => keyUnits),
    sum(({ payloadBytes }) => payloadBytes),
  )
  for (const [at, group] of groups.entries()) {
    for (let i = 0; i < group.length; i++) numbers.addNumber(at + 1)
    group.addTo(arrays)
  }
  const [{ common }] = groups as [PlainGroup]
  const isUniform = common !== undefined && groups.every((group) => isSameCommon(common, group.common))
  const sets = isUniform ? [] : groups.flatMap((group) => group.operations)
  const first = common ?? sets[0]!
  // One element is enough for a column that is the same everywhere.
  const shortened = (of: (set: Common) => unknown): readonly Common[] =>
    sets.every((set) => of(set) === of(first)) ? [first] : sets
  const strings = (of: (set: Common) => string): Buffer => textArray(shortened(of), of)
  const counts = (of: (set: Common) => number): Buffer => int8Array(shortened(of), of)
  return [
    numbers.done(),
    strings((set) => set.namespace),
    strings((set) => set.kind),
    arrays.keys.done(),
    arrays.identities.done(),
    arrays.positions.done(),
    sets.every((set) => set.dueAt === set.position) ? null : int8Array(sets, (set) => set.dueAt),
    counts((set) => set.attempt),
    counts((set) => set.occurrence),
    counts((set) => set.createdAt),
    arrays.payloads.done(),
    sets.every(({ tags }) => tags.length === 0)
      ? null
      : textArray(sets, ({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags))),
    strings((set) => set.details),
  ]
}

/** Whether all common columns are equal. */
function isSameCommon(one: Common, other: Common | undefined): boolean {
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
