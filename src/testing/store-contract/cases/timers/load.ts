import assert from 'node:assert/strict'
import { comparePlaces, isBefore, levelAfter, levelAt, type TimerRow } from '../../../../timer/index.js'
import {
  answerOf,
  cancelOf,
  changesNothing,
  keysOf,
  moveOf,
  refused,
  samePlace,
  sameRows,
  setOf,
} from '../../sample.js'
import type { Suite } from '../../suite.js'

const DAY_MS = 86_400_000

/** Loads: rows are read and the read level is raised in one step, in order, each row once (rule 2). */
export function describeLoad(suite: Suite): void {
  suite.case('load answers complete rows in order, and the columns agree with them', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const sets = [30, 10, 20, 10, 40].map((offset) =>
      setOf(world.newName(), at + offset, {
        dueAt: at + offset - 5,
        tags: ['red', `t${offset}`],
        details: `{"every":${offset}}`,
        attempt: 3,
        occurrence: offset,
      }),
    )
    const rows = (await owner.set(...sets)).toSorted(comparePlaces)
    const { page } = await owner.loadPage(at + 1000)
    const loaded = Array.from({ length: page.size }, (_, index) => page.row(index))
    sameRows(loaded, rows)
    const columns = [page.positions, page.revisions, page.dueAts].map((column) =>
      [...column].slice(0, page.size),
    )
    assert.deepEqual(columns, [
      rows.map((row) => row.position),
      rows.map((row) => row.revision),
      rows.map((row) => row.dueAt),
    ])
    assert.ok(page.bytes >= rows.reduce((sum, row) => sum + row.payload.length, 0), `bytes=${page.bytes}`)
  })

  suite.case('load begins at the read level and ends before untilExclusive', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const rows = await owner.setAt(at - 1, at, at + 1)
    assert.deepEqual(keysOf(await owner.load(at)), [rows[0]!.key])
    samePlace(owner.readLevel, levelAt(at))
    assert.deepEqual(keysOf(await owner.load(at + 1)), [rows[1]!.key])
    assert.deepEqual(keysOf(await owner.load(at + 2)), [rows[2]!.key])
    assert.deepEqual(await owner.load(at + 3), [])
    samePlace((await owner.row()).readLevel, levelAt(at + 3))
  })

  suite.case(
    'load with an end at or below the read level loads nothing and keeps the level',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      await owner.setAt(at, at, at + 1)
      await owner.load(at + 1, { limit: 1 })
      const level = owner.readLevel
      assert.deepEqual(await owner.load(at), [])
      samePlace(owner.readLevel, level)
      assert.deepEqual(await owner.load(at - 500), [])
      samePlace(owner.readLevel, level)
      assert.equal((await owner.load(at + 2)).length, 2)
    },
  )

  suite.case('load stops at its limits but reads at least one row', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const payload = new Uint8Array(1000)
    const rows = await owner.set(
      ...Array.from({ length: 40 }, (_, i) => setOf(world.newName(), at + (i >> 1), { payload })),
    )
    const loaded = await owner.load(at + 100, { limit: 3 })
    assert.equal(loaded.length, 3)
    const { page } = await owner.loadPage(at + 100, { limitBytes: 5000 })
    assert.ok(page.size >= 1 && page.size <= 6, `5,000 bytes held ${page.size} rows of 1,000`)
    for (let i = 0; i < page.size; i++) loaded.push(page.row(i))
    const one = await owner.load(at + 100, { limitBytes: 1 })
    assert.equal(one.length, 1)
    loaded.push(...one, ...(await owner.load(at + 100)))
    sameRows(loaded, rows)
  })

  suite.case('load reads 1,000 timers of one millisecond once each, in pages of 7', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const rows = await owner.setAt(...Array.from({ length: 1000 }, () => at))
    const [after] = await owner.setAt(at + 1)
    const loaded: TimerRow[] = []
    const kept: TimerRow[] = []
    while (loaded.length + kept.length < 1040) {
      const page = await owner.load(at + 1, { limit: 7 })
      assert.ok(page.length > 0 && page.length <= 7, `a page of ${page.length}`)
      assert.ok(isBefore(page.at(-1)!, owner.readLevel) && isBefore(owner.readLevel, after!))
      loaded.push(...page)
      // A timer may be set between two loads. Its answer shows whether a load will still bring it.
      if (loaded.length % 175 === 0) {
        for (const row of await owner.setAt(...Array.from({ length: 8 }, () => at))) {
          rows.push(row)
          if (isBefore(row, owner.readLevel)) kept.push(row)
        }
      }
      if (page.length < 7) break
    }
    loaded.push(...(await owner.load(at + 1)))
    sameRows([...loaded, ...kept].toSorted(comparePlaces), rows)
    assert.deepEqual(keysOf(await owner.load(at + 2)), [after!.key])
  })

  suite.case('rows that are written below the read level are not loaded again', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    await owner.load(at + 100)
    await owner.setAt(at)
    const [beyond] = await owner.setAt(at + 100)
    assert.deepEqual(keysOf(await owner.load(at + 1000)), [beyond!.key])
  })

  suite.case(
    'a cancelled row is not loaded, and a moved row is loaded only at its new position',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      const [a, b, c, d] = await owner.setAt(at, at + 1, at + 2, at + 3)
      await owner.write(cancelOf(a!), moveOf(b!, at + 10), moveOf(d!, at - 1))
      const loaded = await owner.load(at + 5)
      assert.deepEqual(keysOf(loaded), keysOf([d!, c!]))
      assert.deepEqual(keysOf(await owner.load(at + 50)), [b!.key])
    },
  )

  suite.case('load finds timers that were moved between now and ten years ahead', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const offsets = [0, 1, 999, 60_000, 3_600_000, DAY_MS - 1, DAY_MS, 40 * DAY_MS, 3650 * DAY_MS]
    const rows = await owner.setAt(...offsets.map((offset) => at + offset))
    const moved = answerOf((await owner.write(moveOf(rows[8]!, at + 5)))[0], 'moved').row
    const away = answerOf((await owner.write(moveOf(rows[0]!, at + 3650 * DAY_MS)))[0], 'moved').row
    const expected = [...rows.slice(1, 8), moved, away].toSorted(comparePlaces)
    const loaded: TimerRow[] = []
    for (const until of [at + 10, at + DAY_MS, at + 41 * DAY_MS, at + 4000 * DAY_MS]) {
      for (;;) {
        const page = await owner.load(until, { limit: 2 })
        loaded.push(...page)
        if (page.length === 0) break
      }
    }
    sameRows(loaded, expected)
  })

  suite.case('nextPosition is a lower bound of the rows that are still to be loaded', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    assert.equal((await owner.loadPage(at)).nextPosition, undefined, 'of an empty store')
    await owner.setAt(at + 10, at + DAY_MS, at + 100 * DAY_MS)
    for (const [until, next] of [
      [at + 1, at + 10],
      [at + 11, at + DAY_MS],
      [at + DAY_MS + 1, at + 100 * DAY_MS],
    ] as const) {
      const { nextPosition } = await owner.loadPage(until)
      assert.ok(nextPosition !== undefined && nextPosition <= next, `${nextPosition} for ${next}`)
    }
  })

  suite.case("load from another read level than the store's is refused", async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const [row] = await owner.setAt(at)
    await owner.load(at + 10)
    for (const from of [levelAt(at), levelAt(at + 11), levelAfter(row!)]) {
      const load = () => owner.loadPage(at + 100, { from })
      await changesNothing(world.store, () => refused('load', load, 'fenced'))
    }
  })

  suite.case('rows at or after a lowered read level are loaded again', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const rows = await owner.setAt(at, at, at, at + 1)
    await owner.load(at + 100)
    await world.store.lower(owner.fence, owner.readLevel, rows[1]!)
    assert.deepEqual(levelOf(await owner.row()), { position: at, revision: rows[1]!.revision })
    owner.readLevel = { position: at, revision: rows[1]!.revision }
    const [late] = await owner.setAt(at)
    assert.deepEqual(keysOf(await owner.load(at + 100)), keysOf([rows[1]!, rows[2]!, late!, rows[3]!]))
  })

  suite.case("lower works only from the store's read level and only downwards", async (world) => {
    const owner = await world.own()
    const { store } = world
    const at = world.now() + 1000
    await owner.setAt(at)
    await owner.load(at + 100)
    const { fence, readLevel } = owner
    await changesNothing(store, async () => {
      await refused('from elsewhere', () => store.lower(fence, levelAt(at), levelAt(at - 1)), 'fenced')
      const up = levelAt(at + 200)
      await refused('up', () => store.lower(fence, readLevel, up), 'invalid-level', 'fenced')
    })
  })
}

function levelOf({
  readLevel: { position, revision },
}: {
  readonly readLevel: { position: number; revision: number }
}) {
  return { position, revision }
}
