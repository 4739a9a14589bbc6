import assert from 'node:assert/strict'
import type { ClaimedRow, FollowUp, SetOperation, Store } from '../../../../store/index.js'
import type { TimerName, TimerRow } from '../../../../timer/index.js'
import type { Owner } from '../../owner.js'
import { answerOf, moveOf, NAMESPACE, newIdentity, rowsOf, sameRows, setOf } from '../../sample.js'
import type { Suite } from '../../suite.js'
import {
  laterProgress,
  otherValues,
  plain,
  rowOf,
  sampleContent,
  sampleProgress,
} from '../../timer-fields.js'
import type { World } from '../../world.js'

const CLAIM = { strategy: 'claim' } as const

/** Far enough ahead that nothing is due before a case says so. */
const AHEAD_MS = 1_000_000

/**
 * Every field of the record survives every path on which a store copies a row. A store that forgets a field on one path
 * fails the case of that path. `timer-fields.ts` has the list of fields.
 */
export function describeFields(suite: Suite): void {
  suite.case('every field of a timer survives a set by the owner', async (world) => {
    const owner = await world.own()
    const rows = await owner.set(sampleSet(world))
    await survives(world, owner, rows[0]!)
  })

  suite.case('two timers of one write may differ in any field', async (world) => {
    const owner = await world.own()
    const dueAt = world.now() + AHEAD_MS
    const others = otherValues(dueAt - 1)
    // A pair for each field: a store that writes a field once for all sets must notice every difference.
    for (const field of Object.keys(others) as (keyof typeof others)[]) {
      const one = setOf(world.newName(), dueAt)
      const differing = { [field]: others[field] }
      const other = setOf(world.newName(0, differing), dueAt, { payload: one.payload, ...differing })
      await areFound(world.store, await owner.set(one, other), field)
    }
    const all = setOf(world.newName(0, others), dueAt, others)
    await areFound(world.store, await owner.set(setOf(world.newName(), dueAt), all), 'all fields')
  })

  suite.case('every field of a timer survives a set through the inbox', async (world) => {
    const owner = await world.own()
    const { position, ...asked } = sampleSet(world)
    const deadline = world.now() + 10_000
    await world.store.append([{ id: 'request', shard: 0, deadline, operation: asked }])
    const [request] = await world.store.requests(owner.fence, 10)
    assert.ok(request?.operation.type === 'set')
    // The owner knows only what the inbox gives it.
    const set = { ...request.operation, position, request: 'request' }
    assert.deepEqual(plain(rowOf(set, origin)), plain(rowOf({ ...asked, position }, origin)))
    const { place } = answerOf((await owner.write(set))[0], 'set')
    await survives(world, owner, rowOf({ ...asked, position }, place))
  })

  suite.case('every field of a timer survives a set that replaces a timer', async (world) => {
    const owner = await world.own()
    const set = sampleSet(world)
    await owner.set(setOf(set, set.position - 1))
    const { place } = answerOf((await owner.write(set))[0], 'set')
    await survives(world, owner, rowOf(set, place))
  })

  suite.case('every field of a timer survives a move, but for those that the move names', async (world) => {
    const owner = await world.own()
    const [row] = await owner.set(sampleSet(world))
    const dueAt = row!.dueAt + 5
    const position = dueAt + 2
    const once = answerOf((await owner.write({ ...moveOf(row!, position), dueAt }))[0], 'moved').row
    const kept = { ...row!, dueAt, position, revision: once.revision }
    sameRows([once], [kept], 'the answer to a move that names only the due time')
    await isSeen(world.store, kept)
    const changes = { attempt: 9, details: 'moved' }
    const move = { ...moveOf(row!, position + 1), dueAt, ...changes }
    const twice = answerOf((await owner.write(move))[0], 'moved').row
    const changed = { ...kept, ...changes, position: position + 1, revision: twice.revision }
    sameRows([twice], [changed], 'the answer to a move that names attempts and details')
    await survives(world, owner, changed)
  })

  suite.case('every field of a timer survives a settlement with a follow-up', async (world) => {
    const { owner, row } = await loadedSample(world)
    const once = await followed(owner, { row, ...laterProgress(row.dueAt + 10), position: row.dueAt + 20 })
    await isSeen(world.store, once)
    const progress = { ...sampleProgress(row.dueAt + 30), details: 'followed' }
    const twice = await followed(owner, { row: once, ...progress, position: row.dueAt + 30 })
    await survives(world, owner, twice)
  })

  suite.case('every field of a timer survives when its row is carried', async (world) => {
    const { owner, row } = await loadedSample(world)
    const { dueAt, attempt, occurrence } = row
    const carried = await followed(owner, { row, dueAt, attempt, occurrence, position: row.position + 50 })
    sameRows([{ ...carried, position: row.position, revision: row.revision }], [row])
    await survives(world, owner, carried)
  })

  suite.case(
    'every field of a timer survives in its dead letter and comes back by a redrive',
    async (world) => {
      const { owner, row } = await loadedSample(world)
      const letter = { row, diedAt: 42, reason: 'why' }
      const { dead } = await owner.settle(owner.fence.settledLevel, { dead: [letter] })
      assert.deepEqual(dead, [{ kept: true, next: undefined }])
      const { id, row: buried } = await onlyLetter(world.store)
      sameRows([buried], [row], 'the row of the dead letter')
      // As a redrive does: the content of the letter under a new identity.
      const set: SetOperation = { ...buried, type: 'set', identity: newIdentity(), fromDead: id }
      const { place } = answerOf((await owner.write(set))[0], 'set')
      await survives(world, owner, { ...row, identity: set.identity, revision: place.revision })
    },
  )

  suite.case('every field of a timer survives a dead occurrence after which it goes on', async (world) => {
    const { owner, row } = await loadedSample(world)
    const next = { ...laterProgress(row.dueAt + 10), position: row.dueAt + 20 }
    const answer = await owner.settle(owner.fence.settledLevel, {
      dead: [{ row, diedAt: 42, reason: 'why', next }],
    })
    const went = answer.dead[0]!.next!
    sameRows([went], [{ ...row, ...next, revision: went.revision }], 'the answer to the settlement')
    sameRows([(await onlyLetter(world.store)).row], [row], 'the row of the dead letter')
    await survives(world, owner, went)
  })

  suite.case(
    'every field of a timer survives claims, moves and lost leases',
    async (world) => {
      const set = sampleSet(world)
      const [row] = await setClaimable(world, set)
      await isSeen(world.store, row!)
      const [answer] = await world.write({ ...moveOf(set, set.position + 1), details: 'moved' })
      const moved = answerOf(answer, 'moved').row
      const { position, revision } = moved
      sameRows([moved], [{ ...row!, dueAt: set.position + 1, details: 'moved', position, revision }])
      await world.clock.advance(AHEAD_MS + 10)
      sameRows([(await onlyClaim(world, 1000)).row], [moved], 'the claimed row')
      await world.clock.advance(2000)
      const again = (await onlyClaim(world, 1000)).row
      const attempt = moved.attempt + 1
      sameRows([again], [{ ...moved, attempt, revision: again.revision }], 'the row of a lease that ran out')
      await isSeen(world.store, again)
    },
    CLAIM,
  )

  suite.case(
    'every field of a timer survives what settles its claim',
    async (world) => {
      const [row] = await setClaimable(world, sampleSet(world))
      await world.clock.advance(AHEAD_MS + 10)
      const progress = laterProgress(world.now() + 10)
      const first = await onlyClaim(world, 1000)
      await world.store.settleClaimed([{ token: first.token, outcome: 'follow-up', progress }], [])
      await world.clock.advance(10)
      const second = await onlyClaim(world, 1000)
      const { position, revision } = second.row
      sameRows([second.row], [{ ...row!, ...progress, position, revision }], 'the row of a follow-up')
      const next = { ...sampleProgress(world.now() + 10), details: 'next' }
      const death = { outcome: 'dead', reason: 'why', diedAt: 42, next } as const
      await world.store.settleClaimed([{ token: second.token, ...death }], [])
      sameRows([(await onlyLetter(world.store)).row], [second.row], 'the row of the dead letter')
      await world.clock.advance(10)
      const third = (await onlyClaim(world, 1000)).row
      const place = { position: third.position, revision: third.revision }
      sameRows([third], [{ ...row!, ...next, ...place }], 'the row after a dead occurrence')
    },
    CLAIM,
  )
}

const origin = { position: 0, revision: 0 }

/** A `set` with a sample in every field. Its position differs from its due time. */
function sampleSet(world: World): SetOperation {
  const dueAt = world.now() + AHEAD_MS
  const parts = { ...sampleContent(newIdentity()), ...sampleProgress(dueAt) }
  return setOf(world.newName(), dueAt + 1, parts)
}

async function loadedSample(world: World): Promise<{ owner: Owner; row: TimerRow }> {
  const owner = await world.own()
  const rows = await owner.set(sampleSet(world))
  const [row] = await owner.load(rows[0]!.position + 1)
  sameRows([row!], rows, 'the loaded row')
  return { owner, row: row! }
}

/** Settles one follow-up, and answers the row that it must have become. */
async function followed(owner: Owner, followUp: FollowUp): Promise<TimerRow> {
  const { followUps } = await owner.settle(owner.fence.settledLevel, { followUps: [followUp] })
  const [answered] = followUps
  assert.ok(answered !== undefined, 'the follow-up was not stored')
  const { row, ...changes } = followUp
  sameRows([answered], [{ ...row, ...changes, revision: answered.revision }], 'the answer to the settlement')
  return answered
}

/** The row is as expected for every reader, and also for the next owner, after a restart of a durable store. */
async function survives(world: World, owner: Owner, expected: TimerRow): Promise<void> {
  await isSeen(world.store, expected)
  if (world.canReopen) {
    await world.reopen()
    await isSeen(world.store, expected)
  }
  const next = await world.takeOver(owner.fence.shard)
  sameRows(await next.load(expected.position + 1), [expected], 'what the next owner loads')
}

/** `find` and `list` answer this row, the only one of the store. */
async function isSeen(store: Store, expected: TimerRow): Promise<void> {
  const { namespace, kind, key }: TimerName = expected
  const [found] = await store.find([{ namespace, kind, key }])
  assert.ok(found !== undefined, 'the timer is not found')
  sameRows([found], [expected], 'what find answers')
  sameRows(await rowsOf(store), [expected], 'what list answers')
}

async function areFound(store: Store, expected: readonly TimerRow[], differing: string): Promise<void> {
  const names = expected.map(({ namespace, kind, key }) => ({ namespace, kind, key }))
  const found = (await store.find(names)).filter((row) => row !== undefined)
  sameRows(found, expected, `two timers that differ in ${differing}`)
}

async function onlyLetter(store: Store) {
  const { items } = await store.deadLetters({ namespace: NAMESPACE, limit: 10 })
  assert.equal(items.length, 1, 'one dead letter')
  return items[0]!
}

async function setClaimable(world: World, ...sets: readonly SetOperation[]): Promise<TimerRow[]> {
  const answers = await world.write(...sets)
  return sets.map((set, index) => rowOf(set, answerOf(answers[index], 'set').place))
}

async function onlyClaim(world: World, leaseMs: number): Promise<ClaimedRow> {
  const rows = await world.store.claimDue({ owner: 'me', limit: 10, leaseMs })
  assert.equal(rows.length, 1, 'one claimed row')
  return rows[0]!
}
