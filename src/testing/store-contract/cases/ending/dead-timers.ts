import assert from 'node:assert/strict'
import type { DeadAnswer } from '../../../../store/index.js'
import { levelAfter, levelAt, type TimerRow } from '../../../../timer/index.js'
import { loadedRows } from '../../loaded-rows.js'
import { settlementOf } from '../../owner.js'
import {
  NAMESPACE,
  addsUp,
  cancelOf,
  changesNothing,
  keysOf,
  moveOf,
  refused,
  rowsOf,
  sameRows,
  shownLetter,
} from '../../sample.js'
import type { Suite } from '../../suite.js'
import { plain } from '../../timer-fields.js'

/** Settlements with timers whose attempts have ended without success: they leave dead letters, and may go on (rule 7). */
export function describeDeadTimers(suite: Suite): void {
  suite.case('a dead timer is removed and kept as a dead letter if its row is unchanged', async (world) => {
    const { owner, rows } = await loadedRows(world, 3)
    await owner.write(cancelOf(rows[1]!))
    const dead = rows.map((row, i) => ({ row, diedAt: world.now() + i, reason: `reason ${i}` }))
    const answer = await owner.settle(levelAt(world.now()), { dead })
    assert.deepEqual(answer.dead.map(deadOf), [
      [true, undefined],
      [false, undefined],
      [true, undefined],
    ])
    const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 10 })
    assert.deepEqual(
      items
        .map(({ row, diedAt, reason }) => ({ row: plain(row), diedAt, reason }))
        .toSorted((a, b) => a.diedAt - b.diedAt),
      [dead[0]!, dead[2]!].map(({ row, diedAt, reason }) => ({ row: plain(row), diedAt, reason })),
    )
    assert.equal((await world.store.counts()).dead, 2)
    assert.equal(await world.store.countRows(), 0)
    await addsUp(world.store)
  })

  suite.case(
    'a dead occurrence of a timer that goes on leaves a dead letter and the rewritten row',
    async (world) => {
      const { owner, rows } = await loadedRows(world, 4)
      await owner.write(cancelOf(rows[1]!), moveOf(rows[2]!, world.now() + 5000))
      const before = await rowsOf(world.store)
      const at = world.now() + 1000
      const dead = rows.map((row, i) => {
        const progress = { position: at + i, dueAt: at, attempt: i, occurrence: 7 }
        return {
          row,
          diedAt: i,
          reason: `reason ${i}`,
          next: i === 3 ? { ...progress, details: 'new' } : progress,
        }
      })
      const answer = await owner.settle(levelAt(world.now()), { dead })
      assert.deepEqual(
        answer.dead.map(({ kept, next }) => [kept, next?.key]),
        [
          [true, rows[0]!.key],
          [false, undefined],
          [false, undefined],
          [true, rows[3]!.key],
        ],
      )
      const nextOf = (i: number): TimerRow => {
        const { revision } = answer.dead[i]!.next!
        assert.ok(revision > rows[3]!.revision, 'a row that is rewritten gets a new revision')
        return { ...rows[i]!, ...dead[i]!.next, revision }
      }
      const expected = [nextOf(0), nextOf(3)]
      assert.equal(expected[1]!.details, 'new')
      sameRows(
        answer.dead.flatMap(({ next }) => next ?? []),
        expected,
      )
      const moved = before.filter((row) => row.key === rows[2]!.key)
      sameRows(await rowsOf(world.store), [...expected, ...moved])
      const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 10 })
      assert.deepEqual(
        items.map(shownLetter).toSorted(),
        [dead[0]!, dead[3]!].map(shownLetter).toSorted(),
        'the letter is of the row as it was',
      )
      assert.equal((await world.store.counts()).dead, 0, 'a timer that goes on has not ended')
      await addsUp(world.store)
      const next = await world.takeOver()
      sameRows(await next.load(at + 10), expected)
    },
  )

  suite.case(
    'a settlement whose dead timer would go on below the level is refused as a whole',
    async (world) => {
      const { owner, rows } = await loadedRows(world, 2)
      const progress = { position: world.now() - 1, dueAt: world.now() - 1, attempt: 0, occurrence: 1 }
      const dead = [{ row: rows[1]!, diedAt: 1, reason: 'why', next: progress }]
      const settlement = settlementOf(levelAt(world.now()), { settledCount: 1, dead })
      await changesNothing(world.store, () =>
        refused(
          'settle',
          () => world.store.settle(owner.fence, settlement),
          'invalid-level',
          'invalid-timer',
        ),
      )
    },
  )

  suite.case('a dead timer above the level can go on above the level', async (world) => {
    const { owner, rows } = await loadedRows(world, 3)
    const at = world.now() + 50
    const next = { position: at, dueAt: at, attempt: 0, occurrence: 1 }
    await owner.settle(levelAfter(rows[0]!), {
      settledCount: 1,
      dead: [{ row: rows[2]!, diedAt: 1, reason: 'why', next }],
    })
    assert.deepEqual(keysOf(await rowsOf(world.store)), keysOf([rows[1]!, rows[2]!]))
    await addsUp(world.store)
    await owner.settle(levelAt(world.now()), { settledCount: 1 })
    assert.deepEqual(keysOf(await rowsOf(world.store)), [rows[2]!.key])
    await addsUp(world.store)
  })
}

export function deadOf({ kept, next }: DeadAnswer) {
  return [kept, next]
}
