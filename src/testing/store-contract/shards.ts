import assert from 'node:assert/strict'
import type { ShardClaim } from '../../store/index.js'
import { comparePlaces, levelAfter } from '../../timer/index.js'
import { changesNothing, keysOf, refused, samePlace, setOf } from './sample.js'
import type { Suite } from './suite.js'

/** Ownership: who gets a shard, until when, and what the next owner finds. */
export function describeShards(suite: Suite): void {
  suite.case(
    'has one row for each shard, in order, that nobody owns',
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

  suite.case("a claim raises the epoch and starts a lease on the store's clock", async (world) => {
    const [before] = await world.store.shards()
    const claim = { shard: 0, owner: 'me', nonce: 77, leaseMs: 5000, expectedEpoch: before!.epoch }
    const row = await world.store.claim(claim)
    assert.ok(row !== undefined)
    assert.equal(row.epoch, before!.epoch + 1)
    assert.equal(row.nonce, 77)
    assert.equal(row.owner, 'me')
    assert.equal(row.leaseUntil, world.now() + 5000)
    assert.deepEqual((await world.store.shards())[0], row)
    assert.equal(await world.store.now(), world.now())
  })

  suite.case('a claim is refused while the lease of another runs, and allowed after it', async (world) => {
    const first = await world.own(0, 'first', 5000)
    const claim: ShardClaim = {
      shard: 0,
      owner: 'second',
      nonce: 99,
      leaseMs: 5000,
      expectedEpoch: first.fence.epoch,
    }
    await changesNothing(world.store, async () => assert.equal(await world.store.claim(claim), undefined))
    await world.clock.advance(4999)
    assert.equal(await world.store.claim(claim), undefined, 'a millisecond before the end')
    await world.clock.advance(2)
    const row = await world.store.claim(claim)
    assert.equal(row?.owner, 'second')
  })

  suite.case('a claim that expected another epoch is refused', async (world) => {
    const [row] = await world.store.shards()
    for (const expectedEpoch of [row!.epoch + 1, row!.epoch - 1]) {
      const claim = { shard: 0, owner: 'me', nonce: 5, leaseMs: 5000, expectedEpoch }
      await changesNothing(world.store, async () => assert.equal(await world.store.claim(claim), undefined))
    }
  })

  suite.case('a claim sent twice with one nonce is one claim', async (world) => {
    const [before] = await world.store.shards()
    const claim = { shard: 0, owner: 'me', nonce: 5, leaseMs: 5000, expectedEpoch: before!.epoch }
    const first = await world.store.claim(claim)
    const again = await world.store.claim(claim)
    assert.ok(first !== undefined && again !== undefined)
    assert.equal(again.epoch, first.epoch)
    const fence = { shard: 0, epoch: first.epoch, nonce: 5, settledLevel: first.settledLevel }
    const untilExclusive = world.now() + 1000
    const request = { from: first.readLevel, untilExclusive, limit: 10, limitBytes: 1000 }
    const { readLevel } = await world.store.load(fence, request)
    const late = await world.store.claim(claim)
    assert.equal(late?.epoch, first.epoch)
    samePlace(late?.readLevel, readLevel, 'the late copy set the read level back')
    assert.deepEqual(late?.suspects, first.suspects)
  })

  suite.case('a claim that arrives late, after its shard went on to another, is refused', async (world) => {
    const [before] = await world.store.shards()
    const claim = { shard: 0, owner: 'me', nonce: 5, leaseMs: 5000, expectedEpoch: before!.epoch }
    await world.store.claim(claim)
    await world.takeOver()
    await world.clock.advance(60_000)
    assert.equal(await world.store.claim(claim), undefined)
  })

  suite.case('of many claims at once, one wins', async (world) => {
    const [before] = await world.store.shards()
    const claims = Array.from({ length: 20 }, (_, i) => ({
      shard: 0,
      owner: `owner-${i}`,
      nonce: i + 1,
      leaseMs: 5000,
      expectedEpoch: before!.epoch,
    }))
    const rows = await Promise.all(claims.map((claim) => world.store.claim(claim)))
    const winners = rows.filter((row) => row !== undefined)
    assert.equal(winners.length, 1)
    const [after] = await world.store.shards()
    assert.equal(after!.owner, winners[0]!.owner)
    assert.equal(after!.epoch, before!.epoch + 1)
  })

  suite.case('renewing keeps others out for another lease', async (world) => {
    const first = await world.own(0, 'first', 5000)
    await world.clock.advance(4000)
    const row = await world.store.renew(first.fence, 7000)
    assert.equal(row.leaseUntil, world.now() + 7000)
    assert.equal(row.epoch, first.fence.epoch)
    await world.clock.advance(6999)
    const { shard, epoch } = first.fence
    const claim = { shard, owner: 'second', nonce: 9, leaseMs: 5000, expectedEpoch: epoch }
    assert.equal(await world.store.claim(claim), undefined)
    await world.clock.advance(2)
    assert.notEqual(await world.store.claim(claim), undefined)
  })

  suite.case('refencing raises the epoch, keeps the levels and refuses the old fence', async (world) => {
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
    assert.ok(after.leaseUntil >= before.leaseUntil, `${after.leaseUntil} < ${before.leaseUntil}`)
    await refused('a write under the old fence', () => owner.write(setOf(world.newName(), at)), 'fenced')
    owner.fence = { ...owner.fence, epoch: after.epoch, nonce: after.nonce }
    await owner.setAt(at)
  })

  suite.case('releasing lets the next owner in at once', async (world) => {
    const first = await world.own()
    await world.store.release(first.fence)
    assert.equal((await first.row()).owner, '')
    const second = await world.own(0, 'second', 1000)
    assert.ok(second.fence.epoch > first.fence.epoch)
  })

  suite.case('a shard suspects what an owner that never let go may have attempted', async (world) => {
    const at = world.now() + 1000
    const first = await world.own(0, 'first', 1000)
    const rows = await first.setAt(at, at + 1, at + 2)
    await first.load(at + 1)
    const before = first.readLevel
    await world.clock.advance(2000)
    const second = await world.own(0, 'second', 1000)
    const { suspects } = await second.row()
    assert.deepEqual(suspects, { before, untilRevision: rows[2]!.revision, dueUntil: world.now() })
    // The second reads less far than the first did: what the first may have attempted stays suspect.
    await second.setAt(at + 3000)
    await second.load(at - 500)
    await world.store.release(second.fence)
    const third = await world.own(0, 'third', 1000)
    assert.deepEqual((await third.row()).suspects, suspects, 'the second owner let go')
    const [last] = await third.setAt(at + 4000)
    await world.clock.advance(2000)
    const fourth = await world.own(0, 'fourth')
    assert.deepEqual((await fourth.row()).suspects, {
      before,
      untilRevision: last!.revision,
      dueUntil: world.now(),
    })
  })

  suite.case(
    'a claim sets the read level back to the settled level, so that all is loaded again',
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
    'shards are owned one by one',
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
