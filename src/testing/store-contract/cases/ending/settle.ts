import assert from 'node:assert/strict'
import type { FollowUp } from '../../../../store/index.js'
import { levelAfter, levelAt, type TimerRow } from '../../../../timer/index.js'
import { loadedRows } from '../../loaded-rows.js'
import { settlementOf } from '../../owner.js'
import {
  NAMESPACE,
  addsUp,
  answerOf,
  cancelOf,
  changesNothing,
  keysOf,
  moveOf,
  refused,
  rowsOf,
  samePlace,
  sameRows,
  setOf,
  stateOf,
} from '../../sample.js'
import { plain } from '../../timer-fields.js'
import type { Suite } from '../../suite.js'
import { deadOf, describeDeadTimers } from './dead-timers.js'

/** Settlements: the level is the deletion, and all parts happen in one step (rule 7). */
export function describeSettle(suite: Suite): void {
  suite.case('rows before the settled level are invisible to every reader', async (world) => {
    const { owner, rows } = await loadedRows(world, 5)
    await owner.settle(levelAfter(rows[2]!), { settledCount: 3 })
    samePlace((await owner.row()).settledLevel, levelAfter(rows[2]!))
    assert.deepEqual(keysOf(await rowsOf(world.store)), keysOf(rows.slice(3)))
    assert.equal(await world.store.countRows(), 2)
    const found = await world.store.find(rows)
    assert.deepEqual(
      found.map((row) => row?.key),
      [undefined, undefined, undefined, rows[3]!.key, rows[4]!.key],
    )
    const slices = await world.store.histogram({
      fromInclusive: rows[0]!.dueAt,
      untilExclusive: rows[0]!.dueAt + 5,
      sliceMs: 1,
    })
    assert.deepEqual([...slices], [0, 0, 0, 1, 1])
    assert.equal((await world.store.counts()).settled, 3)
    await addsUp(world.store)
  })

  suite.case('a settled level can be in the middle of a crowded millisecond', async (world) => {
    const owner = await world.own()
    const at = world.now() + 10
    const rows = await owner.setAt(...Array.from({ length: 1000 }, () => at))
    await world.clock.advance(20)
    const settled: TimerRow[] = []
    while (settled.length < 500) {
      const page = await owner.load(at + 1, { limit: 7 })
      settled.push(...page)
      await owner.settle(levelAfter(page.at(-1)!), { settledCount: page.length })
      assert.equal(await world.store.countRows(), 1000 - settled.length)
    }
    const next = await world.takeOver()
    sameRows([...settled, ...(await next.load(at + 1))], rows)
    await addsUp(world.store)
  })

  suite.case(
    'a settlement whose level falls or is above the read level or the clock is refused as a whole',
    async (world) => {
      const { owner, rows } = await loadedRows(world, 3)
      await owner.settle(levelAfter(rows[1]!), { settledCount: 2 })
      const { store } = world
      const tryLevel = (what: string, level: Parameters<typeof settlementOf>[0]) =>
        changesNothing(store, () =>
          refused(
            what,
            () =>
              store.settle(
                owner.fence,
                settlementOf(level, { settledCount: 1, done: [rows[2]!], history: [entryOf(rows[0]!)] }),
              ),
            'invalid-level',
          ),
        )
      await tryLevel('below itself', levelAfter(rows[0]!))
      await tryLevel('above the read level', levelAfter(owner.readLevel))
      await owner.load(world.now() + 60_000)
      await tryLevel('above the clock', levelAt(world.now() + 2))
      await owner.settle(levelAt(world.now()), { settledCount: 1 })
      assert.equal(await store.countRows(), 0)
    },
  )

  suite.case('the shard row has the id of the last settlement', async (world) => {
    const { owner, rows } = await loadedRows(world, 2)
    assert.equal((await owner.row()).lastSettlement, 0)
    await owner.settle(levelAfter(rows[0]!), { id: 2 ** 40 + 1, settledCount: 1 })
    assert.equal((await owner.row()).lastSettlement, 2 ** 40 + 1)
    const refusedOne = settlementOf(levelAfter(owner.readLevel), { id: 7 })
    await refused('settle', () => world.store.settle(owner.fence, refusedOne), 'invalid-level')
    assert.equal((await owner.row()).lastSettlement, 2 ** 40 + 1)
    const next = await world.takeOver()
    assert.equal((await next.row()).lastSettlement, 2 ** 40 + 1)
    await next.settle(levelAfter(rows[0]!), { id: 3 })
    assert.equal((await next.row()).lastSettlement, 3)
  })

  suite.case('a settlement at the current level is accepted', async (world) => {
    const { owner, rows } = await loadedRows(world, 2)
    await owner.settle(levelAfter(rows[0]!), { settledCount: 1 })
    await owner.settle(levelAfter(rows[0]!), { history: [entryOf(rows[0]!)] })
    const { items } = await world.store.history({ namespace: NAMESPACE, limit: 10 })
    assert.equal(items.length, 1)
  })

  suite.case('a follow-up rewrites its row and keeps content and identity', async (world) => {
    const { owner, rows } = await loadedRows(world, 3)
    const at = world.now() + 1000
    const followUps = rows.map((row, i): FollowUp => ({
      row,
      position: at + i,
      dueAt: at,
      attempt: i,
      occurrence: 5,
    }))
    const answer = await owner.settle(levelAt(world.now()), { followUps })
    assert.equal(answer.followUps.length, 3)
    for (const [i, row] of answer.followUps.entries()) {
      assert.ok(row !== undefined && row.revision > rows[i]!.revision)
      const progress = { position: at + i, dueAt: at, attempt: i, occurrence: 5, revision: row.revision }
      assert.deepEqual(plain(row), plain({ ...rows[i]!, ...progress }))
    }
    sameRows(await rowsOf(world.store), answer.followUps as TimerRow[])
    sameRows(await owner.load(at + 100), answer.followUps as TimerRow[])
    const { created, settled } = await world.store.counts()
    assert.deepEqual({ created, settled }, { created: 3, settled: 0 })
    await addsUp(world.store)
  })

  suite.case('a follow-up keeps the details of its row unless others are given', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1
    const names = [world.newName(0), world.newName(0), world.newName(0)]
    const rows = await owner.set(...names.map((name) => setOf(name, at, { details: 'old' })))
    await world.clock.advance(10)
    await owner.load(world.now())
    const progress = { position: world.now() + 100, dueAt: world.now() + 100, attempt: 1, occurrence: 0 }
    const followUps: FollowUp[] = [
      { row: rows[0]!, ...progress },
      { row: rows[1]!, ...progress, details: 'new' },
      { row: rows[2]!, ...progress, details: '' },
    ]
    const answer = await owner.settle(levelAt(world.now()), { followUps })
    const wanted = ['old', 'new', '']
    assert.deepEqual(
      answer.followUps.map((row) => row?.details),
      wanted,
    )
    const found = await world.store.find(names)
    assert.deepEqual(
      found.map((row) => row?.details),
      wanted,
    )
    const loaded = await owner.load(world.now() + 200)
    assert.deepEqual(
      loaded.map((row) => row.details),
      wanted,
    )
  })

  suite.case(
    'a follow-up does nothing when its timer was set, moved or cancelled meanwhile',
    async (world) => {
      const { owner, rows } = await loadedRows(world, 4)
      const at = world.now() + 1000
      const answers = await owner.write(setOf(rows[0]!, at), moveOf(rows[1]!, at), cancelOf(rows[2]!))
      const before = await rowsOf(world.store)
      const followUps = rows.map((row): FollowUp => ({
        row,
        position: at + 7,
        dueAt: at,
        attempt: 9,
        occurrence: 0,
      }))
      const answer = await owner.settle(levelAt(world.now()), { followUps })
      assert.deepEqual(
        answer.followUps.map((row) => row?.key),
        [undefined, undefined, undefined, rows[3]!.key],
      )
      answerOf(answers[0], 'set')
      const rest = (await rowsOf(world.store)).filter((row) => row.key !== rows[3]!.key)
      sameRows(
        rest,
        before.filter((row) => row.position >= at),
      )
      await addsUp(world.store)
    },
  )

  suite.case('a settlement with a follow-up below the level is refused as a whole', async (world) => {
    const { owner, rows } = await loadedRows(world, 2)
    const level = levelAt(world.now())
    const progress = { position: world.now() - 1, dueAt: world.now() - 1, attempt: 1, occurrence: 0 }
    const settlement = settlementOf(level, { settledCount: 1, followUps: [{ row: rows[1]!, ...progress }] })
    await changesNothing(world.store, () =>
      refused('settle', () => world.store.settle(owner.fence, settlement), 'invalid-level', 'invalid-timer'),
    )
  })

  suite.case('a done row above the level is removed if it is unchanged', async (world) => {
    const { owner, rows } = await loadedRows(world, 5)
    await owner.write(moveOf(rows[3]!, world.now() + 5000))
    await owner.settle(levelAfter(rows[0]!), { settledCount: 1, done: [rows[2]!, rows[3]!] })
    assert.deepEqual(keysOf(await rowsOf(world.store)), keysOf([rows[1]!, rows[4]!, rows[3]!]))
    assert.equal((await world.store.counts()).settled, 2)
    await addsUp(world.store)
    await owner.settle(levelAt(world.now()), { settledCount: 2 })
    assert.deepEqual(keysOf(await rowsOf(world.store)), [rows[3]!.key])
    await addsUp(world.store)
  })

  for (const isSwept of [false, true]) {
    suite.case(
      `a row below the settled level is invisible to everybody${isSwept ? ', also after a sweep' : ''}`,
      async (world) => {
        const { owner, rows } = await loadedRows(world, 10)
        const { store } = world
        // Settled names in the middle of rows that a store may keep in one chunk.
        const level = levelAfter(rows[7]!)
        await owner.settle(level, { settledCount: 8 })
        if (isSwept) {
          while ((await store.sweep(owner.fence)).more);
        }
        const before = await stateOf(store)
        const [a, b, c, d, e, f, g, h] = rows
        const at = world.now() + 1000
        const progress = { position: at, dueAt: at, attempt: 1, occurrence: 1 }
        const answer = await owner.settle(level, {
          done: [a!],
          followUps: [{ row: b!, ...progress }],
          dead: [
            { row: c!, diedAt: 1, reason: 'late' },
            { row: d!, diedAt: 1, reason: 'late', next: progress },
          ],
        })
        assert.deepEqual([...answer.followUps], [undefined])
        assert.deepEqual(answer.dead.map(deadOf), [
          [false, undefined],
          [false, undefined],
        ])
        const answers = await owner.write(moveOf(e!, at), cancelOf(f!), {
          ...cancelOf(g!),
          identity: g!.identity,
        })
        for (const each of answers) answerOf(each, 'unknown')
        assert.deepEqual(
          (await store.find(rows.slice(0, 8))).map((row) => row?.key),
          rows.slice(0, 8).map(() => undefined),
        )
        assert.deepEqual(withoutSettlement(await stateOf(store)), withoutSettlement(before))
        // The name is free: a set replaces nothing.
        const [set] = await owner.write(setOf(h!, at, { ifAbsent: true }))
        assert.equal(answerOf(set, 'set').replaced, undefined)
        await addsUp(store)
        const next = await world.takeOver()
        assert.deepEqual(keysOf(await next.load(at + 1)), keysOf([rows[8]!, rows[9]!, h!]))
      },
    )
  }

  suite.case('a settlement is accepted at a level ahead of the clock but cannot raise it', async (world) => {
    const { owner, rows } = await loadedRows(world, 4)
    const { store } = world
    // The store's clock was an hour ahead, and rows that were due by it were settled.
    world.clock.jump(3_600_000)
    await owner.load(world.now() + 1)
    const ahead = levelAt(world.now())
    const [later] = await owner.setAt(world.now() + 10)
    await owner.settle(ahead, { settledCount: rows.length })
    world.clock.jump(-3_600_000)
    await owner.load(ahead.position + 1000)
    // First only a level, then a settlement with all its parts.
    await owner.settle(ahead)
    assert.equal((await owner.row()).lastSettlement > 0, true)
    const [done, dead, again] = await owner.setAt(ahead.position, ahead.position, ahead.position)
    const progress = { position: ahead.position, dueAt: world.now() + 1, attempt: 1, occurrence: 0 }
    const answer = await owner.settle(ahead, {
      done: [done!],
      dead: [{ row: dead!, diedAt: world.now(), reason: 'why' }],
      followUps: [{ row: again!, ...progress }],
      history: [entryOf(done!)],
    })
    assert.deepEqual(answer.dead.map(deadOf), [[true, undefined]])
    assert.equal(answer.followUps[0]?.dueAt, progress.dueAt)
    assert.deepEqual(keysOf(await rowsOf(store)), keysOf([again!, later!]))
    samePlace((await owner.row()).settledLevel, ahead)
    for (const [what, level] of [
      ['a later position', levelAt(ahead.position + 1)],
      ['a later revision', { ...ahead, revision: ahead.revision + 1 }],
    ] as const) {
      for (const parts of [{}, { done: [again!] }]) {
        await changesNothing(store, () =>
          refused(what, () => store.settle(owner.fence, settlementOf(level, parts)), 'invalid-level'),
        )
      }
    }
    await addsUp(store)
    await world.clock.advance(3_600_005)
    await owner.settle(levelAt(world.now()), { settledCount: 1 })
    assert.deepEqual(keysOf(await rowsOf(store)), keysOf([later!]))
  })

  suite.case('the counters add up after a mix of all operations', async (world) => {
    const { owner, rows } = await loadedRows(world, 100)
    const at = world.now() + 1000
    await owner.write(...rows.slice(0, 10).map(cancelOf), ...rows.slice(10, 20).map((row) => setOf(row, at)))
    const next = { position: at, dueAt: at, attempt: 0, occurrence: 1 }
    await owner.settle(levelAfter(rows[59]!), {
      settledCount: 20,
      done: rows.slice(70, 80),
      followUps: rows
        .slice(20, 30)
        .map((row) => ({ row, position: at, dueAt: at, attempt: 1, occurrence: 0 })),
      dead: [
        ...rows.slice(30, 34).map((row) => ({ row, diedAt: 1, reason: 'why', next })),
        ...rows.slice(34, 40).map((row) => ({ row, diedAt: 1, reason: 'why' })),
      ],
      history: rows.map(entryOf),
    })
    assert.deepEqual(await world.store.counts(), {
      created: 110,
      settled: 30,
      cancelled: 10,
      replaced: 10,
      dead: 6,
    })
    await addsUp(world.store)
  })

  describeDeadTimers(suite)
}

/** The state of the store without the id of the last settlement, which changes in any case. */
function withoutSettlement(state: Awaited<ReturnType<typeof stateOf>>) {
  return { ...state, shards: state.shards.map((row) => ({ ...row, lastSettlement: 0 })) }
}

export { loadedRows }

export function entryOf(row: TimerRow) {
  const { namespace, kind, key, identity } = row
  return { namespace, kind, key, identity, at: row.dueAt, event: 'settled', details: `about ${key}` }
}
