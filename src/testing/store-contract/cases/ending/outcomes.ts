import assert from 'node:assert/strict'
import { firstPlace, isBefore, levelAfter, levelAt, type TimerRow } from '../../../../timer/index.js'
import { cancelOf, rowsOf, sameRows, setOf } from '../../sample.js'
import { plain } from '../../timer-fields.js'
import { loadedRows } from './settle.js'
import type { Suite } from '../../suite.js'
import type { World } from '../../world.js'

/** Finished timers are remembered until they are swept. */
export function describeOutcomes(suite: Suite): void {
  suite.case('findSettled finds the rows that the level has passed, until they are swept', async (world) => {
    const { owner, rows } = await loadedRows(world, 20)
    assert.deepEqual(await settledOf(world, rows), [], 'before the settlement')
    await owner.settle(levelAfter(rows[9]!), { settledCount: 10 })
    sameRows(await settledOf(world, rows), rows.slice(0, 10))
    // No other read sees them.
    sameRows(await rowsOf(world.store), rows.slice(10))
    assert.equal(await world.store.countRows(), 10)
    await forgetsAll(world, rows)
  })

  suite.case('a sweep keeps the finished rows from the given place on', async (world) => {
    const { owner, rows } = await loadedRows(world, 3000)
    await owner.settle(levelAt(world.now()), { settledCount: 3000 })
    for (let i = 0; i < 10; i++) await world.store.sweep(owner.fence, firstPlace)
    sameRows(await settledOf(world, rows), rows)
    const below = levelAfter(rows[999]!)
    for (let i = 0; i < 10; i++) await world.store.sweep(owner.fence, below)
    const kept = await settledOf(world, rows)
    // A store may delete a little less.
    sameRows(kept.slice(-2000), rows.slice(1000))
    assert.ok(kept.every((row) => rows.some(({ revision }) => revision === row.revision)))
    await forgetsAll(world, rows)
  })

  suite.case('a row that is settled by its name is remembered below the level', async (world) => {
    const { owner, rows } = await loadedRows(world, 10)
    await owner.settle(levelAfter(rows[2]!), { settledCount: 3, done: [rows[5]!, rows[8]!] })
    const { settledLevel } = await owner.row()
    const [fifth, eighth] = (await world.store.findSettled([rows[5]!, rows[8]!])) as [TimerRow, TimerRow]
    for (const [row, before] of [
      [fifth, rows[5]!],
      [eighth, rows[8]!],
    ] as const) {
      const { position, revision } = row
      assert.ok(isBefore(row, settledLevel), 'below the level')
      assert.deepEqual(plain(row), plain({ ...before, position, revision }))
    }
    assert.ok(fifth.revision < eighth.revision && fifth.revision > rows[9]!.revision)
    // What follows gets later revisions, and nothing else has changed.
    const [later] = await owner.setAt(world.now() + 5)
    assert.ok(later!.revision > eighth.revision)
    sameRows(await rowsOf(world.store), [3, 4, 6, 7, 9].map((index) => rows[index]!).concat(later!))
    await forgetsAll(world, rows)
  })

  suite.case('below a level at the beginning nothing can be remembered', async (world) => {
    const { owner, rows } = await loadedRows(world, 2)
    await owner.settle(firstPlace, { done: [rows[0]!] })
    assert.deepEqual(await settledOf(world, rows), [])
    sameRows(await rowsOf(world.store), [rows[1]!])
  })

  suite.case('only timers that were done are remembered', async (world) => {
    const { owner, rows } = await loadedRows(world, 8)
    const [done, dead, followed, moved, cancelled, waiting, replaced, again] = rows
    await owner.write(cancelOf(cancelled!), {
      type: 'move',
      namespace: moved!.namespace,
      kind: moved!.kind,
      key: moved!.key,
      dueAt: world.now() + 100,
      position: world.now() + 100,
    })
    const [newer] = (await owner.write(setOf(replaced!, world.now() + 100))).map(({ outcome }) => outcome)
    assert.equal(newer, 'set')
    const at = world.now() + 100
    await owner.settle(levelAt(world.now()), {
      settledCount: 3,
      dead: [{ row: dead!, diedAt: world.now(), reason: 'no' }],
      followUps: [{ row: followed!, position: at, dueAt: at, attempt: 1, occurrence: 0 }],
    })
    assert.deepEqual(
      (await settledOf(world, rows)).map(({ key }) => key),
      [done!.key, waiting!.key, again!.key],
    )
    // A new life of a name replaces what was remembered, and is not remembered when it is cancelled.
    await owner.set(setOf(again!, at))
    assert.deepEqual(await world.store.findSettled([again!]), [undefined])
    await owner.write(cancelOf(again!))
    assert.deepEqual(await world.store.findSettled([again!, world.newName()]), [undefined, undefined])
  })

  suite.case(
    'a store of the mode claim remembers no outcome',
    async (world) => {
      const set = setOf(world.newName(), world.now() - 1)
      await world.write(set)
      const [claimed] = await world.store.claimDue({ owner: 'me', limit: 1, leaseMs: 1000 })
      await world.store.settleClaimed([{ token: claimed!.token, outcome: 'done' }], [])
      assert.deepEqual(await world.store.findSettled([set]), [undefined])
    },
    { strategy: 'claim' },
  )

  if (suite.setup.reopen === undefined) return
  suite.case('finished timers are remembered when the store is opened again', async (world) => {
    const { owner, rows } = await loadedRows(world, 200)
    const at = world.now() + 100
    await owner.settle(levelAfter(rows[99]!), {
      settledCount: 97,
      done: [rows[150]!],
      dead: [{ row: rows[10]!, diedAt: world.now(), reason: 'no' }],
      followUps: [
        { row: rows[20]!, position: at, dueAt: at, attempt: 1, occurrence: 0 },
        { row: rows[30]!, position: at, dueAt: at, attempt: 1, occurrence: 0 },
      ],
    })
    await owner.write(cancelOf(rows[30]!))
    const before = await settledOf(world, rows)
    assert.equal(before.length, 98)
    await world.reopen()
    sameRows(await settledOf(world, rows), before)
    await forgetsAll(world, rows)
  })
}

/** A store may delete a little less than it is asked to, but not for ever. */
async function forgetsAll(world: World, rows: readonly TimerRow[]): Promise<void> {
  await world.clock.advance(7_200_000)
  const owner = await world.takeOver()
  await owner.load(world.now())
  await owner.settle(levelAt(world.now()), { settledCount: await world.store.countRows() })
  for (let i = 0; i < 20; i++) await world.store.sweep(owner.fence, levelAt(world.now() + 1e9))
  assert.deepEqual(await settledOf(world, rows), [])
}

async function settledOf(world: World, rows: readonly TimerRow[]): Promise<TimerRow[]> {
  return (await world.store.findSettled(rows)).flatMap((row) => row ?? [])
}
