import type { SetOperation } from '../store.js'
import { int8Array, ListWriter, textArray } from './binary-array.js'

/**
 * Plain sets as the columns of `insert_plain`, from `o_namespace` on. Thousands of sets lie apart in memory, and to
 * come back to them for every column costs more than the columns: so they are gone through twice, once for what
 * they have in common and how much room they take, once to write them.
 */
export function plainColumns(sets: readonly SetOperation[]): (Buffer | null)[] {
  const common = commonOf(sets)
  const keys = ListWriter.ofText(sets.length, common.keyUnits)
  const identities = ListWriter.ofInt8(sets.length)
  const positions = ListWriter.ofInt8(sets.length)
  const payloads = ListWriter.ofBytea(sets.length, common.payloadBytes)
  for (const set of sets) {
    keys.addText(set.key)
    identities.addNumber(set.identity)
    positions.addNumber(set.position)
    payloads.addBytes(set.payload)
  }
  // A list of one stands for a column that is the same everywhere.
  const few = (isSame: boolean): readonly SetOperation[] => (isSame ? sets.slice(0, 1) : sets)
  return [
    textArray(few(common.namespace), (set) => set.namespace),
    textArray(few(common.kind), (set) => set.kind),
    keys.done(),
    identities.done(),
    positions.done(),
    common.dueAt ? null : int8Array(sets, (set) => set.dueAt),
    int8Array(few(common.attempt), (set) => set.attempt),
    int8Array(few(common.occurrence), (set) => set.occurrence),
    int8Array(few(common.createdAt), (set) => set.createdAt),
    payloads.done(),
    common.tags ? null : textArray(sets, ({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags))),
    textArray(few(common.details), (set) => set.details),
  ]
}

/** Which columns are the same everywhere; of due times, whether they are the positions; of tags, whether there are none. */
interface Common {
  readonly namespace: boolean
  readonly kind: boolean
  readonly dueAt: boolean
  readonly attempt: boolean
  readonly occurrence: boolean
  readonly createdAt: boolean
  readonly tags: boolean
  readonly details: boolean
  /** Code units of all keys. */
  readonly keyUnits: number
  readonly payloadBytes: number
}

function commonOf(sets: readonly SetOperation[]): Common {
  const first = sets[0]!
  let namespace = true
  let kind = true
  let dueAt = true
  let attempt = true
  let occurrence = true
  let createdAt = true
  let tags = true
  let details = true
  let keyUnits = 0
  let payloadBytes = 0
  for (const set of sets) {
    if (set.namespace !== first.namespace) namespace = false
    if (set.kind !== first.kind) kind = false
    if (set.dueAt !== set.position) dueAt = false
    if (set.attempt !== first.attempt) attempt = false
    if (set.occurrence !== first.occurrence) occurrence = false
    if (set.createdAt !== first.createdAt) createdAt = false
    if (set.tags.length > 0) tags = false
    if (set.details !== first.details) details = false
    keyUnits += set.key.length
    payloadBytes += set.payload.length
  }
  return { namespace, kind, dueAt, attempt, occurrence, createdAt, tags, details, keyUnits, payloadBytes }
}
