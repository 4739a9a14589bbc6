import assert from 'node:assert/strict'
import { firstPlace } from '../../timer/index.js'
import { answerOf, cancelOf, moveOf, NAMESPACE, rowsOf, setOf } from './sample.js'
import type { Suite } from './suite.js'

/** What operations leave in the history, details that travel with a move, and timers set from dead letters. */
export function describeNotes(suite: Suite): void {
  suite.case(
    'an operation that changes something leaves its note in the history, and no other does',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      const note = (event: string) => ({ note: { at: world.now(), event, details: `{"of":"${event}"}` } })
      const set = setOf(world.newName(), at, note('created'))
      await owner.write(set)
      await owner.write(
        { ...setOf(set, at, note('refused')), ifAbsent: true },
        { ...moveOf(set, at + 1), ...note('moved') },
        { ...moveOf(world.newName(), at + 1), ...note('nobody') },
      )
      await owner.write({ ...cancelOf(set), ...note('cancelled') }, { ...cancelOf(set), ...note('too late') })
      const { items } = await world.store.history({ namespace: NAMESPACE, limit: 10 })
      assert.deepEqual(
        items.map(({ event, key, identity, details }) => ({ event, key, identity, details })),
        ['created', 'moved', 'cancelled'].map((event) => ({
          event,
          key: set.key,
          identity: set.identity,
          details: `{"of":"${event}"}`,
        })),
      )
    },
  )

  suite.case('a move may record attempts and other details, and keeps them otherwise', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const set = setOf(world.newName(), at, { details: '{"a":1}' })
    await owner.write(set)
    const kept = answerOf((await owner.write(moveOf(set, at + 1)))[0], 'moved').row
    assert.deepEqual([kept.details, kept.attempt], ['{"a":1}', 0])
    const changed = { ...moveOf(set, at + 2), details: '{"b":2}', attempt: 3 }
    const moved = answerOf((await owner.write(changed))[0], 'moved').row
    assert.deepEqual([moved.details, moved.attempt, moved.identity], ['{"b":2}', 3, set.identity])
    assert.deepEqual(
      (await rowsOf(world.store)).map(({ details }) => details),
      ['{"b":2}'],
    )
  })

  suite.case('a set from a dead letter takes it away, once', async (world) => {
    const owner = await world.own()
    const at = world.now()
    const [row] = await owner.setAt(at)
    await owner.settle(firstPlace, { dead: [{ row: row!, diedAt: at, reason: 'tired' }] })
    const [letter] = (await world.store.deadLetters({ namespace: NAMESPACE, limit: 10 })).items
    const set = setOf(row!, at + 5000, { fromDead: letter!.id })
    answerOf((await owner.write(set))[0], 'set')
    assert.deepEqual((await world.store.deadLetters({ namespace: NAMESPACE, limit: 10 })).items, [])
    answerOf((await owner.write(setOf(world.newName(), at + 5000, { fromDead: letter!.id })))[0], 'unknown')
    assert.deepEqual(
      (await rowsOf(world.store)).map(({ key }) => key),
      [row!.key],
    )
  })
}
