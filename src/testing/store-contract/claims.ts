import assert from 'node:assert/strict'
import type { ClaimedRow, DueClaim } from '../../store/index.js'
import type { TimerName, TimerRow } from '../../timer/index.js'
import {
  addsUp,
  answerOf,
  cancelOf,
  keysOf,
  moveOf,
  NAMESPACE,
  plain,
  refused,
  rowOf,
  rowsOf,
  sameRows,
  setOf,
  shownLetter,
} from './sample.js'
import { entryOf } from './settle.js'
import type { Suite } from './suite.js'
import type { World } from './world.js'

const OWNED = { strategy: 'claim' } as const

/** The strategy `claim`: no owner, a lease for each due row. */
export function describeClaims(suite: Suite): void {
  suite.case('a store of another strategy refuses claims', async ({ store }) => {
    const due = { owner: 'me', limit: 1, leaseMs: 1000 }
    await refused('claimDue', () => store.claimDue(due), 'wrong-strategy')
    await refused('nextDue', () => store.nextDue({ withinMs: 1 }), 'wrong-strategy')
    await refused('extend', () => store.extend([], 1000), 'wrong-strategy')
    await refused('settleClaimed', () => store.settleClaimed([], []), 'wrong-strategy')
  })

  suite.case(
    'leases what is due, the earliest first, up to the limit',
    async (world) => {
      const at = world.now()
      const rows = await dueRows(
        world,
        [30, 10, 20, 0, 1000].map((offset) => at - 100 + offset),
      )
      const first = await claimed(world, 'me', { limit: 2 })
      sameRows(
        first.map(({ row }) => row),
        [rows[3]!, rows[1]!],
      )
      const rest = await claimed(world, 'me')
      sameRows(
        rest.map(({ row }) => row),
        [rows[2]!, rows[0]!],
      )
      assert.deepEqual(await claimed(world, 'me'), [])
      await world.clock.advance(899)
      assert.deepEqual(await claimed(world, 'me'), [], 'a millisecond before it is due')
      await world.clock.advance(1)
      sameRows(
        (await claimed(world, 'me')).map(({ row }) => row),
        [rows[4]!],
      )
    },
    OWNED,
  )

  suite.case(
    'claims only the kinds that were asked for',
    async (world) => {
      const at = world.now() - 10
      const names: TimerName[] = [
        { namespace: NAMESPACE, kind: 'mail', key: 'a' },
        { namespace: NAMESPACE, kind: 'call', key: 'a' },
        { namespace: `${NAMESPACE}-2`, kind: 'mail', key: 'a' },
      ]
      await world.write(...names.map((name) => setOf(name, at)))
      const kinds = [names[0]!, { namespace: NAMESPACE, kind: 'none' }]
      const mail = await claimed(world, 'me', { kinds })
      assert.deepEqual(
        mail.map(({ row }) => nameOf(row)),
        [names[0]],
      )
      assert.deepEqual(await claimed(world, 'me', { kinds: [] }), [])
      assert.equal((await claimed(world, 'me')).length, 2)
    },
    OWNED,
  )

  suite.case(
    'two claimers never share a row',
    async (world) => {
      const rows = await dueRows(
        world,
        Array.from({ length: 500 }, (_, i) => world.now() - (i % 50) - 1),
      )
      const claimers = Array.from({ length: 20 }, (_, i) => claimed(world, `claimer-${i}`, { limit: 40 }))
      const keys = (await Promise.all(claimers)).flat().map(({ row }) => row.key)
      keys.push(...(await claimed(world, 'last', { limit: 500 })).map(({ row }) => row.key))
      assert.deepEqual(keys.toSorted(), keysOf(rows).toSorted())
    },
    OWNED,
  )

  suite.case(
    'a row whose lease is over is claimed again and counts one attempt more',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'first', { leaseMs: 5000 })
      assert.equal(first!.row.attempt, row!.attempt)
      assert.equal(first!.lostOwner, undefined)
      await world.clock.advance(4999)
      assert.deepEqual(await claimed(world, 'second'), [])
      await world.clock.advance(2)
      const [second] = await claimed(world, 'second', { leaseMs: 5000 })
      assert.equal(second!.row.attempt, row!.attempt + 1)
      assert.equal(second!.row.identity, row!.identity)
      assert.equal(second!.lostOwner, 'first')
      const [found] = await world.store.find([row!])
      assert.equal(found?.attempt, row!.attempt + 1, 'the attempt is written down')
      await lost(world, first!)
      await world.clock.advance(5001)
      const [third] = await claimed(world, 'third')
      assert.equal(third!.row.attempt, row!.attempt + 2)
      assert.equal(third!.lostOwner, 'second')
      const progress = { dueAt: world.now(), attempt: 3, occurrence: 0 }
      await settled(world, { receipt: third!.receipt, outcome: 'follow-up', progress })
      assert.equal((await claimed(world, 'fourth'))[0]?.lostOwner, undefined, 'settled, not lost')
    },
    OWNED,
  )

  suite.case(
    'tells when the next is due, of the kinds asked for, and nothing of what is due already',
    async (world) => {
      const at = world.now()
      const mail = { namespace: NAMESPACE, kind: 'mail', key: 'a' }
      const call = { namespace: NAMESPACE, kind: 'call', key: 'a' }
      const next = (withinMs: number, ...kinds: TimerName[]) =>
        world.store.nextDue({ withinMs, ...(kinds.length > 0 && { kinds }) })
      assert.equal(await next(1e12), undefined)
      await dueRows(world, [at - 10, at])
      assert.equal(await next(1e12), undefined)
      await world.write(setOf(mail, at + 5000), setOf(call, at + 700), setOf({ ...mail, key: 'b' }, at + 900))
      assert.equal(await next(1000), at + 700)
      assert.equal(await next(700), at + 700)
      assert.equal(await next(699), undefined)
      assert.equal(await next(1000, mail), at + 900)
      assert.equal(await next(10_000, { ...mail, kind: 'none' }), undefined)
      await world.clock.advance(900)
      assert.equal(await next(10_000), at + 5000)
      assert.equal(await next(10_000, call), undefined)
    },
    { strategy: 'claim', shardCount: 4 },
  )

  suite.case(
    'what the history gets of a lease is written if it was held, and only then',
    async (world) => {
      await dueRows(world, [world.now() - 20, world.now() - 10])
      const [held, gone] = await claimed(world, 'me')
      await world.write(cancelOf(gone!.row), setOf(gone!.row, world.now() + 1000))
      const note = (event: string) => [{ at: world.now(), event, details: '{}' }]
      const answers = await settled(
        world,
        { receipt: gone!.receipt, outcome: 'done', notes: note('lost') },
        { receipt: held!.receipt, outcome: 'done', notes: [...note('attempt'), ...note('settled')] },
        { receipt: held!.receipt, outcome: 'done', notes: note('again') },
      )
      assert.deepEqual([...answers], [false, true, false])
      const { items } = await world.store.history({ namespace: NAMESPACE, limit: 9 })
      assert.deepEqual(
        items.map(({ key, event, identity }) => [key, event, identity]),
        ['attempt', 'settled'].map((event) => [held!.row.key, event, held!.row.identity]),
      )
    },
    OWNED,
  )

  suite.case(
    'a lease can be extended while it runs, and not after',
    async (world) => {
      await dueRows(world, [world.now() - 10, world.now() - 9])
      const [a, b] = await claimed(world, 'me', { leaseMs: 5000 })
      await world.clock.advance(4000)
      assert.deepEqual([...(await world.store.extend([a!.receipt], 5000))], [true])
      await world.clock.advance(1001)
      assert.deepEqual([...(await world.store.extend([b!.receipt, a!.receipt], 5000))], [false, true])
      assert.deepEqual(
        (await claimed(world, 'other')).map(({ row }) => row.key),
        [b!.row.key],
      )
      const forged = { ...a!.receipt, nonce: a!.receipt.nonce + 1 }
      assert.deepEqual([...(await world.store.extend([forged], 5000))], [false])
      assert.deepEqual([...(await settled(world, { receipt: a!.receipt, outcome: 'done' }))], [true])
      assert.deepEqual([...(await world.store.extend([a!.receipt], 5000))], [false])
    },
    OWNED,
  )

  suite.case(
    'done ends a timer, once',
    async (world) => {
      await dueRows(world, [world.now() - 10])
      const [{ receipt } = assert.fail('nothing was claimed')] = await claimed(world, 'me')
      const history = [entryOf((await rowsOf(world.store))[0]!)]
      assert.deepEqual(
        [...(await world.store.settleClaimed([{ receipt, outcome: 'done' }], history))],
        [true],
      )
      assert.deepEqual([...(await settled(world, { receipt, outcome: 'done' }))], [false])
      assert.deepEqual(await rowsOf(world.store), [])
      await world.clock.advance(100_000)
      assert.deepEqual(await claimed(world, 'me'), [])
      assert.equal((await world.store.counts()).settled, 1)
      assert.equal((await world.store.history({ namespace: NAMESPACE, limit: 9 })).items.length, 1)
      await addsUp(world.store)
    },
    OWNED,
  )

  suite.case(
    'released is as if it had never been leased',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'first')
      assert.deepEqual([...(await settled(world, { receipt: first!.receipt, outcome: 'released' }))], [true])
      const [second] = await claimed(world, 'second')
      assert.equal(second!.row.attempt, row!.attempt)
      await lost(world, first!)
      assert.deepEqual([...(await settled(world, { receipt: second!.receipt, outcome: 'done' }))], [true])
    },
    OWNED,
  )

  suite.case(
    'a follow-up keeps the timer, with its new progress, until it is due again',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'me')
      const dueAt = world.now() + 500
      const progress = { dueAt, attempt: 3, occurrence: 1 }
      assert.deepEqual(
        [...(await settled(world, { receipt: first!.receipt, outcome: 'follow-up', progress }))],
        [true],
      )
      assert.deepEqual(await claimed(world, 'me'), [])
      await world.clock.advance(500)
      const [second] = await claimed(world, 'me')
      const { position, revision } = second!.row
      assert.ok(revision > row!.revision)
      assert.deepEqual(plain(second!.row), plain({ ...row!, ...progress, position, revision }))
      await addsUp(world.store)
    },
    OWNED,
  )

  suite.case(
    'dead takes the timer away and keeps it as a letter',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'me')
      const death = { outcome: 'dead', reason: 'no such address', diedAt: 42 } as const
      assert.deepEqual([...(await settled(world, { receipt: first!.receipt, ...death }))], [true])
      assert.deepEqual([...(await settled(world, { receipt: first!.receipt, ...death }))], [false])
      const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 10 })
      assert.deepEqual(
        items.map((letter) => [letter.row.key, letter.reason, letter.diedAt, letter.row.identity]),
        [[row!.key, 'no such address', 42, row!.identity]],
      )
      assert.equal((await world.store.counts()).dead, 1)
      assert.deepEqual(await rowsOf(world.store), [])
      await addsUp(world.store)
    },
    OWNED,
  )

  suite.case(
    'a dead lease whose timer goes on keeps a letter and the timer',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'me')
      const dueAt = world.now() + 500
      const progress = { dueAt, attempt: 0, occurrence: 4 }
      const death = { outcome: 'dead', reason: 'no answer', diedAt: 42, next: progress } as const
      assert.deepEqual([...(await settled(world, { receipt: first!.receipt, ...death }))], [true])
      assert.deepEqual([...(await settled(world, { receipt: first!.receipt, ...death }))], [false])
      const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 10 })
      assert.deepEqual(items.map(shownLetter), [shownLetter({ row: row!, ...death })])
      assert.equal((await world.store.counts()).dead, 0, 'a timer that goes on has not ended')
      await addsUp(world.store)
      assert.deepEqual(await claimed(world, 'me'), [])
      await world.clock.advance(500)
      const [second] = await claimed(world, 'me')
      const { position, revision } = second!.row
      assert.deepEqual(plain(second!.row), plain({ ...row!, ...progress, position, revision }))
    },
    OWNED,
  )

  suite.case(
    'what follows a lease may bring other details',
    async (world) => {
      await dueRows(world, [world.now() - 3, world.now() - 2])
      const [first, second] = await claimed(world, 'me')
      const dueAt = world.now() + 500
      const progress = { dueAt, attempt: 0, occurrence: 1 }
      const answers = await settled(
        world,
        { receipt: first!.receipt, outcome: 'follow-up', progress: { ...progress, details: 'new' } },
        {
          receipt: second!.receipt,
          outcome: 'dead',
          reason: '',
          diedAt: 1,
          next: { ...progress, details: '' },
        },
      )
      assert.deepEqual([...answers], [true, true])
      const found = await world.store.find([first!.row, second!.row])
      assert.deepEqual(
        found.map((row) => [row?.details, row?.dueAt]),
        [
          ['new', dueAt],
          ['', dueAt],
        ],
      )
    },
    OWNED,
  )

  suite.case(
    'a lease on a timer that was set anew, moved or cancelled is lost',
    async (world) => {
      const [a, b, c] = await dueRows(world, [world.now() - 3, world.now() - 2, world.now() - 1])
      const [first, second, third] = await claimed(world, 'me')
      const at = world.now() + 1000
      const set = setOf(a!, at)
      const answers = await world.write(set, moveOf(b!, at), cancelOf(c!))
      sameRows((await world.store.find([a!])) as TimerRow[], [rowOf(set, answerOf(answers[0], 'set').place)])
      await lost(world, first!)
      // A store may refuse to move or cancel what is being delivered; what it answers must be so.
      for (const [answer, lease] of [
        [answers[1], second!],
        [answers[2], third!],
      ] as const) {
        if (answer!.outcome !== 'firing') await lost(world, lease)
      }
      const [, moved, cancelled] = await world.store.find([a!, b!, c!])
      assert.equal(moved?.position, answers[1]!.outcome === 'firing' ? b!.position : at)
      assert.equal(cancelled === undefined, answers[2]!.outcome === 'cancelled')
      await addsUp(world.store)
    },
    OWNED,
  )

  suite.case(
    'conditions, upserts and counts are those of every store',
    async (world) => {
      const at = world.now() + 1000
      const name = world.newName()
      const first = setOf(name, at)
      const second = setOf(name, at)
      const answers = await world.write(
        first,
        first,
        { ...second, ifAbsent: true },
        second,
        moveOf(name, at + 5),
        { ...cancelOf(name), identity: first.identity },
        cancelOf(name),
      )
      assert.deepEqual(
        answers.map((answer) => answer.outcome),
        ['set', 'same', 'conflict', 'set', 'moved', 'unknown', 'cancelled'],
      )
      await addsUp(world.store)
    },
    { strategy: 'claim', shardCount: 4 },
  )
}

async function dueRows(world: World, positions: readonly number[]): Promise<TimerRow[]> {
  const sets = positions.map((position) =>
    setOf(world.newName(), position, { tags: ['due'], details: 'kept' }),
  )
  const answers = await world.write(...sets)
  return sets.map((set, i) => rowOf(set, answerOf(answers[i], 'set').place))
}

async function claimed(
  world: World,
  owner: string,
  parts: Partial<DueClaim> = {},
): Promise<readonly ClaimedRow[]> {
  return await world.store.claimDue({ owner, limit: 1000, leaseMs: 30_000, ...parts })
}

async function settled(world: World, ...settlements: Parameters<World['store']['settleClaimed']>[0]) {
  return await world.store.settleClaimed(settlements, [])
}

/** Whoever holds a lost lease can do nothing with it. */
async function lost(world: World, { receipt }: ClaimedRow): Promise<void> {
  const before = (await rowsOf(world.store)).map(plain)
  const progress = { dueAt: 1, attempt: 9, occurrence: 9 }
  const answers = await settled(
    world,
    { receipt, outcome: 'done' },
    { receipt, outcome: 'released' },
    { receipt, outcome: 'follow-up', progress },
    { receipt, outcome: 'dead', reason: 'lost', diedAt: 1 },
    { receipt, outcome: 'dead', reason: 'lost', diedAt: 1, next: progress },
  )
  assert.deepEqual([...answers], [false, false, false, false, false])
  assert.deepEqual([...(await world.store.extend([receipt], 1000))], [false])
  assert.deepEqual((await rowsOf(world.store)).map(plain), before)
}

function nameOf({ namespace, kind, key }: TimerName): TimerName {
  return { namespace, kind, key }
}
