import assert from 'node:assert/strict'
import { PlainSets, PlainWrite, type SetOperation } from '../../store/index.js'
import { encodePayload, levelAt, nameLimits, shardOf, type TimerRow } from '../../timer/index.js'
import type { Owner } from './owner.js'
import {
  addsUp,
  answerOf,
  changesNothing,
  NAMESPACE,
  newIdentity,
  refused,
  rowOf,
  rowsOf,
  sameRows,
  setOf,
} from './sample.js'
import type { Suite } from './suite.js'
import type { World } from './world.js'

/** What a test says of a plain set. */
interface Asked {
  readonly key: string
  readonly dueAt: number
  readonly payload?: unknown
  readonly identity?: number
}

/** Plain sets of one shard, none of which is to stand below `floor`. */
export function plainWriteOf(asked: readonly Asked[], floor = 0, ifInboxEmpty = false): PlainWrite {
  const scope = { namespace: NAMESPACE, kind: 'sample', createdAt: 1_700_000_000_000 }
  const sets = new PlainSets(scope, asked.length, nameLimits.payloadBytes)
  for (const { key, dueAt, payload, identity } of asked)
    sets.add(key, identity ?? newIdentity(), dueAt, payload)
  return new PlainWrite({ sets, indexes: Uint32Array.from(asked.keys()) }, floor, ifInboxEmpty)
}

/** Writes plain sets that must all be new, and answers their rows. */
async function rowsWritten(owner: Owner, write: PlainWrite): Promise<TimerRow[]> {
  return (await owner.answersTo(write)).map((answer, index) => {
    const { place, replaced } = answerOf(answer, 'set')
    assert.equal(replaced, undefined, `what number ${index} replaced`)
    return rowOf(write.operations[index]!, place)
  })
}

/** Plain sets in columns are what their operations say, whether a store takes the columns or asks for operations. */
export function describePlainSets(suite: Suite): void {
  suite.case('plain sets in columns are stored, each as it was set', async (world) => {
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
      // Not in the order of time, several at one millisecond.
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

  suite.case('of columns only those of the shard are written', async (world) => {
    const owner = await world.own()
    const whole = plainWriteOf(
      keysIn(world, 0, ['a', 'b', 'c', 'd', 'e']).map((key, i) => ({
        key,
        dueAt: world.now() + i,
        payload: i,
      })),
    )
    const write = new PlainWrite({ sets: whole.sets, indexes: Uint32Array.of(1, 3) }, 0, false)
    const rows = await rowsWritten(owner, write)
    sameRows(await rowsOf(world.store), rows)
    assert.deepEqual(
      rows.map(({ key }) => key),
      [whole.sets.keys[1], whole.sets.keys[3]],
    )
  })

  suite.case('an overdue plain set stands at the floor and keeps its due time', async (world) => {
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

  suite.case('plain sets of names that are taken replace, and the same again is the same', async (world) => {
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
    assert.equal(answerOf(again[0], 'same').standing.identity, write.operations[1]!.identity)
    assert.equal((await world.store.counts()).created, 5)
    await addsUp(world.store)
  })

  suite.case('a plain set below the settled level is told so and not written', async (world) => {
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

  suite.case('plain sets are fenced, and come after what is in the inbox', async (world) => {
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

  suite.case('a payload that is more than the store takes is refused, whole', async (world) => {
    const owner = await world.own()
    const [small, large] = keysIn(world, 0, ['small', 'large'])
    const sets = new PlainSets({ namespace: NAMESPACE, kind: 'sample', createdAt: 1 }, 2, 2 ** 30)
    sets.add(small!, newIdentity(), world.now() + 1000, 1)
    sets.add(large!, newIdentity(), world.now() + 1000, 'z'.repeat(world.store.maxPayloadBytes))
    const write = new PlainWrite({ sets, indexes: Uint32Array.of(0, 1) }, 0, false)
    await changesNothing(world.store, () =>
      refused('too large', () => world.store.write(owner.fence, write), 'payload-too-large'),
    )
  })
}

/** Keys that begin with these texts and live in a shard. */
function keysIn({ store }: World, shard: number, texts: readonly string[]): string[] {
  return texts.map((text) => {
    for (let number = 0; ; number++) {
      const key = number === 0 ? text : `${text}${number}`
      if (shardOf({ namespace: NAMESPACE, kind: 'sample', key }, store.shardCount) === shard) return key
    }
  })
}
