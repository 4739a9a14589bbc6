import assert from 'node:assert/strict'
import type { ErrorCode } from '../../error/index.js'
import type { Listed, Operation, OperationAnswer, SetOperation, Store } from '../../store/index.js'
import type { Place, TimerName, TimerRow } from '../../timer/index.js'
import { plain } from './timer-fields.js'

export const NAMESPACE = 'contract'

let identities = 2 ** 48

/** An identity that no other timer of this run has. It needs more than 32 bits. */
export function newIdentity(): number {
  return ++identities
}

/** A `set` of a new timer with this name. It is due at its position unless `parts` says otherwise. */
export function setOf(
  { namespace, kind, key }: TimerName,
  position: number,
  parts: Partial<Omit<SetOperation, 'type' | 'position'>> = {},
): SetOperation {
  return {
    type: 'set',
    namespace,
    kind,
    key,
    identity: newIdentity(),
    createdAt: 1_700_000_000_000,
    payload: Buffer.from(`payload of ${key}`),
    tags: [],
    details: '',
    dueAt: position,
    attempt: 0,
    occurrence: 0,
    position,
    ...parts,
  }
}

/** Compares only position and revision. */
export function samePlace(actual: Place | undefined, expected: Place, message?: string): void {
  const { position, revision } = expected
  const got = actual && { position: actual.position, revision: actual.revision }
  assert.deepEqual(got, { position, revision }, message)
}

export function sameRows(actual: readonly TimerRow[], expected: readonly TimerRow[], message?: string): void {
  assert.deepEqual(actual.map(plain), expected.map(plain), message)
}

export function keysOf(rows: readonly TimerName[]): string[] {
  return rows.map((row) => row.key)
}

/** The answer, which must have this outcome. */
export function answerOf<Outcome extends OperationAnswer['outcome']>(
  answer: OperationAnswer | undefined,
  outcome: Outcome,
): Extract<OperationAnswer, { readonly outcome: Outcome }> {
  assert.equal(answer?.outcome, outcome)
  return answer as Extract<OperationAnswer, { readonly outcome: Outcome }>
}

/** The call must reject with one of these codes. */
export async function refused(
  what: string,
  call: () => Promise<unknown>,
  ...codes: readonly ErrorCode[]
): Promise<void> {
  let answer: unknown
  try {
    answer = await call()
  } catch (error) {
    const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
    if (codes.some((known) => known === code)) return
    throw new Error(`${what}: expected a rejection with ${codes.join(' or ')}, got ${String(error)}`, {
      cause: error,
    })
  }
  assert.fail(
    `${what}: expected a rejection with ${codes.join(' or ')}, got the answer ${JSON.stringify(answer)}`,
  )
}

/** All items of a list, read page by page. */
export async function pagesOf<Item>(
  ask: (cursor: string | undefined) => Promise<Listed<Item>>,
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  for (let page = 0; page < 100_000; page++) {
    const listed = await ask(cursor)
    items.push(...listed.items)
    if (listed.cursor === undefined) return items
    cursor = listed.cursor
  }
  return assert.fail('the list still has a cursor after 100,000 pages')
}

export async function rowsOf(store: Store, namespace = NAMESPACE): Promise<TimerRow[]> {
  return await pagesOf((cursor) => store.list({ namespace, limit: 1000, cursor }))
}

/** Everything that can be read from a store. */
export async function stateOf(store: Store) {
  const namespace = NAMESPACE
  const settings = await store.settings('')
  const dead = await pagesOf((cursor) => store.deadLetters({ namespace, limit: 100, cursor }))
  return {
    shards: await store.shards(),
    counts: await store.counts(),
    rowCount: await store.countRows(),
    rows: (await rowsOf(store)).map(plain),
    dead: dead.map(({ id, row, diedAt, reason }) => ({ id, row: plain(row), diedAt, reason })),
    history: await pagesOf((cursor) => store.history({ namespace, limit: 100, cursor })),
    settings: settings.toSorted((a, b) => a.name.localeCompare(b.name)),
  }
}

/** Whatever `attempt` does, nothing that can be read may change. */
export async function changesNothing(store: Store, attempt: () => Promise<unknown>): Promise<void> {
  const before = await stateOf(store)
  await attempt()
  assert.deepEqual(await stateOf(store), before, 'the state of the store has changed')
}

/** The counters must account for every timer that was ever created. */
export async function addsUp(store: Store): Promise<void> {
  const { created, settled, cancelled, replaced, dead } = await store.counts()
  const rows = await store.countRows()
  assert.equal(
    created,
    rows + settled + cancelled + replaced + dead,
    `created=${created} rows=${rows} settled=${settled} cancelled=${cancelled} replaced=${replaced} dead=${dead}`,
  )
  await talliesAddUp(store, rows)
}

/** So must the counters of each shard, and their sums must be those of the store. */
async function talliesAddUp(store: Store, rows: number): Promise<void> {
  const sum = { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
  let rowSum = 0
  for (const { shard, counts, rows: own } of await store.tallies()) {
    const { created, settled, cancelled, replaced, dead } = counts
    assert.equal(
      created,
      own + settled + cancelled + replaced + dead,
      `shard ${shard}: created=${created} rows=${own} settled=${settled} cancelled=${cancelled} replaced=${replaced} dead=${dead}`,
    )
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name]
    rowSum += own
  }
  assert.deepEqual([sum, rowSum], [await store.counts(), rows])
}

export function cancelOf(name: TimerName): Extract<Operation, { readonly type: 'cancel' }> {
  const { namespace, kind, key } = name
  return { type: 'cancel', namespace, kind, key }
}

export function moveOf(name: TimerName, position: number): Extract<Operation, { readonly type: 'move' }> {
  const { namespace, kind, key } = name
  return { type: 'move', namespace, kind, key, position, dueAt: position }
}

/** A dead letter as a string, without its id. */
export function shownLetter({
  row,
  diedAt,
  reason,
}: {
  row: TimerRow
  diedAt: number
  reason: string
}): string {
  return JSON.stringify([plain(row), diedAt, reason])
}
