import assert from 'node:assert/strict'
import type { Operation } from '../../../../store/index.js'
import {
  answerOf,
  cancelOf,
  changesNothing,
  moveOf,
  newIdentity,
  rowsOf,
  sameRows,
  setOf,
} from '../../sample.js'
import { rowOf } from '../../timer-fields.js'
import type { Suite } from '../../suite.js'

/** Conditions (`ifAbsent`, `ifRevision`, `identity`): if one does not hold, nothing changes. */
export function describeConditions(suite: Suite): void {
  suite.case('a set with ifAbsent is stored only when no timer has the name', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const set = setOf(world.newName(), at, { ifAbsent: true })
    const [row] = await owner.set(set)
    const { identity, position, revision } = row!
    await changesNothing(world.store, async () => {
      const [answer] = await owner.write(setOf(set, at + 1, { ifAbsent: true }))
      assert.deepEqual(answerOf(answer, 'conflict').current, { identity, position, revision })
    })
  })

  suite.case('ifRevision holds only for the current revision', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const [row] = await owner.setAt(at)
    const { identity, position, revision } = row!
    const current = { identity, position, revision }
    const stale: readonly Operation[] = [revision - 1, revision + 1].flatMap((ifRevision) => [
      setOf(row!, at + 1, { ifRevision }),
      { ...moveOf(row!, at + 1), ifRevision },
      { ...cancelOf(row!), ifRevision },
    ])
    await changesNothing(world.store, async () => {
      for (const answer of await owner.write(...stale)) {
        assert.deepEqual(answerOf(answer, 'conflict').current, current)
      }
    })
    const moved = answerOf(
      (await owner.write({ ...moveOf(row!, at + 1), ifRevision: revision }))[0],
      'moved',
    ).row
    const set = setOf(row!, at + 2, { ifRevision: moved.revision })
    const replaced = answerOf((await owner.write(set))[0], 'set')
    sameRows(await rowsOf(world.store), [rowOf(set, replaced.place)])
    const cancel = { ...cancelOf(row!), ifRevision: replaced.place.revision }
    answerOf((await owner.write(cancel))[0], 'cancelled')
    assert.deepEqual(await rowsOf(world.store), [])
  })

  suite.case('ifRevision does not hold when the timer does not exist', async (world) => {
    const owner = await world.own()
    const name = world.newName()
    await changesNothing(world.store, async () => {
      const [answer] = await owner.write(setOf(name, world.now() + 1000, { ifRevision: 1 }))
      assert.equal(answerOf(answer, 'conflict').current, undefined)
    })
  })

  suite.case('a move or cancel with the identity of an earlier timer changes nothing', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const [row] = await owner.setAt(at)
    const other = newIdentity()
    await changesNothing(world.store, async () => {
      const answers = await owner.write(
        { ...moveOf(row!, at + 1), identity: other },
        { ...cancelOf(row!), identity: other },
      )
      for (const answer of answers) answerOf(answer, 'unknown')
    })
    const { identity } = row!
    const [moved] = await owner.write({ ...moveOf(row!, at + 1), identity })
    assert.equal(answerOf(moved, 'moved').row.identity, identity)
    const [cancelled] = await owner.write({ ...cancelOf(row!), identity })
    assert.equal(answerOf(cancelled, 'cancelled').removed.identity, identity)
  })

  suite.case(
    'a move or cancel by the identity of a replaced timer never changes its replacement',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      const [old] = await owner.setAt(at)
      const set = setOf(old!, at)
      const [answer] = await owner.write(set)
      await changesNothing(world.store, async () => {
        const answers = await owner.write(
          { ...moveOf(old!, at + 1), identity: old!.identity },
          { ...cancelOf(old!), identity: old!.identity },
        )
        for (const each of answers) answerOf(each, 'unknown')
      })
      sameRows(await rowsOf(world.store), [rowOf(set, answerOf(answer, 'set').place)])
    },
  )
}
