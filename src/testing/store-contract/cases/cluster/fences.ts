import assert from 'node:assert/strict'
import type { Fence, Store } from '../../../../store/index.js'
import { levelAfter, levelAt, type TimerRow } from '../../../../timer/index.js'
import { type Owner, settlementOf } from '../../owner.js'
import { cancelOf, changesNothing, moveOf, NAMESPACE, refused, setOf } from '../../sample.js'
import type { Suite } from '../../suite.js'
import type { World } from '../../world.js'

/** Ways in which an owner comes to have an old fence. */
const staleFences: readonly (readonly [title: string, make: (owner: Owner) => Promise<Fence>])[] = [
  [
    'whose shard was taken over',
    async (owner) => {
      await owner.world.takeOver()
      return owner.fence
    },
  ],
  [
    'that has raised its own epoch since',
    async ({ world, fence }) => {
      await world.store.refence(fence, 4711, 30_000)
      return fence
    },
  ],
  [
    'that has released the shard',
    async ({ world, fence }) => {
      await world.store.release(fence)
      return fence
    },
  ],
  ['with the nonce of another claim', async ({ fence }) => ({ ...fence, nonce: fence.nonce + 1 })],
  ['with a future epoch', async ({ fence }) => ({ ...fence, epoch: fence.epoch + 1 })],
  [
    'that was acknowledged a higher settled level than the store has',
    async ({ fence }) => ({ ...fence, settledLevel: levelAfter(fence.settledLevel) }),
  ],
]

/** No call takes effect with a fence that is not the shard's (rule 1). */
export function describeFences(suite: Suite): void {
  for (const [title, make] of staleFences) {
    suite.case(`every call of an owner ${title} is refused, and nothing happens`, async (world) => {
      const { owner, loaded, pending } = await inTheMiddle(world)
      const fence = await make(owner)
      const { readLevel } = await owner.row()
      const calls = callsUnder(world, fence, readLevel, loaded, pending)
      for (const [what, call] of Object.entries(calls)) {
        await changesNothing(world.store, () => refused(what, call, 'fenced'))
      }
    })
  }

  suite.case('a write during a change of owner happens as a whole or not at all', async (world) => {
    const first = await world.own(0, 'first', 1000)
    await world.clock.advance(2000)
    const { store } = world
    const sets = Array.from({ length: 50 }, () => setOf(world.newName(), world.now() + 1000))
    const writes = sets.map((set) => store.write(first.fence, { operations: [set, cancelOf(set), set] }))
    const claim = { shard: 0, owner: 'second', nonce: 9, leaseMs: 9000, expectedEpoch: first.fence.epoch }
    const [outcomes, row] = await Promise.all([Promise.allSettled(writes), store.acquire(claim)])
    assert.ok(row !== undefined)
    const found = await store.find(sets)
    for (const [index, outcome] of outcomes.entries()) {
      assert.equal(found[index] !== undefined, outcome.status === 'fulfilled', `write ${index}`)
    }
    const stored = found.filter((each) => each !== undefined).length
    const { created, cancelled } = await store.counts()
    assert.deepEqual({ created, cancelled }, { created: 2 * stored, cancelled: stored })
  })

  suite.case(
    'a set that is sent again under a new fence after an unknown outcome is stored once',
    async (world) => {
      const { store } = world
      const owner = await world.own()
      const sets = Array.from({ length: 40 }, () => setOf(world.newName(), world.now() + 1000))
      // Without waiting for the answers: the writes may happen at any time until the fence changes.
      const unknown = sets.map((set) => store.write(owner.fence, { operations: [set] }))
      const [outcomes, row] = await Promise.all([
        Promise.allSettled(unknown),
        store.refence(owner.fence, world.newNonce(), 30_000),
      ])
      owner.fence = { ...owner.fence, epoch: row.epoch, nonce: row.nonce }
      const again = await owner.write(...sets)
      for (const [index, answer] of again.entries()) {
        assert.equal(answer.outcome, outcomes[index]!.status === 'fulfilled' ? 'same' : 'set', `set ${index}`)
      }
      assert.equal(await store.countRows(), 40)
      assert.equal((await store.counts()).created, 40)
    },
  )

  suite.case(
    'after a settlement of unknown outcome the shard row shows whether it happened',
    async (world) => {
      const { owner, loaded } = await inTheMiddle(world)
      const { store } = world
      const settlement = settlementOf(levelAfter(loaded), { id: 4242, settledCount: 1 })
      const [outcome, row] = await Promise.all([
        store.settle(owner.fence, settlement).then(
          () => true,
          () => false,
        ),
        store.refence(owner.fence, world.newNonce(), 30_000),
      ])
      const after = await owner.row()
      assert.equal(after.lastSettlement === 4242, outcome)
      assert.equal(await store.countRows(), outcome ? 1 : 2)
      owner.fence = { ...owner.fence, epoch: row.epoch, nonce: row.nonce }
      if (!outcome) await owner.settle(settlement.level, settlement)
      assert.equal((await store.counts()).settled, 2)
    },
  )

  suite.case('an owner whose last settlement was not acknowledged can continue', async (world) => {
    const owner = await world.own()
    const before = owner.fence
    const [row] = await owner.setAt(world.now() + 1)
    await owner.load(world.now() + 10)
    await world.clock.advance(10)
    await owner.settle(levelAfter(row!), { settledCount: 1 })
    owner.fence = before
    await owner.setAt(world.now() + 20)
  })

  suite.case('a write without a fence is refused in the mode owned', async (world) => {
    await world.own()
    const operations = [setOf(world.newName(), world.now() + 1000)]
    await changesNothing(world.store, () =>
      refused('write', () => world.store.write(undefined, { operations }), 'fenced', 'wrong-strategy'),
    )
  })
}

/** An owner with settled, loaded and unloaded timers and a request in its inbox. */
async function inTheMiddle(world: World): Promise<{ owner: Owner; loaded: TimerRow; pending: TimerRow }> {
  const owner = await world.own()
  const from = world.now()
  const [settled, loaded, pending] = await owner.setAt(from + 1, from + 2, from + 5000)
  await owner.load(from + 1000)
  await world.clock.advance(100)
  await owner.settle(levelAfter(settled!), { settledCount: 1 })
  const operation = cancelOf(pending!)
  await world.store.append([{ id: 'in-the-middle', shard: 0, deadline: from + 1e7, operation }])
  return { owner, loaded: loaded!, pending: pending! }
}

function callsUnder(
  world: World,
  fence: Fence,
  readLevel: TimerRow | Parameters<Store['lower']>[1],
  loaded: TimerRow,
  pending: TimerRow,
): Readonly<Record<string, () => Promise<unknown>>> {
  const { store } = world
  const history = [{ ...world.newName(), identity: 1, at: 1, event: 'planted', details: '' }]
  const later = world.now() + 9000
  const letter = { row: loaded, diedAt: 1, reason: 'planted' }
  const level = levelAfter(loaded)
  const settle = (parts: Parameters<typeof settlementOf>[1]) =>
    store.settle(fence, settlementOf(level, parts))
  return {
    set: () => store.write(fence, { operations: [setOf(world.newName(), later)], history }),
    replace: () => store.write(fence, { operations: [setOf(pending, later)] }),
    move: () => store.write(fence, { operations: [moveOf(pending, later)] }),
    cancel: () => store.write(fence, { operations: [cancelOf(pending)] }),
    answer: () =>
      store.write(fence, {
        operations: [{ type: 'answer', request: 'in-the-middle', outcome: 'unknown' }],
      }),
    'settle a level': () => settle({ settledCount: 1, history }),
    'settle done': () => settle({ done: [pending] }),
    'settle a follow-up': () =>
      settle({ followUps: [{ row: loaded, position: later, dueAt: later, attempt: 1, occurrence: 0 }] }),
    'settle dead': () => settle({ dead: [letter] }),
    sweep: () => store.sweep(fence),
    load: () => store.load(fence, { from: readLevel, untilExclusive: later, limit: 10, limitBytes: 1e6 }),
    lower: () => store.lower(fence, readLevel, levelAt(loaded.position)),
    requests: () => store.requests(fence, 10),
    renew: () => store.renew(fence, 1000),
    refence: () => store.refence(fence, 31_337, 1000),
    release: () => store.release(fence),
    'write nothing': () => store.write(fence, { operations: [] }),
    'find it in another namespace': () =>
      store.write(fence, { operations: [setOf({ ...pending, namespace: `${NAMESPACE}-2` }, later)] }),
  }
}
