import assert from 'node:assert/strict'
import type { DeadLetter, HistoryEntry } from '../../../../store/index.js'
import { levelAt } from '../../../../timer/index.js'
import { changesNothing, NAMESPACE, pagesOf, refused, setOf } from '../../sample.js'
import { loadedRows } from '../../loaded-rows.js'
import type { Suite } from '../../suite.js'
import type { World } from '../../world.js'

/** What remains of timers that have ended: dead letters and history. */
export function describeRecords(suite: Suite): void {
  suite.case('dead letters can be listed by namespace, kind and key, page by page', async (world) => {
    const all = await lettersOf(world, 9)
    const asked = async (limit: number, parts: { kind?: string; key?: string } = {}) =>
      await pagesOf((cursor) => world.store.deadLetters({ namespace: NAMESPACE, limit, cursor, ...parts }))
    assert.equal(new Set(all.map((letter) => letter.id)).size, 9)
    assert.equal(await world.store.countDead(), 9)
    for (const limit of [1, 4, 100]) {
      assert.deepEqual(ids(await asked(limit)), ids(all))
    }
    assert.equal((await asked(2, { kind: 'sample' })).length, 9)
    assert.deepEqual(await asked(2, { kind: 'other' }), [])
    const { key } = all[4]!.row
    assert.deepEqual(ids(await asked(2, { key, kind: 'sample' })), [all[4]!.id])
    assert.deepEqual((await world.store.deadLetters({ namespace: 'nowhere', limit: 9 })).items, [])
  })

  suite.case('a dead letter can be removed once and stays in the counters', async (world) => {
    const all = await lettersOf(world, 4)
    const [a, b] = all
    const removed = async (
      namespace: string,
      ...letterIds: readonly string[]
    ): Promise<readonly boolean[]> => [...(await world.store.removeDead(namespace, letterIds))]
    assert.deepEqual(await removed('another', a!.id, b!.id), [false, false], 'another namespace removed it')
    assert.deepEqual(await removed(NAMESPACE, b!.id, 'no such', a!.id), [true, false, true])
    assert.deepEqual(await removed(NAMESPACE, a!.id), [false])
    const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 9 })
    assert.deepEqual(ids(items), ids(all.slice(2)))
    assert.equal((await world.store.counts()).dead, 4)
    assert.equal(await world.store.countDead(), 2)
  })

  suite.case('several dead letters of one name are all kept', async (world) => {
    const { owner, rows } = await loadedRows(world, 1)
    await owner.settle(levelAt(world.now()), { dead: [{ row: rows[0]!, diedAt: 1, reason: 'first' }] })
    const [again] = await owner.set(setOf(rows[0]!, world.now() + 5))
    await owner.load(world.now() + 10)
    await world.clock.advance(10)
    await owner.settle(levelAt(world.now()), { dead: [{ row: again!, diedAt: 2, reason: 'second' }] })
    const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 9, key: rows[0]!.key })
    assert.deepEqual(items.map((letter) => letter.reason).toSorted(), ['first', 'second'])
  })

  suite.case('history is written with its operations and can be found by name and time', async (world) => {
    const owner = await world.own()
    const entries = Array.from({ length: 20 }, (_, i): HistoryEntry => {
      const name = { namespace: NAMESPACE, kind: i % 2 === 0 ? 'mail' : 'call', key: `key-${i % 5}` }
      return { ...name, identity: i + 1, at: 1000 + i * 10, event: 'fired', details: `{"n":${i}}` }
    })
    await owner.writeWith(entries.slice(0, 10), setOf(world.newName(), world.now() + 10))
    await owner.writeWith(entries.slice(10))
    const asked = async (limit: number, parts: object = {}) =>
      (
        await pagesOf((cursor) => world.store.history({ namespace: NAMESPACE, limit, cursor, ...parts }))
      ).toSorted((a, b) => a.identity - b.identity)
    for (const limit of [1, 7, 100]) assert.deepEqual(await asked(limit), entries)
    assert.deepEqual(
      await asked(3, { kind: 'mail', key: 'key-2' }),
      entries.filter((entry) => entry.kind === 'mail' && entry.key === 'key-2'),
    )
    assert.deepEqual(
      await asked(3, { fromInclusive: 1050, untilExclusive: 1100 }),
      entries.filter((entry) => entry.at >= 1050 && entry.at < 1100),
    )
    assert.deepEqual((await world.store.history({ namespace: 'nowhere', limit: 9 })).items, [])
  })

  suite.case('pruneHistory deletes the history before an instant', async (world) => {
    const owner = await world.own()
    const entries = Array.from({ length: 10 }, (_, i): HistoryEntry => {
      const name = { namespace: i % 2 === 0 ? NAMESPACE : 'other', kind: 'k', key: 'same' }
      return { ...name, identity: i + 1, at: 1000 + i, event: 'fired', details: '' }
    })
    await owner.writeWith(entries)
    assert.equal(await world.store.pruneHistory(1004), 4)
    assert.equal(await world.store.pruneHistory(1004), 0)
    const left = await pagesOf((cursor) => world.store.history({ namespace: NAMESPACE, limit: 2, cursor }))
    assert.deepEqual(new Set(left.map((entry) => entry.at)), new Set([1004, 1006, 1008]))
    assert.equal(left.length, 3)
  })

  suite.case('a cursor of history continues after pruneHistory', async (world) => {
    const owner = await world.own()
    const entries = Array.from({ length: 30 }, (_, i): HistoryEntry => {
      const name = { namespace: NAMESPACE, kind: 'k', key: 'same' }
      return { ...name, identity: i + 1, at: 1000 + i, event: 'fired', details: '' }
    })
    await owner.writeWith(entries)
    const query = { namespace: NAMESPACE, limit: 10 }
    const first = await world.store.history(query)
    await world.store.pruneHistory(1005)
    const rest = await pagesOf((cursor) => world.store.history({ ...query, cursor: cursor ?? first.cursor }))
    const ats = [...first.items, ...rest].map((entry) => entry.at)
    assert.equal(new Set(ats).size, ats.length, 'an entry came twice')
    for (let at = 1005; at < 1030; at++) assert.ok(ats.includes(at), `the entry of ${at} is missing`)
  })

  suite.case('a refused write adds nothing to the history', async (world) => {
    const owner = await world.own()
    const entry = { ...world.newName(), identity: 1, at: 1, event: 'fired', details: '' }
    const bad = setOf({ namespace: NAMESPACE, kind: 'k', key: '' }, world.now())
    await changesNothing(world.store, () =>
      refused('write', () => owner.writeWith([entry], bad), 'invalid-key'),
    )
  })
}

async function lettersOf(world: World, count: number): Promise<DeadLetter[]> {
  const { owner, rows } = await loadedRows(world, count)
  const dead = rows.map((row, i) => ({ row, diedAt: 1000 + i, reason: 'why' }))
  await owner.settle(levelAt(world.now()), { dead })
  const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 100 })
  assert.equal(items.length, count)
  return [...items]
}

function ids(letters: readonly DeadLetter[]): string[] {
  return letters.map((letter) => letter.id)
}
