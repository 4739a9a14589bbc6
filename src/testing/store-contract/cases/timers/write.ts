import assert from 'node:assert/strict'
import { isBefore, levelAfter, levelAt } from '../../../../timer/index.js'
import {
  addsUp,
  answerOf,
  cancelOf,
  changesNothing,
  moveOf,
  rowsOf,
  samePlace,
  sameRows,
  setOf,
} from '../../sample.js'
import { plain, rowOf } from '../../timer-fields.js'
import type { Suite } from '../../suite.js'

/** What a write does to timers: set, replace, move, cancel. */
export function describeWrite(suite: Suite): void {
  suite.case('a timer that was set can be read with all its fields', async (world) => {
    const owner = await world.own()
    const set = setOf(world.newName(), world.now() + 1000, {
      dueAt: world.now() + 900,
      tags: ['one', 'two'],
      details: 'schedule',
      attempt: 2,
      occurrence: 7,
    })
    const [row] = await owner.set(set)
    sameRows((await world.store.find([set])) as [typeof row & object], [row!])
    assert.deepEqual(await world.store.counts(), {
      created: 1,
      settled: 0,
      cancelled: 0,
      replaced: 0,
      dead: 0,
    })
    assert.equal(await world.store.countRows(), 1)
  })

  suite.case(
    'usage counts the unsettled timers of a namespace and the bytes of their payloads',
    async (world) => {
      const owner = await world.own()
      const payload = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)
      const [at, { namespace }] = [world.now() + 1000, world.newName()]
      assert.deepEqual(await world.store.usage(namespace), { timers: 0, bytes: 0 })
      const first = setOf(world.newName(), at, { payload: payload(100), tags: ['one'], details: 'schedule' })
      await owner.set(first)
      await owner.set(setOf(world.newName(), at + 90_000_000, { payload: payload(20) }))
      await owner.set(setOf(world.newName(), at, { payload: payload(0) }))
      assert.deepEqual(await world.store.usage(namespace), { timers: 3, bytes: 120 })
      await owner.write(setOf(first, at + 5, { payload: payload(3) }))
      assert.deepEqual(await world.store.usage(namespace), { timers: 3, bytes: 23 })
      await owner.write(cancelOf(first))
      assert.deepEqual(await world.store.usage(namespace), { timers: 2, bytes: 20 })
      assert.deepEqual(await world.store.usage(`${namespace}x`), { timers: 0, bytes: 0 })
    },
  )

  suite.case('revisions rise with every write to a shard, and places are unique', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const rows = await owner.setAt(at, at, at)
    const [moved] = await owner.write(moveOf(rows[0]!, at))
    const [replacement] = await owner.write(setOf(rows[1]!, at))
    const [last] = await owner.setAt(at - 500)
    const revisions = [
      ...rows.map((row) => row.revision),
      answerOf(moved, 'moved').row.revision,
      answerOf(replacement, 'set').place.revision,
      last!.revision,
    ]
    assert.ok(revisions[0]! > 0)
    assert.deepEqual(
      revisions,
      [...new Set(revisions)].toSorted((a, b) => a - b),
    )
  })

  suite.case('a set replaces the timer of the same name', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const [old] = await owner.setAt(at)
    const set = setOf(old!, at + 50, { payload: Buffer.from('new') })
    const answer = answerOf((await owner.write(set))[0], 'set')
    const { identity, position, revision } = old!
    assert.deepEqual(answer.replaced, { identity, position, revision })
    sameRows(await rowsOf(world.store), [rowOf(set, answer.place)])
    sameRows(await owner.load(at + 100), [rowOf(set, answer.place)])
    assert.equal((await world.store.counts()).replaced, 1)
    await addsUp(world.store)
  })

  suite.case('a set that is sent twice stores one timer', async (world) => {
    const owner = await world.own()
    const set = setOf(world.newName(), world.now() + 1000)
    const [row] = await owner.set(set)
    const { identity, position, revision } = row!
    const again = answerOf((await owner.write(set))[0], 'same')
    assert.deepEqual(again.current, { identity, position, revision })
    const absent = await owner.write({ ...set, ifAbsent: true })
    assert.deepEqual(answerOf(absent[0], 'same').current, { identity, position, revision })
    sameRows(await rowsOf(world.store), [row!])
    assert.equal((await world.store.counts()).created, 1)
  })

  suite.case('a set that is sent again after a move answers the current row', async (world) => {
    const owner = await world.own()
    const set = setOf(world.newName(), world.now() + 1000)
    await owner.set(set)
    const moved = answerOf((await owner.write(moveOf(set, world.now() + 5000)))[0], 'moved').row
    const again = answerOf((await owner.write(set))[0], 'same')
    const { identity, position, revision } = moved
    assert.deepEqual(again.current, { identity, position, revision })
    sameRows(await rowsOf(world.store), [moved])
  })

  suite.case('a move keeps the content and changes no counter', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const set = setOf(world.newName(), at, { tags: ['kept'], details: 'kept', attempt: 1, occurrence: 4 })
    const [row] = await owner.set(set)
    const [answer] = await owner.write({ ...moveOf(set, at + 70), dueAt: at + 60 })
    const moved = answerOf(answer, 'moved')
    samePlace(moved.from, row!)
    assert.ok(moved.row.revision > row!.revision)
    const { revision } = moved.row
    const expected = { ...row!, position: at + 70, dueAt: at + 60, revision }
    assert.deepEqual(plain(moved.row), plain(expected))
    sameRows(await rowsOf(world.store), [moved.row])
    const { created, replaced, cancelled } = await world.store.counts()
    assert.deepEqual({ created, replaced, cancelled }, { created: 1, replaced: 0, cancelled: 0 })
  })

  suite.case('a cancelled timer is gone and its name can be used again', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const [row] = await owner.setAt(at)
    const { identity, position, revision } = row!
    assert.deepEqual(answerOf((await owner.write(cancelOf(row!)))[0], 'cancelled').removed, {
      identity,
      position,
      revision,
    })
    assert.deepEqual(await world.store.find([row!]), [undefined])
    answerOf((await owner.write(cancelOf(row!)))[0], 'unknown')
    answerOf((await owner.write(moveOf(row!, at)))[0], 'unknown')
    await owner.set(setOf(row!, at, { ifAbsent: true }))
    const { created, cancelled } = await world.store.counts()
    assert.deepEqual({ created, cancelled }, { created: 2, cancelled: 1 })
    await addsUp(world.store)
  })

  suite.case(
    'a position below the settled level is refused, and a position at the level is accepted',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      const [first, second, other] = await owner.setAt(at, at, at + 5000)
      await owner.load(at + 10)
      await world.clock.advance(2000)
      await owner.settle(levelAfter(first!), { settledCount: 1 })
      await changesNothing(world.store, async () => {
        const answers = [
          // A store may have a separate path for plain sets.
          ...(await owner.write(setOf(world.newName(), at - 1), setOf(world.newName(), at - 2))),
          ...(await owner.write(
            setOf(world.newName(), at - 1),
            moveOf(other!, at - 1),
            setOf(other!, at - 1),
          )),
        ]
        for (const answer of answers) {
          assert.deepEqual(answerOf(answer, 'below-level').settledLevel, levelAfter(first!))
        }
      })
      const [taken] = await owner.setAt(at)
      assert.ok(isBefore(second!, taken!))
      const [answer] = await owner.write(moveOf(other!, at))
      answerOf(answer, 'moved')
      await world.store.lower(owner.fence, owner.readLevel, levelAfter(first!))
      owner.readLevel = levelAfter(first!)
      assert.equal((await owner.load(at + 1)).length, 3)
    },
  )

  suite.case('the name of a settled timer can be used again', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const [a, b, c, d] = await owner.setAt(at, at + 1, at + 2, at + 3)
    await owner.load(at + 10)
    await world.clock.advance(2000)
    await owner.settle(levelAt(at + 10), { settledCount: 4 })
    const answers = await owner.write(
      setOf(a!, at + 3000),
      setOf(b!, at + 3000, { ifAbsent: true }),
      moveOf(c!, at + 3000),
      cancelOf(d!),
    )
    assert.equal(answerOf(answers[0], 'set').replaced, undefined)
    assert.equal(answerOf(answers[1], 'set').replaced, undefined)
    answerOf(answers[2], 'unknown')
    answerOf(answers[3], 'unknown')
    const { created, settled, replaced, cancelled } = await world.store.counts()
    assert.deepEqual(
      { created, settled, replaced, cancelled },
      { created: 6, settled: 4, replaced: 0, cancelled: 0 },
    )
    await addsUp(world.store)
  })

  suite.case('operations on one name in a batch see the effects of those before them', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const name = world.newName()
    const first = setOf(name, at)
    const second = setOf(name, at + 1)
    const third = setOf(name, at + 9)
    const answers = await owner.write(
      first,
      first,
      { ...second, ifAbsent: true },
      second,
      moveOf(name, at + 2),
      { ...moveOf(name, at + 3), identity: first.identity },
      cancelOf(name),
      cancelOf(name),
      { ...third, ifAbsent: true },
    )
    assert.deepEqual(
      answers.map((answer) => answer.outcome),
      ['set', 'same', 'conflict', 'set', 'moved', 'unknown', 'cancelled', 'unknown', 'set'],
    )
    assert.equal(answerOf(answers[3], 'set').replaced?.identity, first.identity)
    const removed = answerOf(answers[6], 'cancelled').removed
    assert.deepEqual(
      [removed.identity, removed.position, removed.revision],
      [second.identity, at + 2, answerOf(answers[4], 'moved').row.revision],
    )
    sameRows(await owner.load(at + 100), [rowOf(third, answerOf(answers[8], 'set').place)])
    assert.deepEqual(await world.store.counts(), {
      created: 3,
      settled: 0,
      cancelled: 1,
      replaced: 1,
      dead: 0,
    })
  })

  suite.case('10,000 operations in one write are answered in order', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const rows = await owner.setAt(...Array.from({ length: 10_000 }, (_, i) => at + ((i * 7919) % 60_000)))
    const answers = await owner.write(
      ...rows.map((row, i) => (i % 2 === 0 ? cancelOf(row) : moveOf(row, at + i))),
    )
    for (const [i, answer] of answers.entries()) {
      if (i % 2 === 0) assert.equal(answerOf(answer, 'cancelled').removed.identity, rows[i]!.identity)
      else assert.equal(answerOf(answer, 'moved').row.key, rows[i]!.key)
    }
    const odd = rows.filter((_, i) => i % 2 === 1).map((row) => row.key)
    const loaded = await owner.load(at + 60_000)
    assert.deepEqual(
      loaded.map((row) => row.key),
      odd,
    )
  })

  suite.case('a write without operations succeeds', async (world) => {
    const owner = await world.own()
    assert.deepEqual(await owner.write(), [])
  })

  suite.case('a payload that the caller changes afterwards stays unchanged in the store', async (world) => {
    const owner = await world.own()
    const payload = new Uint8Array([1, 2, 3])
    const set = setOf(world.newName(), world.now() + 1000, { payload })
    await owner.set(set)
    payload.fill(9)
    const [row] = await world.store.find([set])
    assert.deepEqual([...row!.payload], [1, 2, 3])
  })
}
