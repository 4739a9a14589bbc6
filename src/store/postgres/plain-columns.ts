import type { SetOperation } from '../store.js'
import { int8Array, ListWriter, textArray } from './binary-array.js'

/** Plain sets of one shard, and what there must be known of them to write them. */
export class PlainSets {
  readonly sets: readonly SetOperation[]
  /** The lowest of their positions. */
  readonly least: number
  /** Code units of all keys. */
  readonly keyUnits: number
  readonly payloadBytes: number

  constructor(sets: readonly SetOperation[]) {
    this.sets = sets
    let least = Infinity
    let keyUnits = 0
    let payloadBytes = 0
    for (const { position, key, payload } of sets) {
      if (position < least) least = position
      keyUnits += key.length
      payloadBytes += payload.length
    }
    this.least = least
    this.keyUnits = keyUnits
    this.payloadBytes = payloadBytes
  }
}

/**
 * Plain sets as the columns of `insert_plain`, from `o_group` on. Thousands of sets lie apart in memory, and to come
 * back to them for every column costs more than the columns: so what differs from set to set is written in one walk,
 * which also finds out whether anything else does.
 */
export function plainColumns(groups: readonly PlainSets[]): (Buffer | null)[] {
  const sum = (of: (group: PlainSets) => number): number =>
    groups.reduce((total, group) => total + of(group), 0)
  const length = sum(({ sets }) => sets.length)
  const numbers = ListWriter.ofInt8(length)
  const keys = ListWriter.ofText(
    length,
    sum(({ keyUnits }) => keyUnits),
  )
  const identities = ListWriter.ofInt8(length)
  const positions = ListWriter.ofInt8(length)
  const payloads = ListWriter.ofBytea(
    length,
    sum(({ payloadBytes }) => payloadBytes),
  )
  const first = groups[0]!.sets[0]!
  let isUniform = true
  for (let group = 0; group < groups.length; group++) {
    for (const set of groups[group]!.sets) {
      numbers.addNumber(group + 1)
      keys.addText(set.key)
      identities.addNumber(set.identity)
      positions.addNumber(set.position)
      payloads.addBytes(set.payload)
      if (isUniform) isUniform = isLike(first, set)
    }
  }
  const sets = isUniform ? [first] : groups.flatMap((group) => group.sets)
  // A list of one stands for a column that is the same everywhere.
  const few = (of: (set: SetOperation) => unknown): readonly SetOperation[] =>
    sets.every((set) => of(set) === of(first)) ? [first] : sets
  const texts = (of: (set: SetOperation) => string): Buffer => textArray(few(of), of)
  const counts = (of: (set: SetOperation) => number): Buffer => int8Array(few(of), of)
  return [
    numbers.done(),
    texts((set) => set.namespace),
    texts((set) => set.kind),
    keys.done(),
    identities.done(),
    positions.done(),
    sets.every((set) => set.dueAt === set.position) ? null : int8Array(sets, (set) => set.dueAt),
    counts((set) => set.attempt),
    counts((set) => set.occurrence),
    counts((set) => set.createdAt),
    payloads.done(),
    sets.every(({ tags }) => tags.length === 0)
      ? null
      : textArray(sets, ({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags))),
    texts((set) => set.details),
  ]
}

/** Whether a set differs from the first in nothing that a list of one could say, is due where it stands, and has no tags. */
function isLike(first: SetOperation, set: SetOperation): boolean {
  return (
    set.namespace === first.namespace &&
    set.kind === first.kind &&
    set.dueAt === set.position &&
    set.attempt === first.attempt &&
    set.occurrence === first.occurrence &&
    set.createdAt === first.createdAt &&
    set.tags.length === 0 &&
    set.details === first.details
  )
}
