import assert from 'node:assert/strict'
import type { ErrorCode } from '../../../../error/index.js'
import type { Operation, SetOperation } from '../../../../store/index.js'
import { nameLimits, shardOf, type TimerName } from '../../../../timer/index.js'
import {
  answerOf,
  cancelOf,
  changesNothing,
  moveOf,
  NAMESPACE,
  refused,
  rowsOf,
  sameRows,
  setOf,
} from '../../sample.js'
import type { Suite } from '../../suite.js'

/** Names and payloads of every form come back unchanged, and invalid ones are refused with their code. */
export function describeNames(suite: Suite): void {
  suite.case('names in every script and names that are almost equal are kept apart', async (world) => {
    const owner = await world.own()
    const keys = [
      'a',
      'A',
      'a ',
      ' a',
      'é',
      'e\u0301',
      'ß',
      'ss',
      'İ',
      'i',
      'ı',
      '日本語',
      '🜁',
      '🜂',
      '\u{10ffff}',
    ]
    keys.push(
      '\uffff',
      '\ufeff',
      '\u0001',
      '\n',
      '%',
      '_',
      "'",
      '"',
      '\\',
      '../..',
      'a/b',
      'a:b',
      'a.b',
      '{a}',
      '0',
    )
    const names: TimerName[] = keys.map((key) => ({ namespace: NAMESPACE, kind: 'sample', key }))
    // The same letters, divided differently between kind and key.
    names.push(
      { namespace: NAMESPACE, kind: 'ab', key: 'c' },
      { namespace: NAMESPACE, kind: 'a', key: 'bc' },
      { namespace: NAMESPACE, kind: 'A', key: 'bc' },
    )
    const rows = await owner.set(...names.map((name, i) => setOf(name, world.now() + 1000 + i)))
    sameRows(await rowsOf(world.store), rows)
    const found = await world.store.find(names)
    assert.deepEqual(
      found.map((row) => row?.identity),
      rows.map((row) => row.identity),
    )
    sameRows(await owner.load(world.now() + 5000), rows)
    const answers = await owner.write(...names.map(cancelOf))
    assert.ok(answers.every((answer) => answer.outcome === 'cancelled'))
  })

  suite.case('namespaces are kept apart even if they differ only in case', async (world) => {
    const owner = await world.own()
    const namespaces = ['tenant', 'Tenant', 'tenant2', 'ten']
    const sets = namespaces.map((namespace, i) =>
      setOf({ namespace, kind: 'k', key: 'same' }, world.now() + 1000 + i),
    )
    await owner.set(...sets)
    for (const set of sets) {
      const { items } = await world.store.list({ namespace: set.namespace, limit: 10 })
      assert.deepEqual(
        items.map((row) => row.identity),
        [set.identity],
      )
    }
  })

  suite.case('names, tags and details of the greatest length come back unchanged', async (world) => {
    const owner = await world.own()
    const long = (bytes: number, end: string) => 'é'.repeat((bytes - end.length) / 2) + end
    const names = ['ax', 'bx'].map((end) => ({
      namespace: long(nameLimits.namespaceBytes, 'nn'),
      kind: long(nameLimits.kindBytes, 'kk'),
      key: long(nameLimits.keyBytes, end),
    }))
    const tags = Array.from(
      { length: nameLimits.tags },
      (_, i) => 't'.repeat(nameLimits.tagBytes - 2) + (10 + i),
    )
    const details = 'd'.repeat(nameLimits.detailsBytes)
    const sets = names.map((name, i) => setOf(name, world.now() + 1000 + i, { tags, details }))
    const rows = await owner.set(...sets)
    sameRows(await owner.load(world.now() + 5000), rows)
    sameRows(await rowsOf(world.store, names[0]!.namespace), rows)
    assert.equal((await world.store.find(names)).filter((row) => row !== undefined).length, 2)
    const { items } = await world.store.list({ namespace: names[0]!.namespace, limit: 9, tag: tags[15]! })
    assert.equal(items.length, 2)
  })

  suite.case(
    'payloads with every byte, empty and of the greatest size come back unchanged',
    async (world) => {
      const owner = await world.own()
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
      const heavy = Uint8Array.from({ length: 5000 }, (_, i) => (i * 31) & 255)
      const shared = new Uint8Array(bytes.buffer, 7, 20)
      const payloads = [bytes, new Uint8Array(0), heavy, shared, Buffer.from('{"a":"ü"}')]
      const rows = await owner.set(
        ...payloads.map((payload, i) => setOf(world.newName(), world.now() + 1000 + i, { payload })),
      )
      sameRows(await owner.load(world.now() + 5000), rows)
      sameRows(await rowsOf(world.store), rows)
      assert.ok((await rowsOf(world.store)).every((row) => row.payload instanceof Uint8Array))
      assert.equal(world.store.maxPayloadBytes, 5000)
      const payload = new Uint8Array(5001)
      const set = setOf(world.newName(), world.now() + 1000, { payload })
      const request = { id: 'heavy', shard: 0, deadline: world.now() + 1000, operation: set }
      await changesNothing(world.store, async () => {
        await refused('write', () => owner.write(set), 'payload-too-large')
        await refused('append', () => world.store.append([request]), 'payload-too-large')
        // A process with a higher limit may have appended it. Here it is answered already.
        answerOf((await owner.write({ ...set, request: 'gone' }))[0], 'answered-before')
      })
      assert.deepEqual(await world.store.requests(owner.fence, 10), [])
    },
    { maxPayloadBytes: 5000 },
  )

  suite.case('timers at the first and the last possible instant come back unchanged', async (world) => {
    const owner = await world.own()
    const [first, last] = await owner.setAt(0, 8.64e15)
    sameRows(await owner.load(1), [first!])
    sameRows(await owner.load(8.64e15 + 1), [last!])
    sameRows(await rowsOf(world.store), [first!, last!])
  })

  suite.case('invalid input is refused with its code, and nothing of the call happens', async (world) => {
    const owner = await world.own()
    const good = setOf(world.newName(), world.now() + 1000)
    for (const [what, operation, code] of badOperations(good)) {
      await changesNothing(world.store, () => refused(what, () => owner.write(good, operation), code))
    }
    await owner.set(good)
  })

  suite.case(
    'a timer is stored in the shard of its name',
    async (world) => {
      const { shardCount } = world.store
      for (let shard = 0; shard < shardCount; shard++) {
        const owner = await world.own(shard)
        const [row] = await owner.setAt(world.now() + 10)
        assert.equal(shardOf(row!, shardCount), shard)
        sameRows(await owner.load(world.now() + 100), [row!])
        const [found] = await world.store.find([row!])
        assert.equal(found?.identity, row!.identity)
      }
    },
    { shardCount: 4 },
  )
}

function badOperations(good: SetOperation): readonly (readonly [string, Operation, ErrorCode])[] {
  const set = (parts: object): Operation => ({ ...good, ...parts })
  return [
    ['an empty namespace', set({ namespace: '' }), 'invalid-namespace'],
    ['a namespace too long', set({ namespace: 'é'.repeat(65) }), 'invalid-namespace'],
    ['a namespace that is no text', set({ namespace: 7 }), 'invalid-namespace'],
    ['an empty kind', set({ kind: '' }), 'invalid-kind'],
    ['a kind too long', set({ kind: 'k'.repeat(129) }), 'invalid-kind'],
    ['an empty key', set({ key: '' }), 'invalid-key'],
    ['no key', set({ key: undefined }), 'invalid-key'],
    ['a key too long', set({ key: 'k'.repeat(513) }), 'invalid-key'],
    ['a key of 513 bytes', set({ key: `${'日'.repeat(170)}abc` }), 'invalid-key'],
    ['U+0000 in a key', set({ key: 'a\0b' }), 'invalid-key'],
    ['half a character', set({ key: '\ud800' }), 'invalid-key'],
    ['a tag too long', set({ tags: ['t'.repeat(129)] }), 'invalid-tag'],
    ['an empty tag', set({ tags: [''] }), 'invalid-tag'],
    ['17 tags', set({ tags: Array.from({ length: 17 }, (_, i) => `t${i}`) }), 'invalid-tag'],
    ['a payload that is no bytes', set({ payload: 'text' }), 'invalid-timer'],
    ['details too long', set({ details: 'd'.repeat(16_385) }), 'payload-too-large'],
    ['a due time that is no number', set({ dueAt: Number.NaN }), 'invalid-timer'],
    ['half a millisecond', set({ dueAt: 0.5 }), 'invalid-timer'],
    ['a due time before the epoch', set({ dueAt: -1 }), 'invalid-timer'],
    ['a position beyond time', set({ position: 8.65e15 }), 'invalid-timer'],
    ['an endless position', set({ position: Infinity }), 'invalid-timer'],
    ['no identity', set({ identity: 0 }), 'invalid-timer'],
    ['an identity too large', set({ identity: 2 ** 53 }), 'invalid-timer'],
    ['an attempt below nothing', set({ attempt: -1 }), 'invalid-timer'],
    ['half an occurrence', set({ occurrence: 0.5 }), 'invalid-timer'],
    ['a creation that is no instant', set({ createdAt: Number.NaN }), 'invalid-timer'],
    ['a move of nothing', moveOf({ ...good, key: '' }, 1000), 'invalid-key'],
    ['a move to nowhere', moveOf(good, Number.NaN), 'invalid-timer'],
    ['a cancel of nothing', cancelOf({ ...good, kind: '' }), 'invalid-kind'],
    ['a cancel of no identity', { ...cancelOf(good), identity: -1 }, 'invalid-timer'],
  ]
}
