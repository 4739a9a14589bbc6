import assert from 'node:assert/strict'
import type { HistoryNote, InboxRequest, RequestedOperation } from '../../../store/index.js'
import { levelAt } from '../../../timer/index.js'
import { applied, requestOf } from './cluster/inbox.js'
import { addsUp, answerOf, cancelOf, changesNothing, moveOf, NAMESPACE, refused, setOf } from '../sample.js'
import { plain } from '../timer-fields.js'
import { loadedRows } from '../loaded-rows.js'
import type { Suite } from '../suite.js'
import type { World } from '../world.js'

/** What an operation can carry besides its change: a note for the history, a dead letter to remove, new details. */
export function describeNotes(suite: Suite): void {
  suite.case(
    'an operation that changes something adds its note with the identity of the timer',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      const first = { ...setOf(world.newName(), at), note: noteOf('created') }
      const second = { ...setOf(first, at + 1), note: noteOf('replaced') }
      await owner.write(
        first,
        second,
        { ...moveOf(first, at + 2), note: noteOf('moved') },
        { ...cancelOf(first), note: noteOf('cancelled') },
      )
      const { namespace, kind, key, identity } = first
      const name = { namespace, kind, key }
      const about = (event: string, own: number) => ({ ...name, identity: own, ...noteOf(event) })
      assert.deepEqual(
        new Set(await historyOf(world)),
        new Set([
          about('created', identity),
          about('replaced', second.identity),
          about('moved', second.identity),
          about('cancelled', second.identity),
        ]),
      )
    },
  )

  suite.case('an operation that changes nothing adds no note', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const set = setOf(world.newName(), at)
    await owner.set(set)
    const note = noteOf('never')
    await changesNothing(world.store, async () => {
      const answers = await owner.write(
        { ...set, note },
        { ...setOf(set, at, { ifAbsent: true }), note },
        { ...moveOf(set, at), ifRevision: 1e9, note },
        { ...moveOf(world.newName(), at), note },
        { ...cancelOf(set), identity: set.identity + 1e6, note },
        { ...cancelOf(set), request: 'no such', note },
      )
      assert.deepEqual(
        answers.map((answer) => answer.outcome),
        ['same', 'conflict', 'conflict', 'unknown', 'unknown', 'answered-before'],
      )
    })
  })

  suite.case('a request in the inbox keeps its note for the owner', async (world) => {
    const owner = await world.own()
    const { position: _, ...operation } = {
      ...setOf(world.newName(), world.now() + 1000),
      note: noteOf('asked'),
    }
    const request = requestOf(world, 'noted', operation)
    await world.store.append([request])
    const [kept] = await world.store.requests(owner.fence, 1)
    answerOf((await owner.write(applied(world, kept as InboxRequest<RequestedOperation>)))[0], 'set')
    const history = await historyOf(world)
    assert.deepEqual(
      history.map((entry) => [entry.key, entry.event]),
      [[operation.key, 'asked']],
    )
  })

  suite.case('a move changes attempts and details only if they are given', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const set = setOf(world.newName(), at, { attempt: 3, details: 'before' })
    const [row] = await owner.set(set)
    const plainMove = answerOf((await owner.write(moveOf(set, at + 1)))[0], 'moved').row
    assert.deepEqual([plainMove.attempt, plainMove.details], [3, 'before'])
    const [answer] = await owner.write({ ...moveOf(set, at + 2), attempt: 0, details: '' })
    const moved = answerOf(answer, 'moved').row
    const { revision } = moved
    assert.deepEqual(
      plain(moved),
      plain({ ...row!, position: at + 2, dueAt: at + 2, attempt: 0, details: '', revision }),
    )
    const [found] = await world.store.find([set])
    assert.deepEqual(plain(found!), plain(moved))
    const [loaded] = await owner.load(at + 100)
    assert.deepEqual(plain(loaded!), plain(moved))
  })

  suite.case('a move with invalid attempts or details is refused', async (world) => {
    const owner = await world.own()
    const [row] = await owner.setAt(world.now() + 1000)
    const move = moveOf(row!, world.now() + 2000)
    await changesNothing(world.store, async () => {
      await refused('attempt', () => owner.write({ ...move, attempt: -1 }), 'invalid-timer')
      await refused(
        'details',
        () => owner.write({ ...move, details: 'd'.repeat(16_385) }),
        'payload-too-large',
      )
    })
  })

  suite.case('a set with fromDead removes the dead letter and works once', async (world) => {
    const { store } = world
    const { owner, letter } = await withLetter(world)
    const set = setOf(letter.row, world.now() + 1000, { fromDead: letter.id })
    await owner.set(set)
    assert.deepEqual((await store.deadLetters({ namespace: NAMESPACE, limit: 9 })).items, [])
    const { created, dead } = await store.counts()
    assert.deepEqual({ created, dead }, { created: 2, dead: 1 })
    await addsUp(store)
    await changesNothing(store, async () => {
      answerOf((await owner.write(set))[0], 'same')
      answerOf(
        (await owner.write(setOf(letter.row, world.now() + 1000, { fromDead: letter.id })))[0],
        'unknown',
      )
      answerOf(
        (await owner.write(setOf(world.newName(), world.now() + 1000, { fromDead: 'none' })))[0],
        'unknown',
      )
    })
  })

  suite.case('a set with fromDead that is refused keeps the dead letter', async (world) => {
    const { owner, letter } = await withLetter(world)
    await owner.set(setOf(letter.row, world.now() + 1000))
    const conditional = setOf(letter.row, world.now() + 1000, { fromDead: letter.id, ifAbsent: true })
    const low = setOf(world.newName(), world.now() - 500, { fromDead: letter.id })
    await changesNothing(world.store, async () => {
      answerOf((await owner.write(conditional))[0], 'conflict')
      answerOf((await owner.write(low))[0], 'below-level')
    })
  })

  suite.case('of two sets in one write with the same fromDead only the first is stored', async (world) => {
    const { owner, letter } = await withLetter(world)
    const sets = [1, 2].map(() => setOf(world.newName(), world.now() + 1000, { fromDead: letter.id }))
    const answers = await owner.write(...sets)
    assert.deepEqual(
      answers.map((answer) => answer.outcome),
      ['set', 'unknown'],
    )
    assert.equal(await world.store.countRows(), 1)
    await addsUp(world.store)
  })
}

function noteOf(event: string): HistoryNote {
  return { at: 1_700_000_000_123, event, details: `about ${event}` }
}

async function historyOf(world: World) {
  return (await world.store.history({ namespace: NAMESPACE, limit: 100 })).items
}

/** An owner that has settled up to its clock, and the dead letter of its only timer. */
async function withLetter(world: World) {
  const { owner, rows } = await loadedRows(world, 1)
  await world.clock.advance(2000)
  await owner.load(world.now())
  await owner.settle(levelAt(world.now()), { dead: [{ row: rows[0]!, diedAt: 1, reason: 'why' }] })
  const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 9 })
  return { owner, letter: items[0]! }
}
