import assert from 'node:assert/strict'
import { levelAfter, levelAt } from '../../../timer/index.js'
import { settlementOf } from '../owner.js'
import {
  NAMESPACE,
  addsUp,
  answerOf,
  cancelOf,
  moveOf,
  refused,
  rowsOf,
  samePlace,
  sameRows,
  setOf,
  stateOf,
} from '../sample.js'
import { entryOf, loadedRows } from './ending/settle.js'
import { applied, requestOf } from './cluster/inbox.js'
import type { Suite } from '../suite.js'
import type { World } from '../world.js'

/** Opening and stopping: acknowledged writes survive a restart, and a stopped store refuses calls. */
export function describeLifecycle(suite: Suite): void {
  const { reopen, lacks } = suite.setup

  suite.case(
    'an opened store has the mode, shards and limits that were asked for',
    async ({ store, options }) => {
      assert.equal(store.mode, options.strategy)
      assert.equal(store.maxPayloadBytes, options.maxPayloadBytes)
      assert.ok(store.name.length > 0)
      assert.ok(store.shardCount >= 1 && Number.isInteger(store.shardCount))
      assert.equal(
        store.capabilities.claim,
        lacks?.claim === undefined,
        'capabilities.claim and `lacks.claim`',
      )
      assert.equal(store.capabilities.durable, reopen !== undefined, 'capabilities.durable and `reopen`')
      assert.equal(await store.countRows(), 0, '`open` gives a fresh store')
      assert.deepEqual(await store.counts(), { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 })
    },
  )

  suite.case('stop can be called twice, and every call after it is refused', async (world) => {
    const owner = await world.own()
    const { store } = world
    const { fence, readLevel } = owner
    const name = world.newName()
    const page = { namespace: NAMESPACE, limit: 1 }
    await Promise.all([store.stop(), store.stop()])
    await store.stop()
    const calls: Record<string, () => Promise<unknown>> = {
      now: () => store.now(),
      shards: () => store.shards(),
      claim: () => store.acquire({ shard: 0, owner: 'x', nonce: 9, leaseMs: 1, expectedEpoch: 1 }),
      renew: () => store.renew(fence, 1000),
      refence: () => store.refence(fence, 9, 1000),
      release: () => store.release(fence),
      load: () => store.load(fence, { from: readLevel, untilExclusive: 9, limit: 1, limitBytes: 1 }),
      lower: () => store.lower(fence, readLevel, readLevel),
      write: () => store.write(fence, { operations: [setOf(name, world.now())] }),
      settle: () => store.settle(fence, settlementOf(fence.settledLevel)),
      sweep: () => store.sweep(fence),
      append: () => store.append([requestOf(world, 'id', cancelOf(name))]),
      requests: () => store.requests(fence, 1),
      answers: () => store.answers(0, ['id']),
      find: () => store.find([name]),
      findSettled: () => store.findSettled([name]),
      list: () => store.list(page),
      histogram: () => store.histogram({ fromInclusive: 0, untilExclusive: 10, sliceMs: 5 }),
      countKinds: () => store.countKinds({ edges: [0, 1] }),
      counts: () => store.counts(),
      countRows: () => store.countRows(),
      tallies: () => store.tallies(),
      usage: () => store.usage('default'),
      countDead: () => store.countDead(),
      deadLetters: () => store.deadLetters(page),
      removeDead: () => store.removeDead('n', ['1']),
      history: () => store.history(page),
      pruneHistory: () => store.pruneHistory(1),
      heartbeat: () => store.heartbeat({ id: 'a', details: '' }, 1),
      leave: () => store.removeMember('a'),
      settings: () => store.settings(''),
      putSetting: () => store.putSetting('a', 'b'),
    }
    for (const [what, call] of Object.entries(calls)) await refused(what, call, 'stopped')
    store.wake(0)
  })

  suite.case('stop waits for the calls that have begun', async (world) => {
    const owner = await world.own()
    const writes = Array.from({ length: 50 }, () =>
      owner.write(setOf(world.newName(), world.now() + 1000)).then(
        () => 'written',
        (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
      ),
    )
    await world.store.stop()
    const outcomes = await Promise.all(writes)
    assert.deepEqual(
      outcomes.filter((outcome) => outcome !== 'written' && outcome !== 'stopped'),
      [],
    )
  })

  if (reopen === undefined) {
    const reason = lacks?.durability ?? 'no `reopen` was given'
    suite.skip('acknowledged writes are there after a restart', reason)
    suite.skip('opening a store with another mode is refused', reason)
    return
  }

  suite.case('acknowledged writes are there after a restart', async (world) => {
    const expected = await livedIn(world)
    for (let i = 0; i < 3; i++) {
      await world.reopen()
      assert.deepEqual(await allOf(world), expected)
    }
    const owner = await world.takeOver()
    const rows = await rowsOf(world.store)
    sameRows(await owner.load(world.now() + 1e9), rows)
    const last = Math.max(...rows.map((row) => row.revision))
    const [row] = await owner.setAt(world.now() + 10)
    assert.ok(row!.revision > last, 'revisions go on')
    await addsUp(world.store)
  })

  suite.case('an owner can continue with its fence after a restart', async (world) => {
    const { owner, rows } = await loadedRows(world, 10)
    await owner.settle(levelAfter(rows[3]!), { settledCount: 4 })
    await world.reopen()
    samePlace((await owner.row()).readLevel, owner.readLevel)
    await owner.write(cancelOf(rows[4]!), moveOf(rows[5]!, world.now() + 50))
    await owner.settle(levelAt(world.now()), { settledCount: 4 })
    await world.reopen()
    assert.equal(await world.store.countRows(), 1)
    await addsUp(world.store)
  })

  suite.case(
    'rows that were cancelled, replaced, moved or swept do not come back after a restart',
    async (world) => {
      const { owner, rows } = await loadedRows(world, 100)
      const at = world.now() + 5000
      await owner.write(
        ...rows.slice(0, 20).map(cancelOf),
        ...rows.slice(20, 40).map((row) => moveOf(row, at)),
        ...rows.slice(40, 60).map((row) => setOf(row, at)),
      )
      const before = await rowsOf(world.store)
      await world.reopen()
      sameRows(await rowsOf(world.store), before)
      await owner.settle(levelAt(world.now()), { settledCount: 40 })
      await world.store.sweep(owner.fence)
      await world.reopen()
      sameRows(
        await rowsOf(world.store),
        before.filter((row) => row.position === at),
      )
      assert.deepEqual(
        (await world.store.find(rows)).map((row) => row?.position),
        rows.map((_, i) => (i >= 20 && i < 60 ? at : undefined)),
      )
      await addsUp(world.store)
    },
  )

  if (lacks?.claim !== undefined) {
    suite.skip('opening a store with another mode is refused', lacks.claim)
    return
  }
  suite.case('opening a store with another mode is refused', async (world) => {
    await world.own()
    await refused('open', () => world.reopen({ strategy: 'claim' }), 'wrong-strategy')
    await world.reopen()
    await world.store.counts()
  })
}

/** Fills a store with one of everything and answers all that can be read from it. */
async function livedIn(world: World) {
  const { owner, rows } = await loadedRows(world, 60)
  const at = world.now() + 5000
  const { store } = world
  const requests = [requestOf(world, 'answered'), requestOf(world, 'waiting')]
  await store.append(requests)
  answerOf((await owner.write(applied(world, requests[0]!)))[0], 'set')
  await owner.write(cancelOf(rows[50]!), moveOf(rows[51]!, at), setOf(rows[52]!, at))
  await owner.settle(levelAfter(rows[29]!), {
    settledCount: 10,
    done: [rows[40]!],
    followUps: rows.slice(10, 20).map((row) => ({ row, position: at, dueAt: at, attempt: 1, occurrence: 2 })),
    dead: rows.slice(20, 30).map((row) => ({ row, diedAt: 1, reason: 'why' })),
    history: rows.map(entryOf),
  })
  await store.sweep(owner.fence)
  await store.putSetting('pause', 'yes')
  await store.removeDead(NAMESPACE, [
    (await store.deadLetters({ namespace: NAMESPACE, limit: 1 })).items[0]!.id,
  ])
  await store.pruneHistory(rows[5]!.dueAt)
  return await allOf(world)
}

async function allOf({ store }: World) {
  return { ...(await stateOf(store)), answers: await store.answers(0, ['answered', 'waiting']) }
}
