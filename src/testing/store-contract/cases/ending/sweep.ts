import assert from 'node:assert/strict'
import { levelAfter, levelAt } from '../../../../timer/index.js'
import type { Owner } from '../../owner.js'
import { addsUp, changesNothing, rowsOf, sameRows, setOf } from '../../sample.js'
import { loadedRows } from '../../loaded-rows.js'
import type { Suite } from '../../suite.js'

/** Sweeps delete the bytes of settled rows, which no reader can notice. */
export function describeSweep(suite: Suite): void {
  suite.case('sweep removes only settled rows', async (world) => {
    const { owner, rows } = await loadedRows(world, 50)
    await owner.settle(levelAfter(rows[19]!), { settledCount: 20 })
    await changesNothing(world.store, () => sweepAll(owner))
    sameRows(await rowsOf(world.store), rows.slice(20))
    await addsUp(world.store)
    const next = await world.takeOver()
    sameRows(await next.load(world.now()), rows.slice(20))
  })

  suite.case('sweep removes nothing when nothing is settled', async (world) => {
    const { owner, rows } = await loadedRows(world, 20)
    await changesNothing(world.store, () => sweepAll(owner))
    sameRows(await rowsOf(world.store), rows)
  })

  suite.case(
    'repeated sweeps end, also with a level in the middle of a crowded millisecond',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1
      const rows = await owner.setAt(...Array.from({ length: 3000 }, () => at))
      await owner.load(at + 1)
      await world.clock.advance(10)
      await owner.settle(levelAfter(rows[1499]!), { settledCount: 1500 })
      await sweepAll(owner)
      sameRows(await rowsOf(world.store), rows.slice(1500))
      await owner.settle(levelAt(at + 1), { settledCount: 1500 })
      await sweepAll(owner)
      assert.equal(await world.store.countRows(), 0)
      const answer = await world.store.sweep(owner.fence)
      assert.deepEqual(answer, { removed: 0, more: false })
      await addsUp(world.store)
    },
  )

  suite.case('sweep keeps a new timer under a name that was settled before', async (world) => {
    const { owner, rows } = await loadedRows(world, 5)
    await owner.settle(levelAt(world.now()), { settledCount: 5 })
    const again = await owner.set(...rows.map((row) => setOf(row, world.now() + 50)))
    await sweepAll(owner)
    const found = await world.store.find(rows)
    assert.deepEqual(
      found.map((row) => row?.identity),
      again.map((row) => row.identity),
    )
    sameRows(await rowsOf(world.store), again)
  })

  suite.case('sweep keeps a row that was carried or moved above the level', async (world) => {
    const { owner, rows } = await loadedRows(world, 10)
    const at = world.now() + 500
    const { followUps } = await owner.settle(levelAt(world.now()), {
      settledCount: 9,
      followUps: [{ row: rows[4]!, position: at, dueAt: rows[4]!.dueAt, attempt: 1, occurrence: 0 }],
    })
    await sweepAll(owner)
    sameRows(await rowsOf(world.store), [followUps[0]!])
    sameRows(await owner.load(at + 1), [followUps[0]!])
  })
}

async function sweepAll(owner: Owner): Promise<number> {
  let sum = 0
  for (let i = 0; i < 10_000; i++) {
    const { removed, more } = await owner.world.store.sweep(owner.fence)
    sum += removed
    if (!more) return sum
  }
  return assert.fail('10,000 sweeps and there is still more to remove')
}
