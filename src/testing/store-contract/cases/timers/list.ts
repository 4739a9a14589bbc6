import assert from 'node:assert/strict'
import { hasSchedule, type ListQuery } from '../../../../store/index.js'
import { comparePlaces, shardOf, type TimerRow } from '../../../../timer/index.js'
import {
  answerOf,
  cancelOf,
  keysOf,
  NAMESPACE,
  pagesOf,
  refused,
  rowsOf,
  sameRows,
  setOf,
} from '../../sample.js'
import { rowOf } from '../../timer-fields.js'
import type { Owner } from '../../owner.js'
import type { Suite } from '../../suite.js'
import type { World } from '../../world.js'

/** Reads without a fence: by name, in lists with filters and cursors, and as a histogram. */
export function describeList(suite: Suite): void {
  suite.case('find answers timers in the order of the given names', async (world) => {
    const owner = await world.own()
    const rows = await owner.setAt(world.now() + 1, world.now() + 2)
    const found = await world.store.find([rows[1]!, world.newName(), rows[0]!, rows[1]!])
    assert.deepEqual(
      found.map((row) => row?.key),
      [rows[1]!.key, undefined, rows[0]!.key, rows[1]!.key],
    )
    assert.deepEqual(await world.store.find([]), [])
  })

  suite.case(
    'list is in the order of shard and place for every page size',
    async (world) => {
      const rows = await everyShard(world, 60)
      for (const limit of [1, 7, 59, 1000]) {
        const listed = await pagesOf(async (cursor) => {
          const page = await world.store.list({ namespace: NAMESPACE, limit, cursor })
          assert.ok(page.items.length <= limit, `a page of ${page.items.length} for a limit of ${limit}`)
          assert.equal(page.isComplete, true)
          assert.ok(page.looked <= rows.length, `${page.looked} of ${rows.length} rows looked at`)
          return page
        })
        sameRows(listed, rows, `limit ${limit}`)
      }
    },
    { shardCount: 4 },
  )

  suite.case('every filter of list keeps exactly the matching timers', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const rows = await mixedRows(world, owner, at)
    const filters: readonly (readonly [Partial<ListQuery>, (row: TimerRow) => boolean])[] = [
      [{}, () => true],
      [{ kind: 'mail' }, (row) => row.kind === 'mail'],
      [{ kind: 'nothing' }, () => false],
      [{ keyPrefix: 'user_1' }, (row) => row.key.startsWith('user_1')],
      [{ keyPrefix: 'user%' }, () => false],
      [{ keyPrefix: 'ser_' }, () => false],
      [{ keyPrefix: '' }, () => true],
      [{ keyPart: 'er_1' }, (row) => row.key.includes('er_1')],
      [{ keyPart: '_é' }, (row) => row.key.includes('_é')],
      [{ keyPart: 'é_' }, () => false],
      [{ keyPart: 'r_1%' }, () => false],
      ...(['kind', 'keyPrefix', 'keyPart', 'tag'] as const).map(
        (name) => [{ [name]: 'user_\u0000' }, () => false] as const,
      ),
      [{ keyPart: '\ud83d' }, () => false],
      [{ kind: 'mail', keyPrefix: 'user', keyPart: '2' }, (row) => row.kind === 'mail' && /2/.test(row.key)],
      [{ attemptFromInclusive: 1 }, (row) => row.attempt >= 1],
      [{ attemptFromInclusive: 3 }, (row) => row.attempt >= 3],
      [{ attemptUntilExclusive: 1 }, (row) => row.attempt === 0],
      [
        { attemptFromInclusive: 1, attemptUntilExclusive: 3 },
        (row) => row.attempt === 1 || row.attempt === 2,
      ],
      [{ isRecurring: true }, (row) => hasSchedule(row.details)],
      [{ isRecurring: false }, (row) => !hasSchedule(row.details)],
      [{ isRecurring: true, tag: 'red' }, (row) => hasSchedule(row.details) && row.tags.includes('red')],
      [{ tag: 'red' }, (row) => row.tags.includes('red')],
      [{ tag: 're' }, () => false],
      [{ dueFromInclusive: at + 5 }, (row) => row.dueAt >= at + 5],
      [{ dueUntilExclusive: at + 5 }, (row) => row.dueAt < at + 5],
      [{ dueFromInclusive: at + 3, dueUntilExclusive: at + 4 }, (row) => row.dueAt === at + 3],
      [
        { kind: 'mail', keyPrefix: 'user_', tag: 'red', dueFromInclusive: at + 1, dueUntilExclusive: at + 9 },
        (row) => row.kind === 'mail' && row.tags.includes('red') && row.dueAt > at && row.dueAt < at + 9,
      ],
    ]
    for (const [filter, isAsked] of filters) {
      const expected = rows.filter(isAsked)
      for (const limit of [2, 100]) {
        const listed = await pagesOf((cursor) =>
          world.store.list({ namespace: NAMESPACE, limit, cursor, ...filter }),
        )
        sameRows(listed, expected, JSON.stringify(filter))
      }
    }
    assert.equal((await rowsOf(world.store, `${NAMESPACE}-2`)).length, 1)
    assert.deepEqual(await rowsOf(world.store, 'nowhere'), [])
  })

  suite.case('a timer that exists from the first page to the last is listed once', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const rows = await owner.setAt(...Array.from({ length: 50 }, (_, i) => at + (i >> 2)))
    let page = 0
    const listed = await pagesOf(async (cursor) => {
      if (page++ > 0) {
        await owner.setAt(at, at + 30)
        await owner.write(cancelOf(rows[page]!))
      }
      return await world.store.list({ namespace: NAMESPACE, limit: 6, cursor })
    })
    const keys = keysOf(listed)
    assert.equal(new Set(keys).size, keys.length, 'something was listed twice')
    const current = keysOf(rows.filter((_, i) => i < 2 || i > page))
    assert.deepEqual(
      current.filter((key) => !keys.includes(key)),
      [],
    )
  })

  suite.case(
    'a page of list ends when its time budget is used up, and its cursor continues',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      const rows = await owner.setAt(...Array.from({ length: 10_000 }, (_, i) => at + i))
      const query = { namespace: NAMESPACE, limit: 20_000, budgetMs: 1 }
      world.clock.runsWhenRead = true
      const none = await world.store.list({ ...query, tag: 'nobody has it' })
      assert.deepEqual(none.items, [])
      assert.notEqual(none.cursor, undefined, 'it looked at 10,000 rows although its time was over')
      assert.equal(none.isComplete, false)
      let looked = 0
      const listed = await pagesOf(async (cursor) => {
        const page = await world.store.list({ ...query, budgetMs: 0, cursor })
        assert.equal(page.isComplete, page.cursor === undefined)
        assert.ok(
          page.looked > looked,
          `a page looked at ${page.looked} rows in all, the one before at ${looked}`,
        )
        looked = page.looked
        return page
      })
      sameRows(listed, rows)
      assert.ok(looked >= 10_000, `it looked at ${looked} of 10,000 rows`)
    },
  )

  suite.case('a due window does not look at the timers outside of it', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    await owner.setAt(...Array.from({ length: 5000 }, (_, i) => at + i))
    const rows = await owner.setAt(...Array.from({ length: 5 }, (_, i) => at + 1_000_000 + i))
    await owner.setAt(...Array.from({ length: 5000 }, (_, i) => at + 2_000_000 + i))
    const window = { dueFromInclusive: at + 1_000_001, dueUntilExclusive: at + 1_000_004 }
    world.clock.runsWhenRead = true
    const page = await world.store.list({ namespace: NAMESPACE, limit: 100, budgetMs: 1, ...window })
    sameRows(page.items, rows.slice(1, 4))
  })

  suite.case('a due window has the timers that are put back to another position', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const offsets = [-5000, -3, 0, 2, 9000]
    const sets = offsets.map((offset) => setOf(world.newName(), at + 10_000 + offset, { dueAt: at + 10_000 }))
    await owner.set(...sets, setOf(world.newName(), at + 10_000, { dueAt: at + 20_000 }))
    // Every row whose position is not its due time is below the read level.
    await owner.load(at + 100_000)
    const window = { dueFromInclusive: at + 10_000, dueUntilExclusive: at + 10_001 }
    for (const limit of [1, 2, 100]) {
      const listed = await pagesOf((cursor) =>
        world.store.list({ namespace: NAMESPACE, limit, cursor, ...window }),
      )
      assert.deepEqual(keysOf(listed), keysOf(sets), `limit ${limit}`)
    }
  })

  suite.case('list stops when its signal is aborted', async (world) => {
    const owner = await world.own()
    await owner.setAt(...Array.from({ length: 3000 }, (_, i) => world.now() + i))
    const reason = new Error('the caller has gone')
    const before = AbortSignal.abort(reason)
    const during = new AbortController()
    const query = { namespace: NAMESPACE, limit: 10_000, tag: 'nobody has it' }
    const rejected = [before, during.signal].map((signal) =>
      world.store.list({ ...query, signal }).then(
        () => 'answered',
        (error: unknown) => error,
      ),
    )
    during.abort(reason)
    assert.deepEqual(await Promise.all(rejected), [reason, reason])
    assert.deepEqual((await world.store.list(query)).items, [])
  })

  suite.case('a cursor that is invalid or belongs to another query is refused', async ({ store }) => {
    const cursor = 'not a cursor'
    await refused('list', () => store.list({ namespace: 'n', limit: 1, cursor }), 'invalid-cursor')
    await refused('dead', () => store.deadLetters({ namespace: 'n', limit: 1, cursor }), 'invalid-cursor')
    await refused('history', () => store.history({ namespace: 'n', limit: 1, cursor }), 'invalid-cursor')
  })

  suite.case('a made-up cursor gets a page or a refusal, and disturbs no write', async (world) => {
    const owner = await world.own()
    await owner.setAt(world.now() + 1000, world.now() + 2000)
    for (const cursor of madeUpCursors()) {
      // In one turn with the reads, so that a store which commits in groups takes them together.
      const writing = owner.setAt(world.now() + 3000)
      const query = { namespace: 'n', limit: 2, cursor }
      const reads = [
        () => world.store.list(query),
        () => world.store.deadLetters(query),
        () => world.store.history(query),
      ]
      await Promise.all(reads.map((read) => pageOrRefusal(cursor, read)))
      await writing
    }
    assert.equal((await rowsOf(world.store)).length, 2 + madeUpCursors().length)
  })

  suite.case('histogram counts the timers due in each half-open slice', async (world) => {
    const owner = await world.own()
    const at = world.now() + 100_000
    const dues = [-1, 0, 9, 10, 10, 19, 25, 29, 30].map((offset) => at + offset)
    const sets = dues.map((dueAt) => setOf(world.newName(), dueAt + 1_000_000, { dueAt }))
    await owner.set(...sets, setOf({ ...world.newName(), kind: 'other' }, at, { dueAt: at + 5 }))
    const slices = async (untilExclusive: number, parts = {}) => [
      ...(await world.store.histogram({ fromInclusive: at, untilExclusive, sliceMs: 10, ...parts })),
    ]
    assert.deepEqual(await slices(at + 30), [3, 3, 2])
    assert.deepEqual(await slices(at + 25), [3, 3, 0], 'the last slice is cut')
    assert.deepEqual(await slices(at + 30, { kind: 'sample', namespace: NAMESPACE }), [2, 3, 2])
    assert.deepEqual(await slices(at + 30, { kind: 'other' }), [1, 0, 0])
    assert.deepEqual(await slices(at + 30, { namespace: 'nowhere' }), [0, 0, 0])
    const [first] = await world.store.find([sets[3]!])
    await owner.write(cancelOf(first!))
    assert.deepEqual(await slices(at + 30), [3, 2, 2])
  })

  suite.case(
    'countKinds counts the timers of each kind by the slice in which they are due',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 100_000
      const other = { ...world.newName(), kind: 'other' }
      const elsewhere = { ...world.newName(), namespace: 'elsewhere' }
      const dues = [0, 9, 10, 30, 2_000_000].map((offset) => at + offset)
      // Their position is not their due time.
      const sets = dues.map((dueAt) => setOf(world.newName(), at + 1_000_000, { dueAt }))
      await owner.set(...sets, setOf(other, at + 5, { attempt: 2 }), setOf(elsewhere, at + 7))
      const counted = async (namespace?: string) =>
        (
          await world.store.countKinds({
            edges: [at, at + 10, at + 30, at + 40],
            ...(namespace !== undefined && { namespace }),
          })
        ).toSorted((a, b) => (a.namespace + a.kind < b.namespace + b.kind ? -1 : 1))
      const own = [
        { namespace: NAMESPACE, kind: 'other', counts: [1, 0, 0], attempted: 1, firstDueAt: at + 5 },
        { namespace: NAMESPACE, kind: 'sample', counts: [2, 1, 1], attempted: 0, firstDueAt: at },
      ]
      assert.deepEqual(await counted(NAMESPACE), own)
      const foreign = { namespace: 'elsewhere', kind: elsewhere.kind, counts: [1, 0, 0], attempted: 0 }
      assert.deepEqual(await counted(), [...own, { ...foreign, firstDueAt: at + 7 }])
      assert.deepEqual(await counted('nowhere'), [])
      assert.deepEqual(await world.store.countKinds({ edges: [] }), [])
      const [first] = await world.store.find([sets[0]!])
      await owner.write(cancelOf(first!))
      assert.deepEqual((await counted(NAMESPACE))[1]?.counts, [1, 1, 1])
      assert.equal((await counted(NAMESPACE))[1]?.firstDueAt, at + 9)
    },
  )
}

/** Cursors of the usual form with parts that no store wrote. */
function madeUpCursors(): string[] {
  const numbers = [
    -1,
    0.5,
    1e308,
    2 ** 53,
    2 ** 31,
    '',
    'x',
    '-1',
    '1e9',
    '999999999999999999999',
    '\u0000',
    '+',
    ')',
  ]
  const parts = numbers.flatMap((part) => [
    [part],
    [0, part],
    [0, part, 0],
    [part, 0, 0],
    [0, 0, part],
    [0, 0, 0, part],
    [part, 0, 0, 0],
    [0, part, 0, 0],
    [0, 0, part, 0],
  ])
  const texts = ['list', 'dead', 'history'].flatMap((query) =>
    [...parts, [], [null, 0, 0], [[0], 0, 0], [{}, 0, 0], [true, 0, 0]].map((each) =>
      JSON.stringify([query, ...each]),
    ),
  )
  return [...texts, '{}', 'null', '0', '""', '[', '["list"'].map((text) =>
    Buffer.from(text).toString('base64url'),
  )
}

async function pageOrRefusal(cursor: string, read: () => Promise<unknown>): Promise<void> {
  try {
    await read()
  } catch (error) {
    const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
    const text = Buffer.from(cursor, 'base64url').toString()
    if (code !== 'invalid-cursor') throw new Error(`the cursor ${text}: ${String(error)}`, { cause: error })
  }
}

/** Stores timers in every shard and answers them in the order of `list`. */
async function everyShard(world: World, count: number): Promise<TimerRow[]> {
  const { shardCount } = world.store
  const rows: TimerRow[] = []
  for (let shard = 0; shard < shardCount; shard++) {
    const owner = await world.own(shard)
    const positions = Array.from({ length: count / shardCount }, (_, i) => world.now() + ((i * 37) % 11))
    rows.push(...(await owner.setAt(...positions)).toSorted(comparePlaces))
  }
  return rows
}

/** Details with a string that contains the field of a schedule. */
const notOn = JSON.stringify({ trace: '"on":' })

/** Stores timers of two kinds with distinct tags and keys, and one of another namespace. */
async function mixedRows(world: World, owner: Owner, at: number): Promise<TimerRow[]> {
  // A trace whose text looks like a schedule is none.
  const details = [
    '',
    '{"on":{"every":60000}}',
    '{"trace":"1","on":{"cron":"* * * * *"}}',
    '{"trace":"2"}',
    notOn,
  ]
  const sets = Array.from({ length: 20 }, (_, i) =>
    setOf(
      {
        namespace: NAMESPACE,
        kind: i % 2 === 0 ? 'mail' : 'call',
        key: `user_${i % 7 === 0 ? 'é' : ''}${i}`,
      },
      at + 10 - (i >> 1),
      {
        dueAt: at + (i >> 1),
        tags: i % 3 === 0 ? ['red'] : i % 3 === 1 ? ['blue', 'red'] : [],
        attempt: i % 5 === 0 ? i >> 2 : 0,
        details: details[i % 5]!,
      },
    ),
  ).filter((set) => shardOf(set, world.store.shardCount) === 0)
  const foreign = { ...world.newName(), namespace: `${NAMESPACE}-2` }
  const answers = await owner.write(...sets, setOf(foreign, at, { tags: ['red'] }))
  // Every row whose position is not its due time is below the read level.
  await owner.load(at + 1000)
  return sets.map((set, i) => rowOf(set, answerOf(answers[i], 'set').place)).toSorted(comparePlaces)
}
