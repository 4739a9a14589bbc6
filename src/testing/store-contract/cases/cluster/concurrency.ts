import assert from 'node:assert/strict'
import type { SetOperation } from '../../../../store/index.js'
import { comparePlaces, isBefore, levelAt, type TimerRow } from '../../../../timer/index.js'
import { settlementOf } from '../../owner.js'
import { addsUp, answerOf, cancelOf, keysOf, rowsOf, sameRows, setOf } from '../../sample.js'
import { rowOf } from '../../timer-fields.js'
import type { Suite } from '../../suite.js'

/** Concurrent calls: each happens at one moment, as a whole. */
export function describeConcurrency(suite: Suite): void {
  suite.case('1,000 concurrent writes are all stored', async (world) => {
    const owner = await world.own()
    const sets = Array.from({ length: 1000 }, (_, i) => setOf(world.newName(), world.now() + 1000 + (i % 97)))
    const answers = await Promise.all(
      sets.map((set) => world.store.write(owner.fence, { operations: [set] })),
    )
    const rows = sets.map((set, i) => rowOf(set, answerOf(answers[i]!.answers[0], 'set').place))
    assert.equal(new Set(rows.map((row) => row.revision)).size, 1000, 'revisions are unique')
    sameRows(await rowsOf(world.store), rows.toSorted(comparePlaces))
  })

  suite.case('concurrent writes and loads lose no timer and load none twice', async (world) => {
    const owner = await world.own()
    const { store } = world
    const from = world.now() + 1000
    const stored: TimerRow[] = []
    const kept: TimerRow[] = []
    const writes: Promise<void>[] = []
    const loaded: TimerRow[] = []
    const storeAll = async (sets: readonly SetOperation[]): Promise<void> => {
      const { answers, readLevel } = await store.write(owner.fence, { operations: sets })
      for (const [j, answer] of answers.entries()) {
        const row = rowOf(sets[j]!, answerOf(answer, 'set').place)
        stored.push(row)
        if (isBefore(row, readLevel)) kept.push(row)
      }
    }
    for (let i = 0; i < 60; i++) {
      const sets = Array.from({ length: 10 }, (_, j) =>
        setOf(world.newName(), from + ((i * 7 + j * 131) % 600)),
      )
      writes.push(storeAll(sets))
      loaded.push(...(await owner.load(from + i * 10, { limit: 5 })))
    }
    await Promise.all(writes)
    loaded.push(...(await owner.load(from + 10_000)))
    sameRows([...loaded, ...kept].toSorted(comparePlaces), stored.toSorted(comparePlaces))
    assert.ok(kept.length > 0 && loaded.length > 0, 'the case tried both ways')
  })

  suite.case('of a concurrent cancel and settlement of one timer exactly one wins', async (world) => {
    const owner = await world.own()
    const { store } = world
    const from = world.now() + 1
    const rows = await owner.setAt(...Array.from({ length: 50 }, (_, i) => from + i))
    await owner.load(from + 100)
    await world.clock.advance(200)
    const at = world.now() + 1000
    const outcomes = await Promise.all(
      rows.map(async (row) => {
        const followUp = { row, position: at, dueAt: at, attempt: 1, occurrence: 0 }
        const [write, settle] = await Promise.all([
          store.write(owner.fence, { operations: [cancelOf(row)] }),
          store.settle(owner.fence, settlementOf(owner.fence.settledLevel, { followUps: [followUp] })),
        ])
        return { cancel: write.answers[0]!.outcome, followUp: settle.followUps[0] }
      }),
    )
    // The cancel came before the follow-up or after it. The timer is gone in either case.
    for (const { cancel } of outcomes) assert.equal(cancel, 'cancelled')
    assert.deepEqual(await rowsOf(store), [])
    assert.equal((await store.counts()).cancelled, 50)
    await addsUp(store)
  })

  suite.case('a rising settled level never passes an accepted write', async (world) => {
    const owner = await world.own()
    const { store } = world
    const from = world.now()
    await world.clock.advance(1000)
    const writes: Promise<TimerRow | undefined>[] = []
    for (let i = 0; i < 40; i++) {
      const set = setOf(world.newName(), from + i * 10 + 5)
      await owner.load(from + (i + 2) * 10)
      writes.push(
        store.write(owner.fence, { operations: [set] }).then(({ answers: [answer] }) => {
          if (answer!.outcome === 'below-level') return undefined
          return rowOf(set, answerOf(answer, 'set').place)
        }),
      )
      if (i % 4 === 3) await owner.settle(levelAt(from + (i - 3) * 10))
    }
    const rows = await Promise.all(writes)
    const level = (await owner.row()).settledLevel
    const current = await rowsOf(store)
    assert.deepEqual(
      keysOf(current),
      keysOf(rows.filter((row) => row !== undefined && !isBefore(row, level)) as TimerRow[]),
    )
  })

  suite.case('concurrent sets of one name leave one timer and correct counters', async (world) => {
    const owner = await world.own()
    const name = world.newName()
    const sets = Array.from({ length: 100 }, (_, i) => setOf(name, world.now() + 1000 + (i % 7)))
    await Promise.all(sets.map((set) => world.store.write(owner.fence, { operations: [set] })))
    const rows = await rowsOf(world.store)
    assert.equal(rows.length, 1)
    const { created, replaced } = await world.store.counts()
    assert.deepEqual({ created, replaced }, { created: 100, replaced: 99 })
    sameRows(await owner.load(world.now() + 5000), rows)
  })

  suite.case('reads work while writes are running', async (world) => {
    const owner = await world.own()
    const rows = await owner.setAt(...Array.from({ length: 200 }, (_, i) => world.now() + 1000 + i))
    const writes = rows.map((row, i) =>
      owner.write(i % 2 === 0 ? cancelOf(row) : setOf(world.newName(), row.position)),
    )
    const reads = Array.from({ length: 20 }, () => rowsOf(world.store))
    for (const listed of await Promise.all(reads)) {
      assert.equal(new Set(keysOf(listed)).size, listed.length, 'a row was listed twice')
      assert.deepEqual(listed, listed.toSorted(comparePlaces))
    }
    await Promise.all(writes)
    assert.equal((await rowsOf(world.store)).length, 200)
    const odd = rows.filter((_, i) => i % 2 === 1)
    assert.equal((await world.store.find(odd)).filter((row) => row !== undefined).length, 100)
  })
}
