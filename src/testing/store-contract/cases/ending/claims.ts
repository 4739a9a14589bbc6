import assert from 'node:assert/strict'
import type { ClaimedRow, DueClaim } from '../../../../store/index.js'
import type { TimerName, TimerRow } from '../../../../timer/index.js'
import {
  addsUp,
  answerOf,
  cancelOf,
  keysOf,
  moveOf,
  NAMESPACE,
  refused,
  rowsOf,
  sameRows,
  setOf,
  shownLetter,
} from '../../sample.js'
import { plain, rowOf } from '../../timer-fields.js'
import { entryOf } from './settle.js'
import type { Suite } from '../../suite.js'
import type { World } from '../../world.js'

const CLAIM = { strategy: 'claim' } as const

/** The mode `claim`: shards have no owner, and each due row is leased. */
export function describeClaims(suite: Suite): void {
  suite.case('a store of the mode owned refuses row claims', async ({ store }) => {
    const due = { owner: 'me', limit: 1, leaseMs: 1000 }
    await refused('claimDue', () => store.claimDue(due), 'wrong-strategy')
    await refused('nextDue', () => store.nextDue({ withinMs: 1 }), 'wrong-strategy')
    await refused('extend', () => store.extend([], 1000), 'wrong-strategy')
    await refused('longLeases', () => store.longLeases({ beyondMs: 1, limit: 1 }), 'wrong-strategy')
    await refused('cutShort', () => store.cutShort([]), 'wrong-strategy')
    await refused('settleClaimed', () => store.settleClaimed([], []), 'wrong-strategy')
  })

  suite.case(
    'claimDue leases due rows, earliest first, up to the limit',
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
    CLAIM,
  )

  suite.case(
    'claimDue leases only timers of the given kinds',
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
    CLAIM,
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
    CLAIM,
  )

  suite.case(
    'a move while the row fires keeps its lease under a new revision',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [held] = await claimed(world, 'me', { leaseMs: 5000 })
      const { dueAt, position } = row!
      const move = { ...moveOf(row!, dueAt), position, details: '{"marked":1}', whileFiring: true } as const
      const [free] = await dueRows(world, [world.now() + 10_000])
      assert.equal((await world.write({ ...move, ...nameOf(free!) }))[0]!.outcome, 'conflict', 'not claimed')
      const before = answerOf((await world.write(move))[0], 'moved')
      // The second of two in one write finds the lease as well, and a cancel behind it is too late.
      const [again, cancel] = await world.write({ ...move, details: '{"marked":2}' }, cancelOf(row!))
      const moved = answerOf(again, 'moved').row
      assert.equal(cancel!.outcome, 'firing')
      assert.ok(moved.revision > before.row.revision && before.row.revision > row!.revision)
      sameRows([(await world.store.find([row!]))[0]!], [moved])
      sameRows([moved], [{ ...row!, revision: moved.revision, details: '{"marked":2}' }])
      assert.deepEqual(await claimed(world, 'other'), [], 'it is still claimed')
      assert.deepEqual(await world.store.extend([held!.token], 5000), [false], 'the old token is stale')
      const token = { ...held!.token, revision: moved.revision }
      assert.deepEqual(await world.store.extend([token], 9000), [true])
      await world.clock.advance(9001)
      const [next] = await claimed(world, 'next')
      assert.equal(next!.row.attempt, row!.attempt + 1)
      assert.equal(next!.lostOwner, 'me')
      await settled(world, { token: next!.token, outcome: 'done' })
      assert.deepEqual(await world.store.find([row!]), [undefined])
    },
    CLAIM,
  )

  suite.case(
    'a row whose lease has run out is claimed again with one more attempt',
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
      await settled(world, { token: third!.token, outcome: 'follow-up', progress })
      assert.equal((await claimed(world, 'fourth'))[0]?.lostOwner, undefined, 'settled, not lost')
    },
    CLAIM,
  )

  suite.case(
    'nextDue answers the next due time of the given kinds and ignores rows that are due already',
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
    'settleClaimed writes its notes to the history only if the lease was held',
    async (world) => {
      await dueRows(world, [world.now() - 20, world.now() - 10])
      const [held, gone] = await claimed(world, 'me')
      await world.write(cancelOf(gone!.row), setOf(gone!.row, world.now() + 1000))
      const note = (event: string) => [{ at: world.now(), event, details: '{}' }]
      const answers = await settled(
        world,
        { token: gone!.token, outcome: 'done', notes: note('lost') },
        { token: held!.token, outcome: 'done', notes: [...note('attempt'), ...note('settled')] },
        { token: held!.token, outcome: 'done', notes: note('again') },
      )
      assert.deepEqual([...answers], [false, true, false])
      const { items } = await world.store.history({ namespace: NAMESPACE, limit: 9 })
      assert.deepEqual(
        items.map(({ key, event, identity }) => [key, event, identity]),
        ['attempt', 'settled'].map((event) => [held!.row.key, event, held!.row.identity]),
      )
    },
    CLAIM,
  )

  suite.case(
    'a lease can be extended while it runs but not after its end',
    async (world) => {
      await dueRows(world, [world.now() - 10, world.now() - 9])
      const [a, b] = await claimed(world, 'me', { leaseMs: 5000 })
      await world.clock.advance(4000)
      assert.deepEqual([...(await world.store.extend([a!.token], 5000))], [true])
      await world.clock.advance(1001)
      assert.deepEqual([...(await world.store.extend([b!.token, a!.token], 5000))], [false, true])
      assert.deepEqual(
        (await claimed(world, 'other')).map(({ row }) => row.key),
        [b!.row.key],
      )
      const forged = { ...a!.token, nonce: a!.token.nonce + 1 }
      assert.deepEqual([...(await world.store.extend([forged], 5000))], [false])
      assert.deepEqual([...(await settled(world, { token: a!.token, outcome: 'done' }))], [true])
      assert.deepEqual([...(await world.store.extend([a!.token], 5000))], [false])
    },
    CLAIM,
  )

  suite.case(
    'longLeases shows the leases of due rows that a clock ahead gave, earliest first',
    async (world) => {
      const at = world.now()
      await dueRows(world, [at - 10, at - 30, at - 20, at + 500_000])
      world.clock.jump(1_000_000)
      const held = await claimed(world, 'me', { leaseMs: 5000 })
      const beyond = (beyondMs: number, limit = 10) => world.store.longLeases({ beyondMs, limit })
      assert.deepEqual(await beyond(5000), [], 'none ends later than this by the clock that gave it')
      world.clock.jump(-1_000_000)
      const until = at + 1_005_000
      const long = await beyond(10_000)
      const wanted = held.slice(0, 3).map(({ token }) => Object.assign({}, token, { until }))
      assert.deepEqual(long, wanted, 'the last is not due any more')
      assert.deepEqual(await beyond(10_000, 2), wanted.slice(0, 2))
      assert.deepEqual(await beyond(until - at), [])
      assert.deepEqual(await beyond(until - at - 1), wanted)
    },
    { strategy: 'claim', shardCount: 4 },
  )

  suite.case(
    'cutShort ends a lease unless the lease has changed since it was read',
    async (world) => {
      const at = world.now()
      await dueRows(world, [at - 40, at - 30, at - 20, at - 10])
      world.clock.jump(1_000_000)
      const [dead, alive, settledOne, forged] = await claimed(world, 'first', { leaseMs: 5000 })
      world.clock.jump(-1_000_000)
      const seen = await world.store.longLeases({ beyondMs: 10_000, limit: 10 })
      assert.equal(seen.length, 4)
      await world.store.extend([alive!.token], 5000)
      await settled(world, { token: settledOne!.token, outcome: 'done' })
      const asked = [...seen.slice(0, 3), { ...seen[3]!, nonce: seen[3]!.nonce + 1 }]
      assert.deepEqual([...(await world.store.cutShort(asked))], [true, false, false, false])
      assert.deepEqual([...(await world.store.cutShort(seen.slice(0, 1)))], [false], 'it is over')
      assert.deepEqual([...(await world.store.cutShort([]))], [])
      await lost(world, dead!)
      const again = await claimed(world, 'second')
      assert.deepEqual(
        again.map(({ row, lostOwner }) => [row.key, row.attempt, lostOwner]),
        [[dead!.row.key, dead!.row.attempt + 1, 'first']],
      )
      const ends = [alive!, forged!].map(({ token }) => ({ token, outcome: 'done' }) as const)
      assert.deepEqual([...(await settled(world, ...ends))], [true, true])
    },
    { strategy: 'claim', shardCount: 4 },
  )

  suite.case(
    'settling a claim as done ends the timer once',
    async (world) => {
      await dueRows(world, [world.now() - 10])
      const [{ token } = assert.fail('nothing was claimed')] = await claimed(world, 'me')
      const history = [entryOf((await rowsOf(world.store))[0]!)]
      assert.deepEqual([...(await world.store.settleClaimed([{ token, outcome: 'done' }], history))], [true])
      assert.deepEqual([...(await settled(world, { token, outcome: 'done' }))], [false])
      assert.deepEqual(await rowsOf(world.store), [])
      await world.clock.advance(100_000)
      assert.deepEqual(await claimed(world, 'me'), [])
      assert.equal((await world.store.counts()).settled, 1)
      assert.equal((await world.store.history({ namespace: NAMESPACE, limit: 9 })).items.length, 1)
      await addsUp(world.store)
    },
    CLAIM,
  )

  suite.case(
    'a released claim leaves the row as if it had never been leased',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'first')
      assert.deepEqual([...(await settled(world, { token: first!.token, outcome: 'released' }))], [true])
      const [second] = await claimed(world, 'second')
      assert.equal(second!.row.attempt, row!.attempt)
      await lost(world, first!)
      assert.deepEqual([...(await settled(world, { token: second!.token, outcome: 'done' }))], [true])
    },
    CLAIM,
  )

  suite.case(
    'a follow-up of a claim keeps the timer with its new progress',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'me')
      const dueAt = world.now() + 500
      const progress = { dueAt, attempt: 3, occurrence: 1 }
      assert.deepEqual(
        [...(await settled(world, { token: first!.token, outcome: 'follow-up', progress }))],
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
    CLAIM,
  )

  suite.case(
    'settling a claim as dead removes the timer and keeps a dead letter',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'me')
      const death = { outcome: 'dead', reason: 'no such address', diedAt: 42 } as const
      assert.deepEqual([...(await settled(world, { token: first!.token, ...death }))], [true])
      assert.deepEqual([...(await settled(world, { token: first!.token, ...death }))], [false])
      const { items } = await world.store.deadLetters({ namespace: NAMESPACE, limit: 10 })
      assert.deepEqual(
        items.map((letter) => [letter.row.key, letter.reason, letter.diedAt, letter.row.identity]),
        [[row!.key, 'no such address', 42, row!.identity]],
      )
      assert.equal((await world.store.counts()).dead, 1)
      assert.deepEqual(await rowsOf(world.store), [])
      await addsUp(world.store)
    },
    CLAIM,
  )

  suite.case(
    'settling a claim as dead with a next occurrence keeps a dead letter and the timer',
    async (world) => {
      const [row] = await dueRows(world, [world.now() - 10])
      const [first] = await claimed(world, 'me')
      const dueAt = world.now() + 500
      const progress = { dueAt, attempt: 0, occurrence: 4 }
      const death = { outcome: 'dead', reason: 'no answer', diedAt: 42, next: progress } as const
      assert.deepEqual([...(await settled(world, { token: first!.token, ...death }))], [true])
      assert.deepEqual([...(await settled(world, { token: first!.token, ...death }))], [false])
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
    CLAIM,
  )

  suite.case(
    'a follow-up of a claim can change the details',
    async (world) => {
      await dueRows(world, [world.now() - 3, world.now() - 2])
      const [first, second] = await claimed(world, 'me')
      const dueAt = world.now() + 500
      const progress = { dueAt, attempt: 0, occurrence: 1 }
      const answers = await settled(
        world,
        { token: first!.token, outcome: 'follow-up', progress: { ...progress, details: 'new' } },
        {
          token: second!.token,
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
    CLAIM,
  )

  suite.case(
    'a lease is lost when its timer is replaced, moved or cancelled',
    async (world) => {
      const [a, b, c] = await dueRows(world, [world.now() - 3, world.now() - 2, world.now() - 1])
      const [first, second, third] = await claimed(world, 'me')
      const at = world.now() + 1000
      const set = setOf(a!, at)
      const answers = await world.write(set, moveOf(b!, at), cancelOf(c!))
      sameRows((await world.store.find([a!])) as TimerRow[], [rowOf(set, answerOf(answers[0], 'set').place)])
      await lost(world, first!)
      // A store may refuse to move or cancel a leased row. Its answer must be true in either case.
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
    CLAIM,
  )

  suite.case(
    'conditions, replacements and counters work in the mode claim as with owners',
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
  const { shardCount } = world.store
  const sets = positions.map((position, index) =>
    setOf(world.newName(index % shardCount), position, { tags: ['due'], details: 'kept' }),
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

/** A lost lease can neither be extended nor settled. */
async function lost(world: World, { token }: ClaimedRow): Promise<void> {
  const before = (await rowsOf(world.store)).map(plain)
  const progress = { dueAt: 1, attempt: 9, occurrence: 9 }
  const answers = await settled(
    world,
    { token, outcome: 'done' },
    { token, outcome: 'released' },
    { token, outcome: 'follow-up', progress },
    { token, outcome: 'dead', reason: 'lost', diedAt: 1 },
    { token, outcome: 'dead', reason: 'lost', diedAt: 1, next: progress },
  )
  assert.deepEqual([...answers], [false, false, false, false, false])
  assert.deepEqual([...(await world.store.extend([token], 1000))], [false])
  assert.deepEqual((await rowsOf(world.store)).map(plain), before)
}

function nameOf({ namespace, kind, key }: TimerName): TimerName {
  return { namespace, kind, key }
}
