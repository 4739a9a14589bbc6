import type { SetOperation } from '../../store/index.js'
import type { Place, TimerContent, TimerName, TimerProgress, TimerRow } from '../../timer/index.js'

/**
 * Every field of the timer record, by what happens to it. This is the suite's only list of fields. A field that is new
 * in `TimerRow` does not compile until it has a line here and a sample below; from then on every comparison of rows
 * includes it, and the chapter `fields` sends it through every path of the store.
 */
const fieldGroups: { readonly [Field in keyof Required<TimerRow>]: GroupOf<Field> } = {
  namespace: 'name',
  kind: 'name',
  key: 'name',
  identity: 'content',
  createdAt: 'content',
  payload: 'content',
  tags: 'content',
  details: 'content',
  dueAt: 'progress',
  attempt: 'progress',
  occurrence: 'progress',
  position: 'place',
  revision: 'place',
}

type GroupOf<Field> = Field extends keyof TimerName
  ? 'name'
  : Field extends keyof TimerContent
    ? 'content'
    : Field extends keyof TimerProgress
      ? 'progress'
      : 'place'

const fields = Object.keys(fieldGroups) as (keyof TimerRow)[]

/** A content in which no field has the value that a store might fill in for one that it forgot. */
export function sampleContent(identity: number): Required<Omit<TimerContent, keyof TimerName>> {
  return {
    identity,
    createdAt: 1_600_000_000_123,
    payload: Uint8Array.of(0, 1, 127, 128, 255),
    tags: ['first', 'zweites Schild'],
    details: '{"on":"änderbar"}',
  }
}

/** Two kinds of progress that differ in every field: before a change, and after it. */
export function sampleProgress(dueAt: number): Required<TimerProgress> {
  return { dueAt, attempt: 3, occurrence: 500 }
}

export function laterProgress(dueAt: number): Required<TimerProgress> {
  return { dueAt, attempt: 4, occurrence: 70_000 }
}

/** For each field that a `set` names: a value that differs from the one of `setOf`, and from those that others have. */
export function otherValues(dueAt: number): Omit<Required<TimerRow>, 'key' | 'identity' | keyof Place> {
  const { identity: _, ...content } = sampleContent(0)
  return { namespace: 'other-namespace', kind: 'other', ...content, ...sampleProgress(dueAt) }
}

/** A row in a form that `assert.deepEqual` compares field by field, whatever class the store uses for it. */
export function plain(row: TimerRow): Readonly<Record<string, unknown>> {
  return Object.fromEntries(fields.map((field) => [field, plainValue(row[field])]))
}

function plainValue(value: TimerRow[keyof TimerRow] | undefined): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return Array.isArray(value) ? [...value] : value
}

/** The row that a `set` becomes when the store puts it at `place`. */
export function rowOf(set: SetOperation, { position, revision }: Place): TimerRow {
  const kept = fields.filter((field) => fieldGroups[field] !== 'place')
  const content = Object.fromEntries(kept.map((field) => [field, set[field as keyof SetOperation]]))
  return { ...content, position, revision } as unknown as TimerRow
}
