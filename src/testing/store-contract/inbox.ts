import assert from 'node:assert/strict'
import type { Request, RequestedOperation } from '../../store/index.js'
import { levelAt } from '../../timer/index.js'
import {
  addsUp,
  answerOf,
  cancelOf,
  changesNothing,
  keysOf,
  moveOf,
  refused,
  rowsOf,
  setOf,
} from './sample.js'
import type { Suite } from './suite.js'
import type { World } from './world.js'

/** Requests from those who do not own a shard: appended once, applied once, answered until their deadline. */
export function describeInbox(suite: Suite): void {
  suite.case(
    'requests come in the order of their arrival and stay until they are answered',
    async (world) => {
      const owner = await world.own()
      const requests = Array.from({ length: 30 }, (_, i) => requestOf(world, `id-${(i * 7) % 30}`))
      for (let i = 0; i < 30; i += 10) await world.store.append(requests.slice(i, i + 10))
      assert.deepEqual(idsOf(await world.store.requests(owner.fence, 100)), idsOf(requests))
      assert.deepEqual(idsOf(await world.store.requests(owner.fence, 7)), idsOf(requests.slice(0, 7)))
      await owner.write(...requests.slice(0, 5).map((request) => applied(world, request)))
      assert.deepEqual(idsOf(await world.store.requests(owner.fence, 7)), idsOf(requests.slice(5, 12)))
    },
  )

  suite.case('a request keeps all that it was asked with', async (world) => {
    const owner = await world.own()
    const set = setOf(world.newName(), world.now() + 1000, {
      payload: new Uint8Array([0, 255, 7]),
      tags: ['a', 'b'],
      details: 'every',
      ifAbsent: true,
      ifRevision: 12,
      attempt: 1,
      occurrence: 2,
    })
    const { position: _, ...operation } = set
    const move = { ...withoutPosition(moveOf(set, 5)), identity: 7, ifRevision: 3 }
    const cancel = { ...cancelOf(set), identity: 8, ifRevision: 4 }
    const requests = [operation, move, cancel].map((each, i) => requestOf(world, `id-${i}`, each))
    await world.store.append(requests)
    const kept = await world.store.requests(owner.fence, 10)
    assert.deepEqual(kept.map(plainRequest), requests.map(plainRequest))
  })

  suite.case('asking twice is asking once', async (world) => {
    const owner = await world.own()
    const request = requestOf(world, 'twice')
    assert.deepEqual([...(await world.store.append([request]))], ['appended'])
    assert.deepEqual([...(await world.store.append([request, request]))], ['appended', 'appended'])
    assert.equal((await world.store.requests(owner.fence, 10)).length, 1)
    const [first] = await owner.write(applied(world, request))
    answerOf(first, 'set')
    assert.deepEqual([...(await world.store.append([request]))], ['answered-before'])
    assert.deepEqual(await world.store.requests(owner.fence, 10), [])
    assert.equal((await world.store.counts()).created, 1)
  })

  suite.case(
    'a write that is to come after the inbox is refused whole while a request waits there',
    async (world) => {
      const owner = await world.own()
      const request = requestOf(world, 'first')
      const write = (name = world.newName()) =>
        world.store.write(owner.fence, {
          operations: [setOf(name, world.now() + 1000), setOf(world.newName(), world.now() + 2000)],
          ifInboxEmpty: true,
        })
      answerOf((await write()).answers[0], 'set')
      await world.store.append([request])
      await changesNothing(world.store, async () => {
        await refused('a write before the inbox', () => write(), 'inbox-first')
        await refused('one that replaces', () => write(request.operation), 'inbox-first')
      })
      // Whoever does not ask for it is not held up, nor are other shards.
      answerOf((await owner.write(setOf(world.newName(), world.now() + 1000)))[0], 'set')
      answerOf((await owner.write(applied(world, request)))[0], 'set')
      answerOf((await write(request.operation)).answers[0], 'set')
    },
  )

  suite.case('an operation is applied once for its request, and leaves the answer', async (world) => {
    const owner = await world.own()
    const request = requestOf(world, 'once')
    await world.store.append([request])
    assert.deepEqual([...(await world.store.answers(0, ['once', 'never']))], [undefined, undefined])
    const operation = applied(world, request)
    const answers = await owner.write(operation, {
      ...setOf(request.operation, world.now() + 9),
      request: 'once',
    })
    answerOf(answers[0], 'set')
    answerOf(answers[1], 'answered-before')
    assert.deepEqual([...(await world.store.answers(0, ['never', 'once']))], [undefined, 'set'])
    await changesNothing(world.store, async () => {
      answerOf((await owner.write(operation))[0], 'answered-before')
      const never = { ...setOf(world.newName(), world.now() + 9), request: 'never' }
      answerOf((await owner.write(never))[0], 'answered-before')
      answerOf((await owner.write({ ...cancelOf(request.operation), request: 'once' }))[0], 'answered-before')
    })
  })

  suite.case('every outcome that ends a request is its answer', async (world) => {
    const owner = await world.own()
    const at = world.now() + 1000
    const [a, b, c] = await owner.setAt(at, at, at)
    const requests: readonly (readonly [RequestedOperation, string])[] = [
      [withoutPosition(moveOf(a!, at + 1)), 'moved'],
      [cancelOf(b!), 'cancelled'],
      [cancelOf(world.newName()), 'unknown'],
      [withoutPosition(setOf(c!, at, { ifAbsent: true })), 'conflict'],
    ]
    const asked = requests.map(([operation], i) => requestOf(world, `id-${i}`, operation))
    const told = ['firing', 'settled', 'unknown'].map((outcome) => requestOf(world, outcome, cancelOf(c!)))
    await world.store.append([...asked, ...told])
    const answers = await owner.write(
      ...asked.map((request) => applied(world, request)),
      { type: 'answer', request: 'firing', outcome: 'firing' },
      { type: 'answer', request: 'settled', outcome: 'settled' },
      { type: 'answer', request: 'unknown', outcome: 'unknown' },
    )
    const outcomes = [...requests.map(([, outcome]) => outcome), 'firing', 'settled', 'unknown']
    assert.deepEqual(
      answers.map((answer) => answer.outcome),
      outcomes,
    )
    assert.deepEqual([...(await world.store.answers(0, idsOf([...asked, ...told])))], outcomes)
    assert.deepEqual(await world.store.requests(owner.fence, 10), [])
    const again = await owner.write({ type: 'answer', request: 'firing', outcome: 'firing' })
    answerOf(again[0], 'answered-before')
  })

  suite.case('a set that was refused for its position keeps its request', async (world) => {
    const owner = await world.own()
    await owner.load(world.now() + 100)
    await world.clock.advance(100)
    await owner.settle(levelAt(world.now()))
    const request = requestOf(world, 'low', withoutPosition(setOf(world.newName(), world.now() - 50)))
    await world.store.append([request])
    answerOf((await owner.write(applied(world, request, world.now() - 50)))[0], 'below-level')
    assert.deepEqual(idsOf(await world.store.requests(owner.fence, 10)), ['low'])
    answerOf((await owner.write(applied(world, request, world.now())))[0], 'set')
    assert.deepEqual(await world.store.requests(owner.fence, 10), [])
  })

  suite.case('a move or cancel is not applied after its deadline, and its request is over', async (world) => {
    const owner = await world.own()
    const at = world.now() + 100_000
    const rows = await owner.setAt(at, at)
    const operations = [withoutPosition(moveOf(rows[0]!, at + 1)), cancelOf(rows[1]!)]
    const requests = operations.map((operation, i) => requestOf(world, `id-${i}`, operation, 5000))
    await world.store.append(requests)
    await world.clock.advance(5001)
    await changesNothing(world.store, async () => {
      for (const request of requests) {
        answerOf((await owner.write(applied(world, request)))[0], 'expired')
      }
    })
    assert.deepEqual(keysOf(await rowsOf(world.store)), keysOf(rows))
    assert.deepEqual(await world.store.requests(owner.fence, 10), [])
    assert.deepEqual([...(await world.store.append(requests))], ['expired', 'expired'])
    assert.deepEqual(await world.store.requests(owner.fence, 10), [])
  })

  suite.case('a set is applied after its deadline too: it was acknowledged', async (world) => {
    const owner = await world.own()
    const request = requestOf(world, 'late', undefined, 5000)
    await world.store.append([request])
    await world.clock.advance(3_600_000)
    assert.deepEqual([...(await world.store.append([request]))], ['appended'], 'it was appended before')
    assert.deepEqual(idsOf(await world.store.requests(owner.fence, 10)), ['late'])
    answerOf((await owner.write(applied(world, request)))[0], 'set')
    assert.deepEqual(await world.store.requests(owner.fence, 10), [])
    assert.equal(await world.store.countRows(), 1)
    await addsUp(world.store)
  })

  suite.case('an answer is kept until the deadline and not longer', async (world) => {
    const owner = await world.own()
    const request = requestOf(world, 'kept', undefined, 5000)
    await world.store.append([request])
    await owner.write(applied(world, request))
    await world.clock.advance(4999)
    assert.deepEqual([...(await world.store.answers(0, ['kept']))], ['set'])
    await world.clock.advance(2)
    assert.deepEqual([...(await world.store.answers(0, ['kept']))], [undefined])
  })

  suite.case('requests outlive their owner', async (world) => {
    await world.own()
    const requests = [requestOf(world, 'a'), requestOf(world, 'b')]
    await world.store.append(requests)
    const next = await world.takeOver()
    assert.deepEqual(idsOf(await world.store.requests(next.fence, 10)), ['a', 'b'])
  })

  suite.case(
    'shards have inboxes of their own, and nobody needs to own them to append',
    async (world) => {
      const last = world.store.shardCount - 1
      const operation = withoutPosition(setOf(world.newName(last), world.now() + 10))
      const request = { ...requestOf(world, 'far', operation), shard: last }
      const near = requestOf(world, 'near')
      const answers = await world.store.append(last === 0 ? [request] : [request, near])
      assert.ok(answers.every((answer) => answer === 'appended'))
      const owner = await world.own(last)
      assert.deepEqual(idsOf(await world.store.requests(owner.fence, 10)), ['far'])
      answerOf((await owner.write(applied(world, request)))[0], 'set')
      assert.deepEqual([...(await world.store.answers(last, ['far']))], ['set'])
    },
    { shardCount: 4 },
  )

  suite.case('many append at once', async (world) => {
    const owner = await world.own()
    const requests = Array.from({ length: 500 }, (_, i) => requestOf(world, `id-${i}`))
    const twice = [...requests, ...requests]
    const answers = await Promise.all(twice.map((request) => world.store.append([request])))
    assert.ok(answers.every(([answer]) => answer === 'appended'))
    const kept = await world.store.requests(owner.fence, 1000)
    assert.deepEqual(idsOf(kept).toSorted(), idsOf(requests).toSorted())
  })

  suite.case('refuses a request with anything wrong in it, and with it the whole call', async (world) => {
    const owner = await world.own()
    const good = requestOf(world, 'good')
    const bad: readonly (readonly [string, Request, Parameters<typeof refused>[2]])[] = [
      ['an empty id', { ...good, id: '' }, 'invalid-timer'],
      ['an id of 65 characters', { ...good, id: 'x'.repeat(65) }, 'invalid-timer'],
      ['a deadline that is no instant', { ...good, id: 'b', deadline: Number.NaN }, 'invalid-timer'],
      ['no key', requestOf(world, 'b', cancelOf({ namespace: 'n', kind: 'k', key: '' })), 'invalid-key'],
    ]
    for (const [what, request, code] of bad) {
      await refused(what, () => world.store.append([good, request]), code)
      assert.deepEqual(await world.store.requests(owner.fence, 10), [], what)
    }
  })
}

export function requestOf(
  world: World,
  id: string,
  operation: RequestedOperation = withoutPosition(setOf(world.newName(), world.now() + 60_000)),
  forMs = 1_000_000,
): Request {
  return { id, shard: 0, deadline: world.now() + forMs, operation }
}

/** The operation by which an owner answers a request. */
export function applied(world: World, { id, operation }: Request, at?: number) {
  if (operation.type === 'cancel') return { ...operation, request: id }
  return { ...operation, position: at ?? Math.max(operation.dueAt, world.now()), request: id }
}

function withoutPosition<Operation extends { readonly position: number }>(operation: Operation) {
  const { position: _, ...rest } = operation
  return rest
}

function idsOf(requests: readonly Request[]): string[] {
  return requests.map((request) => request.id)
}

function plainRequest(request: Request) {
  const { operation } = request
  if (operation.type !== 'set') return { ...request, operation: { ...operation } }
  return {
    ...request,
    operation: { ...operation, tags: [...operation.tags], payload: [...operation.payload] },
  }
}
