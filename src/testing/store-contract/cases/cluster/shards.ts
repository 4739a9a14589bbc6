import assert from 'node:assert/strict'
import type { AcquireRequest } from '../../../../store/index.js'
import { comparePlaces, levelAfter, levelAt } from '../../../../timer/index.js'
import { changesNothing, keysOf, refused, samePlace, setOf } from '../../sample.js'
import type { Suite } from '../../suite.js'

/** Ownership: who gets a shard, for how long, and what the next owner finds (rule 6). */
export function describeShards(suite: Suite): void {
  suite.case(
    'a new store has one row without an owner for each shard, in order',
    async ({ store }) => {
      const rows = await store.shards()
      assert.deepEqual(
        rows.map((row) => row.shard),
        Array.from({ length: store.shardCount }, (_, shard) => shard),
      )
      for (const row of rows) {
        assert.equal(row.owner, '')
        assert.equal(comparePlaces(row.readLevel, row.settledLevel), 0)
      }
    },
    { shardCount: 4 },
  )

  suite.case("acquire raises the epoch and starts a lease on the store's clock", async (world) => {
    const [before] = await world.store.shards()
    const claim = { shard: 0, owner: 'me', nonce: 77, leaseMs: 5000, expectedEpoch: before!.epoch }
    const row = await world.store.acquire(claim)
    assert.ok(row !== undefined)
    assert.equal(row.epoch, before!.epoch + 1)
    assert.equal(row.nonce, 77)
    assert.equal(row.owner, 'me')
    assert.equal(row.leaseUntil, world.now() + 5000)
    assert.deepEqual((await world.store.shards())[0], row)
    assert.equal(await world.store.now(), world.now())
  })

  suite.case(
    'acquire is refused while the lease of another owner runs and granted after it',
    async (world) => {
      const first = await world.own(0, 'first', 5000)
      const claim: AcquireRequest = {
        shard: 0,
        owner: 'second',
        nonce: 99,
        leaseMs: 5000,
        expectedEpoch: first.fence.epoch,
      }
      await changesNothing(world.store, async () => assert.equal(await world.store.acquire(claim), undefined))
      await world.clock.advance(4999)
      assert.equal(await world.store.acquire(claim), undefined, 'a millisecond before the end')
      await world.clock.advance(2)
      const row = await world.store.acquire(claim)
      assert.equal(row?.owner, 'second')
    },
  )

  suite.case('acquire with another expected epoch is refused', async (world) => {
    const [row] = await world.store.shards()
    for (const expectedEpoch of [row!.epoch + 1, row!.epoch - 1]) {
      const claim = { shard: 0, owner: 'me', nonce: 5, leaseMs: 5000, expectedEpoch }
      await changesNothing(world.store, async () => assert.equal(await world.store.acquire(claim), undefined))
    }
  })

  suite.case('acquire that is sent twice with one nonce is granted once', async (world) => {
    const [before] = await world.store.shards()
    const claim = { shard: 0, owner: 'me', nonce: 5, leaseMs: 5000, expectedEpoch: before!.epoch }
    const first = await world.store.acquire(claim)
    const again = await world.store.acquire(claim)
    assert.ok(first !== undefined && again !== undefined)
    assert.equal(again.epoch, first.epoch)
    const fence = { shard: 0, epoch: first.epoch, nonce: 5, settledLevel: first.settledLevel }
    const untilExclusive = world.now() + 1000
    const request = { from: first.readLevel, untilExclusive, limit: 10, limitBytes: 1000 }
    const { readLevel } = await world.store.load(fence, request)
    const late = await world.store.acquire(claim)
    assert.equal(late?.epoch, first.epoch)
    samePlace(late?.readLevel, readLevel, 'the late copy set the read level back')
    assert.deepEqual(late?.suspects, first.suspects)
  })

  suite.case('acquire that arrives after another owner took the shard is refused', async (world) => {
    const [before] = await world.store.shards()
    const claim = { shard: 0, owner: 'me', nonce: 5, leaseMs: 5000, expectedEpoch: before!.epoch }
    await world.store.acquire(claim)
    await world.takeOver()
    await world.clock.advance(60_000)
    assert.equal(await world.store.acquire(claim), undefined)
  })

  suite.case('of many concurrent acquires exactly one is granted', async (world) => {
    const [before] = await world.store.shards()
    const claims = Array.from({ length: 20 }, (_, i) => ({
      shard: 0,
      owner: `owner-${i}`,
      nonce: i + 1,
      leaseMs: 5000,
      expectedEpoch: before!.epoch,
    }))
    const rows = await Promise.all(claims.map((claim) => world.store.acquire(claim)))
    const winners = rows.filter((row) => row !== undefined)
    assert.equal(winners.length, 1)
    const [after] = await world.store.shards()
    assert.equal(after!.owner, winners[0]!.owner)
    assert.equal(after!.epoch, before!.epoch + 1)
  })

  suite.case('renew keeps other owners out for another lease', async (world) => {
    const first = await world.own(0, 'first', 5000)
    await world.clock.advance(4000)
    const row = await world.store.renew(first.fence, 7000)
    assert.equal(row.leaseUntil, world.now() + 7000)
    assert.equal(row.epoch, first.fence.epoch)
    await world.clock.advance(6999)
    const { shard, epoch } = first.fence
    const claim = { shard, owner: 'second', nonce: 9, leaseMs: 5000, expectedEpoch: epoch }
    assert.equal(await world.store.acquire(claim), undefined)
    await world.clock.advance(2)
    assert.notEqual(await world.store.acquire(claim), undefined)
  })

  suite.case('refence raises the epoch, keeps the levels and makes the old fence invalid', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    await owner.setAt(at, at + 1)
    await owner.load(at + 1)
    const before = await owner.row()
    const after = await world.store.refence(owner.fence, 4711, 30_000)
    assert.equal(after.epoch, before.epoch + 1)
    assert.equal(after.nonce, 4711)
    assert.equal(after.owner, before.owner)
    samePlace(after.readLevel, before.readLevel)
    samePlace(after.settledLevel, before.settledLevel)
    await refused('a write under the old fence', () => owner.write(setOf(world.newName(), at)), 'fenced')
    owner.fence = { ...owner.fence, epoch: after.epoch, nonce: after.nonce }
    await owner.setAt(at)
  })

  suite.case(
    'refence keeps other owners out for another lease and works once for each nonce',
    async (world) => {
      const first = await world.own(0, 'first', 5000)
      await world.clock.advance(4000)
      const row = await world.store.refence(first.fence, 4711, 7000)
      assert.equal(row.leaseUntil, world.now() + 7000)
      assert.equal((await first.row()).leaseUntil, row.leaseUntil, 'the lease that was stored')
      await world.clock.advance(10)
      const again = await world.store.refence(first.fence, 4711, 7000)
      assert.deepEqual([again.epoch, again.leaseUntil], [row.epoch, row.leaseUntil], 'sent twice it is one')
      await world.clock.advance(6989)
      const claim = { shard: 0, owner: 'second', nonce: 9, leaseMs: 5000, expectedEpoch: row.epoch }
      assert.equal(await world.store.acquire(claim), undefined, 'the lease still runs')
      await world.clock.advance(2)
      assert.notEqual(await world.store.acquire(claim), undefined)
    },
  )

  suite.case('release lets the next owner acquire the shard at once', async (world) => {
    const first = await world.own()
    await world.store.release(first.fence)
    assert.equal((await first.row()).owner, '')
    const second = await world.own(0, 'second', 1000)
    assert.ok(second.fence.epoch > first.fence.epoch)
  })

  suite.case('the shard row names the rows that a lost owner may have attempted', async (world) => {
    const at = world.now() + 1000
    const first = await world.own(0, 'first', 1000)
    const rows = await first.setAt(at, at + 1, at + 2)
    await first.load(at + 1)
    const before = first.readLevel
    const { leaseUntil } = await first.row()
    await world.clock.advance(2000)
    const second = await world.own(0, 'second', 1000)
    const { suspects } = await second.row()
    assert.deepEqual(suspects, { before, untilRevision: rows[2]!.revision, dueUntil: leaseUntil })
    // The second owner reads less far than the first: the rows of the first stay suspects.
    await second.setAt(at + 3000)
    await second.load(at - 500)
    await world.store.release(second.fence)
    const third = await world.own(0, 'third', 1000)
    assert.deepEqual((await third.row()).suspects, suspects, 'the second owner let go')
    const [last] = await third.setAt(at + 4000)
    const { leaseUntil: lastUntil } = await third.row()
    await world.clock.advance(2000)
    const fourth = await world.own(0, 'fourth')
    assert.deepEqual((await fourth.row()).suspects, {
      before,
      untilRevision: last!.revision,
      dueUntil: lastUntil,
    })
  })

  suite.case(
    'the shard row knows how far rows can be whose position is later than their due time',
    async (world) => {
      const at = world.now() + 1000
      const first = await world.own(0, 'first', 1000)
      assert.equal((await first.row()).lateBefore, 0)
      const rows = await first.setAt(at, at + 1, at + 2)
      await first.load(at + 5000)
      assert.equal((await first.row()).lateBefore, 0, 'below the read level it is the owner who knows')
      await world.store.lower(first.fence, first.readLevel, levelAt(at + 3000))
      assert.equal((await first.row()).lateBefore, at + 5000, 'the read level was lowered')
      first.readLevel = levelAt(at + 3000)
      await world.store.release(first.fence)
      const second = await world.own(0, 'second', 1000)
      assert.equal((await second.row()).lateBefore, at + 5000, 'another claimed it and had read less')
      await second.load(at + 7000)
      await world.clock.advance(2000)
      const third = await world.own(0, 'third')
      assert.equal((await third.row()).lateBefore, at + 7000, 'another claimed it and had read farther')
      await third.load(at + 1, { limit: 1 })
      const fourth = await world.takeOver()
      assert.equal((await fourth.row()).lateBefore, at + 7000, 'it never goes back')
      await fourth.load(at + 3)
      const level = fourth.fence.settledLevel
      const [retried, late, dead] = rows.map((row) => ({ row, dueAt: row.dueAt, attempt: 1, occurrence: 0 }))
      await fourth.settle(level, { followUps: [{ ...retried!, dueAt: at + 90_000, position: at + 90_000 }] })
      assert.equal((await fourth.row()).lateBefore, at + 7000, 'a row that follows where it is due')
      await fourth.settle(level, { followUps: [{ ...late!, position: at + 8000 }] })
      assert.equal((await fourth.row()).lateBefore, at + 8001, 'a row that follows later than it is due')
      const next = { dueAt: at, attempt: 0, occurrence: 1, position: at + 9000 }
      await fourth.settle(level, { dead: [{ row: dead!.row, diedAt: at, reason: 'no', next }] })
      assert.equal((await fourth.row()).lateBefore, at + 9001, 'a dead one that goes on later than it is due')
      assert.deepEqual(await world.store.renew(fourth.fence, 1000), await fourth.row())
    },
  )

  suite.case('the shard row suspects every write that was accepted before the takeover', async (world) => {
    for (let round = 0; round < 15; round++) {
      const last = await world.own(0, `owner-${round}`, 1)
      await world.clock.advance(2)
      // Its lease is over, but its writes are accepted until another owner acquires the shard.
      const writeOn = async (): Promise<number[]> => {
        const revisions: number[] = []
        // A limited number: endless writes could keep the takeover waiting for a lock.
        for (let count = 0; count < 40; count++) {
          try {
            const [row] = await last.setAt(world.now() + 1_000_000)
            revisions.push(row!.revision)
          } catch (error) {
            assert.equal((error as { readonly code?: unknown }).code, 'fenced', String(error))
            return revisions
          }
        }
        return revisions
      }
      const writing = [writeOn(), writeOn(), writeOn()]
      await last.setAt(world.now() + 1_000_000)
      const { suspects, settledLevel } = await world.own(0, `next-${round}`, 1).then((owner) => owner.row())
      const revisions = (await Promise.all(writing)).flat()
      samePlace(settledLevel, last.fence.settledLevel)
      assert.ok(
        suspects.untilRevision >= Math.max(0, ...revisions),
        `revision ${Math.max(...revisions)} was written before the claim, suspected are those up to ${suspects.untilRevision}`,
      )
      await world.clock.advance(2)
    }
  })

  suite.case(
    'acquire sets the read level back to the settled level, so that every row is loaded again',
    async (world) => {
      const first = await world.own()
      const from = world.now()
      const rows = await first.setAt(from + 1, from + 2, from + 3, from + 4)
      await first.load(from + 4)
      await world.clock.advance(10)
      await first.settle(levelAfter(rows[1]!), { settledCount: 2 })
      const second = await world.takeOver()
      samePlace(second.readLevel, levelAfter(rows[1]!))
      samePlace(second.fence.settledLevel, levelAfter(rows[1]!))
      assert.deepEqual(keysOf(await second.load(from + 100)), keysOf(rows.slice(2)))
    },
  )

  suite.case(
    'each shard has its own owner',
    async (world) => {
      const last = world.store.shardCount - 1
      const before = await world.store.shards()
      const owner = await world.own(last)
      const [row] = await owner.setAt(world.now() + 10)
      const after = await world.store.shards()
      assert.deepEqual(after.slice(0, last), before.slice(0, last))
      assert.equal(after[last]!.owner, 'first')
      if (last > 0) {
        const other = await world.own(0, 'other')
        assert.deepEqual(await other.load(world.now() + 100), [])
      }
      assert.deepEqual(keysOf(await owner.load(world.now() + 100)), [row!.key])
    },
    { shardCount: 4 },
  )
}
