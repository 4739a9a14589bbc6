import pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Fence, SetOperation } from '../../../src/store/index.js'
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { newSchema, openStoreIn, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const DUE = Date.now() + 3_600_000
const nothing = { done: [], dead: [], followUps: [], history: [] }
let count = 0

function setOf(key: string, more: Partial<SetOperation> = {}): SetOperation {
  const content = {
    namespace: 'n',
    kind: 'k',
    key,
    identity: ++count,
    createdAt: 1,
    tags: [],
    details: '',
  }
  const payload = new Uint8Array([count & 255])
  return { type: 'set', ...content, payload, dueAt: DUE, attempt: 0, occurrence: 0, position: DUE, ...more }
}

/** All values of a timer that a set gives, to compare them. */
function valuesOf(row: Omit<SetOperation, 'type'>): unknown[] {
  const { namespace, kind, key, identity, createdAt, tags, details, payload } = row
  const content = [namespace, kind, key, identity, createdAt, tags, details, [...payload]]
  return [...content, row.dueAt, row.attempt, row.occurrence, row.position]
}

async function own(store: PostgresStore, shard: number, owner = 'me'): Promise<Fence> {
  const rows = await store.shards()
  const claim = { shard, owner, nonce: ++count, leaseMs: 60_000, expectedEpoch: rows[shard]!.epoch }
  const { epoch, nonce, settledLevel } = (await store.acquire(claim))!
  return { shard, epoch, nonce, settledLevel }
}

const writing = ['insert_plain', 'write_owned', 'settle', 'settle_levels']

/** How often functions, by default those that write, were called in a schema by a store that was stopped. */
async function callsIn(schema: string, functions: readonly string[] = writing): Promise<number> {
  // A session reports its calls while it ends, a moment after the client has left.
  await expect
    .poll(
      () =>
        sql(`select 1 from pg_stat_activity where pid <> pg_backend_pid() and query like $1`, [
          `%"${schema}"%`,
        ]),
      { timeout: 10_000, interval: 10 },
    )
    .toEqual([])
  const [row] = await sql(
    `select coalesce(sum(calls), 0)::integer as calls from pg_stat_user_functions
    where schemaname = $1 and funcname = any ($2::text[])`,
    [schema, functions],
  )
  return Number(row!['calls'])
}

describe('a PostgreSQL store that gets calls for many shards in one turn', () => {
  it('stores every timer as it was set', async () => {
    const store = await openStoreIn({ shardCount: 16 })
    const fences = await Promise.all(Array.from({ length: 16 }, (_, shard) => own(store, shard)))
    const sets = fences.map(({ shard }) => [
      setOf(`a${shard}`, { kind: `kind ${shard}`, details: `details ${shard}`, dueAt: DUE - 7 }),
      setOf(`b${shard}`, { tags: ['x', `y${shard}`], attempt: shard, occurrence: 3, createdAt: shard }),
    ])
    const answers = await Promise.all(
      fences.map((fence, i) => store.write(fence, { operations: sets[i]!, ifInboxEmpty: true })),
    )
    for (const { answers: both } of answers) {
      expect(both).toMatchObject([
        { outcome: 'set', place: { position: DUE, revision: 1 }, replaced: undefined },
        { outcome: 'set', place: { position: DUE, revision: 2 }, replaced: undefined },
      ])
    }
    const { items } = await store.list({ namespace: 'n', limit: 100 })
    expect(items.map(valuesOf)).toEqual(sets.flat().map(valuesOf))
    expect(await store.counts()).toMatchObject({ created: 32 })
  })

  it('sends one statement for the sets and one for the settlements of 32 shards', async () => {
    await sql(`alter database postgres set track_functions = 'all'`)
    const schema = newSchema()
    const store = await openStoreIn({ shardCount: 32, schema })
    const fences = await Promise.all(Array.from({ length: 32 }, (_, shard) => own(store, shard)))
    await Promise.all(fences.map((fence) => store.write(fence, { operations: [setOf(`c${fence.shard}`)] })))
    await Promise.all(
      fences.map((fence, id) =>
        store.settle(fence, { ...nothing, id: id + 1, level: { position: 0, revision: 0 }, settledCount: 1 }),
      ),
    )
    expect(await store.counts()).toMatchObject({ created: 32, settled: 32 })
    await store.stop()
    expect(await callsIn(schema)).toBe(2)
  })

  it('sets and settles for the others if one shard was lost and another has requests waiting', async () => {
    const store = await openStoreIn({ shardCount: 4 })
    const fences = await Promise.all([0, 1, 2, 3].map((shard) => own(store, shard)))
    const lost = { ...fences[1]!, nonce: 999_999 }
    const { type, position: _, ...asked } = setOf('waiting')
    await store.append([{ id: 'r', shard: 2, deadline: Date.now() + 60_000, operation: { type, ...asked } }])
    const outcomes = await Promise.allSettled(
      [fences[0]!, lost, fences[2]!, fences[3]!].map((fence) =>
        store.write(fence, { operations: [setOf(`d${fence.shard}`)], ifInboxEmpty: true }),
      ),
    )
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'fenced' } },
      { status: 'rejected', reason: { code: 'inbox-first' } },
      { status: 'fulfilled' },
    ])
    expect(await store.countRows()).toBe(2)
    const unmoved = { ...nothing, level: { position: 0, revision: 0 } }
    const settled = await Promise.allSettled(
      [fences[0]!, lost].map((fence) => store.settle(fence, { ...unmoved, id: 9, settledCount: 5 })),
    )
    expect(settled).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'fenced' } },
    ])
    expect(await store.counts()).toMatchObject({ created: 2, settled: 5 })
  })

  it('moves, cancels and replaces for 32 shards by one statement, with the same answers as alone', async () => {
    await sql(`alter database postgres set track_functions = 'all'`)
    const schema = newSchema()
    const store = await openStoreIn({ shardCount: 32, schema })
    const fences = await Promise.all(Array.from({ length: 32 }, (_, shard) => own(store, shard)))
    const sets = fences.map(({ shard }) => ['a', 'b', 'c'].map((name) => setOf(`${name}${shard}`)))
    await Promise.all(fences.map((fence, i) => store.write(fence, { operations: sets[i]! })))
    const named = { namespace: 'n', kind: 'k' }
    const answers = await Promise.all(
      fences.map((fence, i) =>
        store.write(fence, {
          operations: [
            { type: 'move', ...named, key: `a${i}`, dueAt: DUE + i, position: DUE + i },
            { type: 'cancel', ...named, key: `b${i}` },
            setOf(`c${i}`, { identity: 1_000_000 + i }),
            { type: 'cancel', ...named, key: `nobody${i}` },
            // It depends on the set before it.
            { type: 'move', ...named, key: `c${i}`, dueAt: DUE + 7, position: DUE + 7 },
          ],
        }),
      ),
    )
    for (const [i, { answers: five }] of answers.entries()) {
      const [a, b, c] = sets[i]!.map(({ identity }) => identity)
      expect(five).toMatchObject([
        { outcome: 'moved', row: { key: `a${i}`, identity: a, revision: 4 }, from: { revision: 1 } },
        { outcome: 'cancelled', removed: { identity: b, revision: 2 } },
        { outcome: 'set', place: { revision: 6 }, replaced: { identity: c, revision: 3 } },
        { outcome: 'unknown' },
        { outcome: 'moved', row: { identity: 1_000_000 + i, revision: 8 }, from: { revision: 6 } },
      ])
    }
    const later = await Promise.all(
      fences.map((fence) => store.write(fence, { operations: [setOf(`d${fence.shard}`)] })),
    )
    expect(later.map((answer) => answer.answers)).toMatchObject(
      fences.map(() => [{ outcome: 'set', place: { revision: 9 } }]),
    )
    expect(await store.counts()).toMatchObject({ created: 160, cancelled: 32, replaced: 32 })
    expect(await store.countRows()).toBe(96)
    await store.stop()
    expect(await callsIn(schema)).toBe(3)
  })

  it('cancels for the others if one shard was lost and another has requests waiting', async () => {
    const store = await openStoreIn({ shardCount: 4 })
    const fences = await Promise.all([0, 1, 2, 3].map((shard) => own(store, shard)))
    await Promise.all(fences.map((fence) => store.write(fence, { operations: [setOf(`e${fence.shard}`)] })))
    const lost = { ...fences[1]!, nonce: 999_999 }
    const { type, position: _, ...asked } = setOf('waiting')
    await store.append([{ id: 'r2', shard: 2, deadline: Date.now() + 60_000, operation: { type, ...asked } }])
    const outcomes = await Promise.allSettled(
      [fences[0]!, lost, fences[2]!, fences[3]!].map((fence) => {
        const cancel = { type: 'cancel', namespace: 'n', kind: 'k', key: `e${fence.shard}` } as const
        return store.write(fence, { operations: [cancel], ifInboxEmpty: true })
      }),
    )
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { answers: [{ outcome: 'cancelled' }] } },
      { status: 'rejected', reason: { code: 'fenced' } },
      { status: 'rejected', reason: { code: 'inbox-first' } },
      { status: 'fulfilled', value: { answers: [{ outcome: 'cancelled' }] } },
    ])
    expect(await store.counts()).toMatchObject({ created: 4, cancelled: 2 })
    expect(await store.countRows()).toBe(2)
  })

  it('sets for the others if one set is below the settled level of its shard', async () => {
    const store = await openStoreIn({ shardCount: 2 })
    const [first, second] = await Promise.all([own(store, 0), own(store, 1)])
    const level = { position: Date.now() - 1000, revision: 0 }
    const from = { position: 0, revision: 0 }
    await store.load(first, { from, untilExclusive: level.position, limit: 10, limitBytes: 1e6 })
    await store.settle(first, { ...nothing, id: 1, level, settledCount: 0 })
    const low = setOf('low', { position: level.position - 1, dueAt: level.position - 1 })
    const [refused, other] = await Promise.all([
      store.write(first, { operations: [setOf('high'), low] }),
      store.write(second, { operations: [setOf('other')] }),
    ])
    expect(refused.answers).toMatchObject([
      { outcome: 'set' },
      { outcome: 'below-level', settledLevel: level },
    ])
    expect(other.answers).toMatchObject([{ outcome: 'set' }])
    expect(await store.counts()).toMatchObject({ created: 2 })
  })

  it('judges each operation for all shards if one name is taken', async () => {
    const store = await openStoreIn({ shardCount: 2 })
    const [first, second] = await Promise.all([own(store, 0), own(store, 1)])
    const before = setOf('same')
    await store.write(first, { operations: [before] })
    const [replaced, other] = await Promise.all([
      store.write(first, { operations: [setOf('same')] }),
      store.write(second, { operations: [setOf('other')] }),
    ])
    expect(replaced.answers).toMatchObject([
      { outcome: 'set', replaced: { identity: before.identity, revision: 1 } },
    ])
    expect(other.answers).toMatchObject([{ outcome: 'set', replaced: undefined }])
    expect(await store.counts()).toMatchObject({ created: 3, replaced: 1 })
  })

  it('renews the leases of the others while one shard row is locked', async () => {
    const store = await openStoreIn({ shardCount: 3 })
    const fences = await Promise.all([0, 1, 2].map((shard) => own(store, shard)))
    const blocker = new pg.Client({ connectionString: thisServer().url })
    await blocker.connect()
    try {
      await blocker.query('begin')
      await blocker.query(`select 1 from "${store.schema}".shard where shard = 1 for update`)
      let isHeldRenewed = false
      const held = store.renew(fences[1]!, 60_000).then(() => (isHeldRenewed = true))
      const others = await Promise.all([fences[0]!, fences[2]!].map((fence) => store.renew(fence, 60_000)))
      expect(others.map(({ shard }) => shard)).toEqual([0, 2])
      expect(isHeldRenewed).toBe(false)
      await blocker.query('rollback')
      await held
    } finally {
      await blocker.end()
    }
  })
})

describe('reading the requests of a PostgreSQL inbox', () => {
  it('does not wait for a writer of the shard if the inbox is empty, and finds later requests', async () => {
    const schema = newSchema()
    const store = await openStoreIn({ schema })
    const fences = [await own(store, 0), await own(store, 1)]
    const writer = new pg.Client({ connectionString: thisServer().url })
    await writer.connect()
    try {
      await writer.query('begin')
      await writer.query(`select 1 from "${schema}".shard for update`)
      expect(await Promise.all(fences.map((fence) => store.requests(fence, 10)))).toEqual([[], []])
      await writer.query('rollback')
    } finally {
      await writer.end()
    }
    await store.append([{ id: 'one', shard: 1, deadline: Date.now() + 60_000, operation: setOf('a') }])
    const found = await Promise.all(fences.map((fence) => store.requests(fence, 10)))
    expect(found.map((requests) => requests.map(({ id }) => id))).toEqual([[], ['one']])
  })

  it('reads an inbox with many bytes by itself, because an answer has a limit', async () => {
    await sql(`alter database postgres set track_functions = 'all'`)
    const schema = newSchema()
    const store = await openStoreIn({ schema })
    const fences = [await own(store, 0), await own(store, 1), await own(store, 2)]
    const payload = new Uint8Array(100_000).fill(7)
    const requests = ['small', 'large 1', 'large 2'].map((id) => {
      const isSmall = id === 'small'
      const operation = isSmall ? setOf(id) : setOf(id, { payload })
      return { id, shard: isSmall ? 0 : 1, deadline: Date.now() + 60_000, operation }
    })
    for (const request of requests) await store.append([request])
    const found = await Promise.all(fences.map((fence) => store.requests(fence, 10)))
    expect(found.map((all) => all.map(({ id }) => id))).toEqual([['small'], ['large 1', 'large 2'], []])
    const { operation } = found[1]![1]!
    expect('payload' in operation && Buffer.from(payload).equals(operation.payload)).toBe(true)
    await store.stop()
    expect(await callsIn(schema, ['requests'])).toBe(1)
  })

  it('is refused for an old owner even if the inbox is empty', async () => {
    const store = await openStoreIn()
    const old = await own(store, 0)
    await store.release(old)
    await own(store, 0, 'another')
    await expect(store.requests(old, 10)).rejects.toMatchObject({ code: 'fenced' })
  })
})
