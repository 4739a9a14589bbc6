import assert from 'node:assert/strict'
import { SetColumns, SetColumnsWrite, type SetOperation } from '../../../../store/index.js'
import { encodePayload, levelAt, nameLimits, shardOf, type TimerRow } from '../../../../timer/index.js'
import type { Owner } from '../../owner.js'
import {
  addsUp,
  answerOf,
  changesNothing,
  NAMESPACE,
  newIdentity,
  refused,
  rowsOf,
  sameRows,
  setOf,
} from '../../sample.js'
import { rowOf } from '../../timer-fields.js'
import type { Suite } from '../../suite.js'
import type { World } from '../../world.js'

/** A plain set as a test describes it. */
interface Asked {
  readonly key: string
  readonly dueAt: number
  readonly payload?: unknown
  readonly identity?: number
}

/** A write of plain sets of one shard, with no position below `floor`. */
export function plainWriteOf(asked: readonly Asked[], floor = 0, ifInboxEmpty = false): SetColumnsWrite {
  const scope = { namespace: NAMESPACE, kind: 'sample', createdAt: 1_700_000_000_000 }
  const sets = new SetColumns(scope, asked.length, nameLimits.payloadBytes)
  for (const { key, dueAt, payload, identity } of asked)
    sets.add(key, identity ?? newIdentity(), dueAt, payload)
  return new SetColumnsWrite({ sets, indexes: Uint32Array.from(asked.keys()) }, floor, ifInboxEmpty)
}

/** Writes plain sets, which must all be new timers, and answers their rows. */
async function rowsWritten(owner: Owner, write: SetColumnsWrite): Promise<TimerRow[]> {
  return (await owner.answersTo(write)).map((answer, index) => {
    const { place, replaced } = answerOf(answer, 'set')
    assert.equal(replaced, undefined, `what number ${index} replaced`)
    return rowOf(write.operations[index]!, place)
  })
}

/** Plain sets in columns give the same result whether a store reads the columns or the operations. */
export function describePlainSets(suite: Suite): void {
  suite.case('plain sets in columns are stored with all their fields', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const texts = [
      'a',
      'é',
      '日本語',
      '🜁',
      "'",
      '"',
      '\\',
      '%',
      'x'.repeat(170),
      '\u{10ffff}',
      '\n',
      'ß'.repeat(80),
    ]
    const payloads = [
      undefined,
      null,
      0,
      'text',
      { deep: [{ er: 'ü' }] },
      'y'.repeat(5000),
      [],
      '🜂',
      1e300,
      { a: '' },
    ]
    const asked = keysIn(world, 0, texts).map((key, index) => ({
      key,
      // Not in order of time, and several at one millisecond.
      dueAt: at + ((index * 7) % 5) * 100,
      payload: payloads[index % payloads.length],
    }))
    const write = plainWriteOf(asked)
    const { newFrom } = await world.store.write(owner.fence, write)
    const rows = write.operations.map((set, index) =>
      rowOf(set, { position: set.position, revision: (newFrom ?? 1) + index }),
    )
    const found = await world.store.find(rows)
    sameRows(found as TimerRow[], rows)
    for (const [index, row] of found.entries()) {
      assert.equal(row!.key, asked[index]!.key)
      assert.deepEqual(Buffer.from(row!.payload), Buffer.from(encodePayload(asked[index]!.payload)))
    }
    const inOrder = rows.toSorted((a, b) => a.position - b.position || a.revision - b.revision)
    sameRows(await owner.load(at + 5000), inOrder)
    await addsUp(world.store)
  })

  suite.case('a write of columns stores only the sets of its shard', async (world) => {
    const owner = await world.own()
    const whole = plainWriteOf(
      keysIn(world, 0, ['a', 'b', 'c', 'd', 'e']).map((key, i) => ({
        key,
        dueAt: world.now() + i,
        payload: i,
      })),
    )
    const write = new SetColumnsWrite({ sets: whole.sets, indexes: Uint32Array.of(1, 3) }, 0, false)
    const rows = await rowsWritten(owner, write)
    sameRows(await rowsOf(world.store), rows)
    assert.deepEqual(
      rows.map(({ key }) => key),
      [whole.sets.keys[1], whole.sets.keys[3]],
    )
  })

  suite.case('an overdue plain set gets the position of the floor and keeps its due time', async (world) => {
    const owner = await world.own()
    const floor = world.now()
    const keys = keysIn(world, 0, ['late', 'later', 'soon'])
    const write = plainWriteOf(
      keys.map((key, index) => ({ key, dueAt: floor - 500 + index * 400, payload: key })),
      floor,
    )
    const rows = await rowsWritten(owner, write)
    assert.deepEqual(
      rows.map(({ dueAt }) => dueAt - floor),
      [-500, -100, 300],
    )
    assert.deepEqual(
      rows.map(({ position }) => position - floor),
      [0, 0, 300],
    )
    sameRows(await rowsOf(world.store), rows)
  })

  suite.case(
    'plain sets replace timers of the same name, and a repeated set changes nothing',
    async (world) => {
      const owner = await world.own()
      const at = world.now() + 1000
      const [taken, free, twice] = keysIn(world, 0, ['taken', 'free', 'twice'])
      const [old] = await owner.set(setOf({ namespace: NAMESPACE, kind: 'sample', key: taken! }, at))
      const write = plainWriteOf(
        [taken!, free!, twice!, twice!].map((key, index) => ({ key, dueAt: at + 1 + index, payload: index })),
      )
      const answers = await owner.answersTo(write)
      const places = answers.map((answer) => answerOf(answer, 'set'))
      const { identity, position, revision } = old!
      assert.deepEqual(places[0]!.replaced, { identity, position, revision })
      assert.equal(places[1]!.replaced, undefined)
      assert.equal(places[3]!.replaced?.identity, write.operations[2]!.identity)
      const stored = [0, 1, 3].map((index) => rowOf(write.operations[index]!, places[index]!.place))
      sameRows((await world.store.find(stored)) as TimerRow[], stored)
      const again = await owner.answersTo(
        plainWriteOf([{ key: free!, dueAt: at + 2, payload: 1, identity: write.operations[1]!.identity }]),
      )
      assert.equal(answerOf(again[0], 'same').current.identity, write.operations[1]!.identity)
      assert.equal((await world.store.counts()).created, 5)
      await addsUp(world.store)
    },
  )

  suite.case('a plain set below the settled level is answered below-level and not stored', async (world) => {
    const owner = await world.own()
    await world.clock.advance(2000)
    await owner.load(world.now())
    await owner.settle(levelAt(world.now()))
    const write = plainWriteOf(
      keysIn(world, 0, ['below', 'above']).map((key, index) => ({ key, dueAt: world.now() - 1 + 2 * index })),
    )
    const answers = await owner.answersTo(write)
    answerOf(answers[0], 'below-level')
    const { place } = answerOf(answers[1], 'set')
    sameRows(await rowsOf(world.store), [rowOf(write.operations[1]!, place)])
  })

  suite.case('plain sets are fenced and obey ifInboxEmpty', async (world) => {
    const owner = await world.own()
    const keys = keysIn(world, 0, ['a', 'b'])
    const asked = keys.map((key) => ({ key, dueAt: world.now() + 1000 }))
    const operation: Omit<SetOperation, 'position'> = setOf(world.newName(), world.now() + 1000)
    await world.store.append([{ id: 'one', shard: 0, deadline: world.now() + 60_000, operation }])
    await changesNothing(world.store, async () => {
      const first = plainWriteOf(asked, 0, true)
      await refused('before the inbox', () => world.store.write(owner.fence, first), 'inbox-first')
      const stale = { ...owner.fence, epoch: owner.fence.epoch - 1 }
      await refused('a zombie', () => world.store.write(stale, plainWriteOf(asked)), 'fenced')
    })
    await rowsWritten(owner, plainWriteOf(asked))
  })

  suite.case('a write of columns with a payload above the limit is refused as a whole', async (world) => {
    const owner = await world.own()
    const [small, large] = keysIn(world, 0, ['small', 'large'])
    const sets = new SetColumns({ namespace: NAMESPACE, kind: 'sample', createdAt: 1 }, 2, 2 ** 30)
    sets.add(small!, newIdentity(), world.now() + 1000, 1)
    sets.add(large!, newIdentity(), world.now() + 1000, 'z'.repeat(world.store.maxPayloadBytes))
    const write = new SetColumnsWrite({ sets, indexes: Uint32Array.of(0, 1) }, 0, false)
    await changesNothing(world.store, () =>
      refused('too large', () => world.store.write(owner.fence, write), 'payload-too-large'),
    )
  })
}

/** Keys with these prefixes whose timers are in this shard. */
function keysIn({ store }: World, shard: number, texts: readonly string[]): string[] {
  return texts.map((text) => {
    for (let number = 0; ; number++) {
      const key = number === 0 ? text : `${text}${number}`
      if (shardOf({ namespace: NAMESPACE, kind: 'sample', key }, store.shardCount) === shard) return key
    }
  })
}
