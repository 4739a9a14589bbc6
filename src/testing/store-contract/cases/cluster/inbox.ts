import assert from 'node:assert/strict'
import type { Operation, ReportOperation, InboxRequest, RequestedOperation } from '../../../../store/index.js'
import { levelAt, type TimerName } from '../../../../timer/index.js'
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
} from '../../sample.js'
import type { Suite } from '../../suite.js'
import type { World } from '../../world.js'

/** Requests to a shard from other processes: appended once, applied once, with an answer until the deadline (rule 3). */
export function describeInbox(suite: Suite): void {
  suite.case('requests come in order of arrival and stay until they are answered', async (world) => {
    const owner = await world.own()
    const requests = Array.from({ length: 30 }, (_, i) => requestOf(world, `id-${(i * 7) % 30}`))
    for (let i = 0; i < 30; i += 10) await world.store.append(requests.slice(i, i + 10))
    assert.deepEqual(idsOf(await world.store.requests(owner.fence, 100)), idsOf(requests))
    assert.deepEqual(idsOf(await world.store.requests(owner.fence, 7)), idsOf(requests.slice(0, 7)))
    await owner.write(...requests.slice(0, 5).map((request) => applied(world, request)))
    assert.deepEqual(idsOf(await world.store.requests(owner.fence, 7)), idsOf(requests.slice(5, 12)))
  })

  suite.case('a request comes back with every part of its operation', async (world) => {
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

  suite.case('a request that is appended twice is applied once', async (world) => {
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
    'a set is free while no other set for its name waits and no timer has the name',
    async (world) => {
      const owner = await world.own()
      const taken = world.newName()
      await owner.write(setOf(taken, world.now() + 60_000))
      const name = world.newName()
      const alone = requestOf(world, 'alone')
      const first = requestOf(world, 'first', withoutPosition(setOf(name, world.now() + 1000)))
      const second = requestOf(world, 'second', withoutPosition(setOf(name, world.now() + 2000)))
      const late = requestOf(world, 'late', withoutPosition(setOf(taken, world.now() + 1000)))
      const all = [alone, first, second, late]
      const areFree = (...requests: InboxRequest<RequestedOperation>[]) => world.store.areFree(requests)
      assert.deepEqual(
        [...(await areFree(...all))],
        [false, false, false, false],
        'none of them was appended',
      )
      await world.store.append([first])
      assert.deepEqual([...(await areFree(first))], [true])
      await world.store.append([alone, second, late])
      const [isAlone, , isSecond, isLate] = await areFree(...all)
      assert.deepEqual([isAlone, isSecond, isLate], [true, false, false])
      await owner.write(...all.map((request) => applied(world, request)))
      assert.deepEqual([...(await areFree(...all))], [false, false, false, false], 'all of them are applied')
    },
  )

  suite.case('a set of a name whose timer is below the settled level is free', async (world) => {
    const owner = await world.own()
    const name = world.newName()
    await owner.write(setOf(name, world.now() - 1))
    await owner.load(world.now() + 60_000)
    await owner.settle(levelAt(world.now()), { settledCount: 1 })
    const request = requestOf(world, 'again', withoutPosition(setOf(name, world.now() + 1000)))
    await world.store.append([request])
    assert.deepEqual([...(await world.store.areFree([request]))], [true])
  })

  suite.case('a store says for which names sets wait, and which inboxes are not empty', async (world) => {
    const owner = await world.own()
    const [waited, other] = [world.newName(), world.newName()]
    const areWaiting = async () => [...(await world.store.areWaiting([waited, other]))]
    assert.deepEqual([await areWaiting(), [...(await world.store.busyInboxes())]], [[false, false], []])
    const set = requestOf(world, 'set', withoutPosition(setOf(waited, world.now() + 1000)))
    const cancel = requestOf(world, 'cancel', cancelOf(waited))
    const barrier = { ...set, id: 'barrier', operation: { type: 'barrier' } } as const
    await world.store.append([set, cancel, barrier])
    assert.deepEqual(
      [await areWaiting(), [...(await world.store.busyInboxes())]],
      [[true, false], [set.shard]],
    )
    await owner.write(applied(world, set))
    assert.deepEqual(await areWaiting(), [false, false], 'only a cancel waits')
    await owner.write(applied(world, cancel))
    assert.deepEqual(
      [await areWaiting(), [...(await world.store.busyInboxes())]],
      [[false, false], [set.shard]],
    )
    const requests = await world.store.requests(owner.fence, 10)
    assert.deepEqual(
      requests.map(({ operation }) => operation),
      [{ type: 'barrier' }],
    )
    await owner.write({ type: 'answer', request: 'barrier', outcome: 'unknown' })
    assert.deepEqual([...(await world.store.busyInboxes())], [])
    assert.deepEqual([...(await world.store.answers(set.shard, ['barrier']))], ['unknown'])
  })

  suite.case(
    'a write with ifInboxEmpty is refused as a whole while a request is in the inbox',
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
      // Writes without the condition are accepted, and so are writes to other shards.
      answerOf((await owner.write(setOf(world.newName(), world.now() + 1000)))[0], 'set')
      answerOf((await owner.write(applied(world, request)))[0], 'set')
      answerOf((await write(request.operation)).answers[0], 'set')
    },
  )

  suite.case('an operation with a request is applied once, and its outcome can be read', async (world) => {
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

  suite.case('every outcome that ends a request can be read as its answer', async (world) => {
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

  suite.case('a set that is refused with below-level keeps its request', async (world) => {
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

  suite.case(
    'a move or cancel is not applied after its deadline, and its request is removed',
    async (world) => {
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
    },
  )

  suite.case(
    'a move or cancel after its deadline is answered expired, whatever happened to its timer',
    async (world) => {
      const owner = await world.own()
      const from = world.now() + 1
      const rows = await owner.setAt(from, from, from + 100_000, from + 100_000)
      const [settled, , cancelled, kept] = rows
      const moved = withoutPosition(moveOf(world.newName(), from + 50))
      const asked: readonly (readonly [string, RequestedOperation])[] = [
        ['a cancel of a timer that never was', cancelOf(world.newName())],
        ['a move of a timer that never was', moved],
        ['a cancel of one that is settled', cancelOf(settled!)],
        ['a move of one that is settled', withoutPosition(moveOf(settled!, from + 50))],
        ['a cancel of one that was cancelled', cancelOf(cancelled!)],
        ['a cancel of another life', { ...cancelOf(kept!), identity: kept!.identity + 1 }],
        ['a move of another life', { ...moved, ...nameOf(kept!), identity: kept!.identity + 1 }],
        ['a cancel at another revision', { ...cancelOf(kept!), ifRevision: kept!.revision + 1 }],
        ['a move at another revision', { ...moved, ...nameOf(kept!), ifRevision: kept!.revision + 1 }],
      ]
      const requests = asked.map(([, operation], i) => requestOf(world, `id-${i}`, operation, 5000))
      await world.store.append(requests)
      await owner.write(cancelOf(cancelled!))
      await owner.load(from + 10)
      await world.clock.advance(5001)
      await owner.settle(levelAt(from + 1), { settledCount: 2 })
      await changesNothing(world.store, async () => {
        const answers = await owner.write(...requests.map((request) => applied(world, request)))
        assert.deepEqual(
          answers.map(({ outcome }, i) => `${asked[i]![0]}: ${outcome}`),
          asked.map(([what]) => `${what}: expired`),
        )
      })
      assert.deepEqual(await world.store.requests(owner.fence, 20), [])
    },
  )

  suite.case('a report of an attempt comes back unchanged with every outcome', async (world) => {
    const owner = await world.own()
    const next = { dueAt: 1_900_000_000_123, occurrence: 3 }
    const results: readonly ReportOperation['result'][] = [
      { type: 'done' },
      { type: 'next', ...next },
      { type: 'next', ...next, details: '{"a":"b\\"}' },
      { type: 'retry', dueAt: 5, reason: '' },
      { type: 'retry', dueAt: 2 ** 53 - 1, reason: 'wrong "quotes", \u0000, ü, 😀 and \n', details: 'd' },
      { type: 'dead', reason: 'no more' },
      { type: 'dead', reason: 'no more', next },
      { type: 'dead', reason: 'no more', next: { ...next, details: '' } },
    ]
    const notes = [
      { at: 7, event: 'attempt', details: '{"ms":12.5}' },
      { at: 8, event: 'ü', details: '' },
    ]
    const reports = results.map((result, i): InboxRequest => ({
      id: `report-${i}`,
      shard: 0,
      deadline: world.now() + 1_000_000,
      operation: {
        type: 'report',
        ...world.newName(),
        identity: 4711 + i,
        occurrence: i,
        attempt: i + 1,
        result,
        notes: i % 2 === 0 ? notes : [],
      },
    }))
    // Mixed with other requests, which keep their order.
    const all = [requestOf(world, 'before'), ...reports, requestOf(world, 'after', cancelOf(world.newName()))]
    assert.ok((await world.store.append(all)).every((answer) => answer === 'appended'))
    const kept = await world.store.requests(owner.fence, 100)
    assert.deepEqual(kept.map(plainRequest), all.map(plainRequest))
    assert.deepEqual([...(await world.store.append([reports[0]!]))], ['appended'], 'asked twice')
    const answers = await owner.write(
      ...reports.map(({ id }): Operation => ({ type: 'answer', request: id, outcome: 'settled' })),
    )
    for (const answer of answers) answerOf(answer, 'settled')
    assert.deepEqual(idsOf(await world.store.requests(owner.fence, 100)), ['before', 'after'])
    assert.deepEqual([...(await world.store.append([reports[0]!]))], ['answered-before'])
    assert.deepEqual([...(await world.store.answers(0, ['report-3']))], ['settled'])
  })

  suite.case('a requested set is applied after its deadline, too', async (world) => {
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

  suite.case('an answer can be read until the deadline and not afterwards', async (world) => {
    const owner = await world.own()
    const request = requestOf(world, 'kept', undefined, 5000)
    await world.store.append([request])
    await owner.write(applied(world, request))
    await world.clock.advance(4999)
    assert.deepEqual([...(await world.store.answers(0, ['kept']))], ['set'])
    await world.clock.advance(2)
    assert.deepEqual([...(await world.store.answers(0, ['kept']))], [undefined])
  })

  suite.case(
    'a request that was answered and forgotten while the clock was ahead is not accepted again',
    async (world) => {
      const owner = await world.own()
      const request = requestOf(world, 'once', undefined, 5000)
      await world.store.append([request])
      answerOf((await owner.write(applied(world, request)))[0], 'set')
      const forgets = async (id: string): Promise<void> => {
        await world.store.heartbeat({ id: 'm', details: '' }, 1000)
        assert.deepEqual([...(await world.store.append([requestOf(world, id)]))], ['appended'])
      }
      world.clock.jump(3_600_000)
      await forgets('ahead')
      world.clock.jump(-3_600_000)
      const [again] = await world.store.append([request])
      assert.ok(again === 'expired' || again === 'answered-before', again)
      // Requests with later deadlines are accepted.
      const later = requestOf(world, 'later', undefined, 5001)
      assert.deepEqual([...(await world.store.append([request, later]))].at(1), 'appended')
      assert.deepEqual(idsOf(await world.store.requests(owner.fence, 10)), ['ahead', 'later'])
      assert.equal((await world.store.counts()).created, 1)
    },
  )

  suite.case('requests stay in the inbox when the owner changes', async (world) => {
    await world.own()
    const requests = [requestOf(world, 'a'), requestOf(world, 'b')]
    await world.store.append(requests)
    const next = await world.takeOver()
    assert.deepEqual(idsOf(await world.store.requests(next.fence, 10)), ['a', 'b'])
  })

  suite.case(
    'each shard has its own inbox, and appending needs no owner',
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

  suite.case('requests that are appended concurrently are all there', async (world) => {
    const owner = await world.own()
    const requests = Array.from({ length: 500 }, (_, i) => requestOf(world, `id-${i}`))
    const twice = [...requests, ...requests]
    const answers = await Promise.all(twice.map((request) => world.store.append([request])))
    assert.ok(answers.every(([answer]) => answer === 'appended'))
    const kept = await world.store.requests(owner.fence, 1000)
    assert.deepEqual(idsOf(kept).toSorted(), idsOf(requests).toSorted())
  })

  suite.case('an invalid request is refused, and nothing of the call is appended', async (world) => {
    const owner = await world.own()
    const good = requestOf(world, 'good')
    const bad: readonly (readonly [
      string,
      InboxRequest<RequestedOperation>,
      Parameters<typeof refused>[2],
    ])[] = [
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
): InboxRequest<RequestedOperation> {
  return { id, shard: 0, deadline: world.now() + forMs, operation }
}

/** The operation with which an owner applies a request. */
export function applied(world: World, { id, operation }: InboxRequest<RequestedOperation>, at?: number) {
  if (operation.type === 'cancel') return { ...operation, request: id }
  return { ...operation, position: at ?? Math.max(operation.dueAt, world.now()), request: id }
}

function withoutPosition<Placed extends { readonly position: number }>(operation: Placed) {
  const { position: _, ...rest } = operation
  return rest
}

function nameOf({ namespace, kind, key }: TimerName): TimerName {
  return { namespace, kind, key }
}

function idsOf(requests: readonly InboxRequest[]): string[] {
  return requests.map((request) => request.id)
}

function plainRequest(request: InboxRequest) {
  const { operation } = request
  if (operation.type !== 'set') return { ...request, operation: { ...operation } }
  return {
    ...request,
    operation: { ...operation, tags: [...operation.tags], payload: [...operation.payload] },
  }
}
