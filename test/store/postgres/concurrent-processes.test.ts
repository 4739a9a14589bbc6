import { describe, expect, it } from 'vitest'
import type { ClaimSettlement, Operation } from '../../../src/store/index.js'
import { Random } from '../../../src/testing/index.js'
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { eventually } from '../../eventually.js'
import { newSchema, openStoreIn, sql, usePostgres } from './scratch.js'

usePostgres()

const NAMES = 120

describe('three PostgreSQL stores with the strategy claim on one schema', () => {
  it('end every timer once, lose none, and count each one', async () => {
    const schema = newSchema()
    const stores = await Promise.all(
      [1, 2, 3].map(() => openStoreIn({ schema, strategy: 'claim', shardCount: 4 })),
    )
    const ended = new Map<number, string[]>()
    const until = Date.now() + 4000
    const workers = stores.flatMap((store, i) => [
      ...[0, 1].map((j) => claimer(store, i * 10 + j, until, ended)),
      ...[2, 3].map((j) => writer(store, i * 10 + j, until, ended)),
    ])
    await Promise.all(workers)
    const twice = [...ended].filter(([, ends]) => ends.length > 1)
    expect(twice).toEqual([])
    const counts = await stores[0]!.counts()
    const rows = await stores[0]!.countRows()
    const { created, settled, cancelled, replaced, dead } = counts
    expect(created).toBe(rows + settled + cancelled + replaced + dead)
    const countOf = (end: string) => [...ended.values()].filter(([first]) => first === end).length
    expect({ settled, cancelled, replaced, dead }).toEqual({
      settled: countOf('done'),
      cancelled: countOf('cancelled'),
      replaced: countOf('replaced'),
      dead: countOf('dead'),
    })
    expect(Math.min(settled, cancelled, replaced, dead)).toBeGreaterThan(20)
  })
})

describe('50,000 timers in the future', () => {
  it('are not read by calls that look for due timers', async () => {
    const owned = await openStoreIn({ shardCount: 1, maxConnections: 1 })
    const claims = await openStoreIn({ strategy: 'claim', maxConnections: 1 })
    const at = Date.now() + 3_600_000
    const claim = { shard: 0, owner: 'test', nonce: 7, leaseMs: 60_000, expectedEpoch: 0 }
    const { epoch, nonce, settledLevel, readLevel } = (await owned.acquire(claim))!
    const fence = { shard: 0, epoch, nonce, settledLevel }
    const request = { from: readLevel, untilExclusive: Date.now() - 10_000, limit: 1000, limitBytes: 1e6 }
    const nobody = [{ type: 'cancel', namespace: 'test', kind: 'k', key: 'nobody' } as const]
    // The only connection keeps the plans that it made while the tables were empty.
    const { readLevel: from } = await owned.load(fence, request)
    await owned.write(fence, { operations: nobody })
    await claims.write(undefined, { operations: nobody })
    expect(await claims.claimDue({ owner: 'me', limit: 1000, leaseMs: 1000 })).toEqual([])
    for (const { schema } of [owned, claims]) {
      await sql(
        `insert into "${schema}".timer (shard, position, revision, identity, created_at, due_at, attempt, occurrence,
          namespace, kind, key, tags, details, payload)
        select 0, $1::bigint + n, n, n, 0, $1::bigint + n, 0, 0, 'test', 'far', 'far-' || n, '{}', '', ''
        from generate_series(1, 50000) n`,
        [at],
      )
      await sql(`update "${schema}".shard set last_revision = 50000`)
      await sql(`select setval('"${schema}".revision', 50000)`)
    }
    const before = await readTuples(owned, claims)
    const soon = Array.from({ length: 10 }, (_, i) => setOf(i, i + 1, Date.now() - 1000))
    await owned.write(fence, { operations: soon })
    await owned.write(fence, { operations: nobody })
    await claims.write(undefined, { operations: [...soon, ...nobody] })
    expect((await owned.load(fence, { ...request, from, untilExclusive: Date.now() })).page.size).toBe(10)
    expect(await claims.claimDue({ owner: 'me', limit: 1000, leaseMs: 1000 })).toHaveLength(10)
    await owned.sweep(fence)
    const after = await readTuples(owned, claims)
    expect(after - before).toBeLessThan(500)
    // A scan of the whole table shows that the statistics count rows at all.
    await owned.countRows()
    await eventually(async () => expect((await readTuples(owned, claims)) - after).toBeGreaterThan(40_000))
  })
})

/** How many rows and index entries the server has read so far. */
async function readTuples(...stores: readonly PostgresStore[]): Promise<number> {
  // A connection reports its statistics after a second of idling, or when it ends.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  await Promise.all(stores.map((store) => store.now()))
  await new Promise((resolve) => setTimeout(resolve, 500))
  const [row] = await sql(
    `select (select sum(coalesce(seq_tup_read, 0)) from pg_stat_user_tables
        where relname = 'timer' and schemaname = any ($1))
      + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'timer' and schemaname = any ($1)) as read`,
    [stores.map((store) => store.schema)],
  )
  return Number(row!['read'])
}

/** Sets, moves, replaces and cancels the same few names, and records which timers ended. */
async function writer(store: PostgresStore, seed: number, until: number, ended: Map<number, string[]>) {
  const random = new Random(seed + 1)
  for (let round = 1; Date.now() < until; round++) {
    const operations = Array.from({ length: 1 + random.below(12) }, (_, i): Operation => {
      const name = { namespace: 'test', kind: 'k', key: `key-${random.below(NAMES)}` }
      if (random.chance(0.3)) return { type: 'cancel', ...name }
      const at = Date.now() + random.below(200) - 100
      if (random.chance(0.2)) return { type: 'move', ...name, dueAt: at, position: at }
      return setOf(name.key, (seed * 1e6 + round) * 100 + i + 1, at)
    })
    const { answers } = await store.write(undefined, { operations })
    for (const answer of answers) {
      if (answer.outcome === 'cancelled') note(ended, answer.removed.identity, 'cancelled')
      if (answer.outcome === 'set' && answer.replaced) note(ended, answer.replaced.identity, 'replaced')
    }
  }
}

/** Claims due timers, forgets some of them, and settles the rest. */
async function claimer(store: PostgresStore, seed: number, until: number, ended: Map<number, string[]>) {
  const random = new Random(seed + 1)
  while (Date.now() < until) {
    const leaseMs = random.chance(0.3) ? 5 : 2000
    const claimed = await store.claimDue({ owner: String(seed), limit: 1 + random.below(20), leaseMs })
    if (random.chance(0.2)) await new Promise((resolve) => setTimeout(resolve, 10))
    const settlements = claimed.flatMap(({ token, row }): ClaimSettlement[] => {
      const progress = { dueAt: Date.now(), attempt: row.attempt + 1, occurrence: row.occurrence }
      switch (random.weighted({ done: 50, released: 10, again: 20, dead: 15, forgotten: 5 })) {
        case 'done':
          return [{ token, outcome: 'done' }]
        case 'released':
          return [{ token, outcome: 'released' }]
        case 'again':
          return [{ token, outcome: 'follow-up', progress }]
        case 'dead':
          return [{ token, outcome: 'dead', reason: 'chance', diedAt: 1 }]
        case 'forgotten':
          return []
      }
    })
    await store.extend(
      settlements.map(({ token }) => token),
      1000,
    )
    const held = await store.settleClaimed(settlements, [])
    for (const [i, { outcome, token }] of settlements.entries()) {
      if (held[i] === true && (outcome === 'done' || outcome === 'dead')) {
        note(ended, token.identity, outcome)
      }
    }
  }
}

function note(ended: Map<number, string[]>, identity: number, end: string): void {
  ended.set(identity, [...(ended.get(identity) ?? []), end])
}

function setOf(
  key: string | number,
  identity: number,
  position: number,
): Operation & { readonly type: 'set' } {
  const content = { createdAt: 1, payload: new Uint8Array([1]), tags: [], details: '' }
  const progress = { dueAt: position, attempt: 0, occurrence: 0, position }
  return { type: 'set', namespace: 'test', kind: 'k', key: String(key), identity, ...content, ...progress }
}
