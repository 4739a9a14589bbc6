import { describe, expect, it } from 'vitest'
import type { SetOperation } from '../../../src/store/index.js'
import {
  byteaArray,
  ArrayElements,
  int8Array,
  int8Values,
  textArray,
} from '../../../src/store/postgres/codec/binary-array.js'
import { openStoreIn, sql, usePostgres } from './scratch.js'

usePostgres()

describe('strings that PostgreSQL cannot store', () => {
  it('never fail a write: U+0000 becomes U+FFFD in details, reasons, notes and settings', async () => {
    const store = await openStoreIn({ shardCount: 1 })
    const claim = { shard: 0, owner: 'test', nonce: 7, leaseMs: 60_000, expectedEpoch: 0 }
    const { epoch, nonce, settledLevel, readLevel } = (await store.acquire(claim))!
    const fence = { shard: 0, epoch, nonce, settledLevel }
    const note = { at: 1, event: 'a\0b', details: 'c\0d' }
    await store.write(fence, { operations: [{ ...setOf('a'), details: 'x\0y', note }] })
    const [row] = await store.find([setOf('a')])
    expect(row?.details).toBe('x\ufffdy')
    const { items } = await store.history({ namespace: 'test', limit: 9 })
    expect(items).toMatchObject([{ event: 'a\ufffdb', details: 'c\ufffdd' }])
    const request = { from: readLevel, untilExclusive: 10, limit: 9, limitBytes: 1e6 }
    await store.load(fence, request)
    const letter = { row: row!, diedAt: 1, reason: 'why\0' }
    const nothing = { settledCount: 0, done: [], followUps: [], history: [] }
    const level = { position: 10, revision: 0 }
    await store.settle(fence, { id: 1, level, ...nothing, dead: [letter] })
    expect((await store.deadLetters({ namespace: 'test', limit: 9 })).items[0]?.reason).toBe('why\ufffd')
    await store.putSetting('name', 'va\0lue')
    expect(await store.settings('')).toMatchObject([{ value: 'va\ufffdlue' }])
    await store.heartbeat({ id: 'me', details: '\0' }, 1000)
  })

  it('never match the name of a timer', async () => {
    const store = await openStoreIn({ shardCount: 1 })
    const claim = { shard: 0, owner: 'test', nonce: 7, leaseMs: 60_000, expectedEpoch: 0 }
    const { epoch, nonce, settledLevel } = (await store.acquire(claim))!
    await store.write({ shard: 0, epoch, nonce, settledLevel }, { operations: [setOf('a\ufffdb')] })
    const asked = ['a\ufffdb', 'a\0b', 'a\ud800b'].map((key) => ({ namespace: 'test', kind: 'k', key }))
    expect((await store.find(asked)).map((row) => row?.key)).toEqual(['a\ufffdb', undefined, undefined])
  })

  it('do not include payloads and tags, which are stored unchanged', async () => {
    const store = await openStoreIn({ shardCount: 1 })
    const payload = Uint8Array.from({ length: 1000 }, (_, i) => i & 255)
    const { position: _, ...operation } = { ...setOf('a'), payload, tags: ['a"b', '\\', '{}', 'é,'] }
    await store.append([{ id: 'one', shard: 0, deadline: Date.now() + 60_000, operation }])
    const [kept] = await sql(`select payload, operation::json->'tags' as tags from "${store.schema}".inbox`)
    expect(kept!['payload']).toEqual(Buffer.from(payload))
    expect(kept!['tags']).toEqual(operation.tags)
  })
})

describe('binary arrays', () => {
  it('are encoded and decoded the same way as by PostgreSQL', async () => {
    const numbers = [0, 1, -1, 2 ** 31, 2 ** 32, 2 ** 32 - 1, 2 ** 53 - 1, null, 8.64e15, -(2 ** 33) - 5]
    const texts = ['', 'a', 'é', '日本語', '🜁', '"{},\\', null, ' ', 'NULL', '\n']
    const bytes = [new Uint8Array(0), new Uint8Array([0, 255, 92]), null]
    const [row] = await sql(
      `select array_send($1::bigint[]) as numbers, $1::bigint[]::text as shown,
        array_send($2::text[]) as texts, array_send($3::bytea[]) as bytes, cardinality($4::text[]) as none`,
      [
        int8Array(numbers, (number) => number),
        textArray(texts, (text) => text),
        byteaArray(bytes, (each) => each),
        textArray([], () => ''),
      ],
    )
    expect(row!['shown']).toBe(`{${numbers.map((number) => number ?? 'NULL').join(',')}}`)
    expect([...int8Values(row!['numbers'] as Buffer)]).toEqual(numbers.map((number) => number ?? Number.NaN))
    const strings = new ArrayElements(row!['texts'] as Buffer)
    expect(texts.map((_, i) => (strings.isNull(i) ? null : strings.string(i)))).toEqual(texts)
    const blobs = new ArrayElements(row!['bytes'] as Buffer)
    expect([...blobs.bytes(1)]).toEqual([0, 255, 92])
    expect(blobs.isNull(0)).toBe(false)
    expect(blobs.isNull(2)).toBe(true)
    expect(row!['none']).toBe(0)
    expect(int8Values(null)).toHaveLength(0)
  })
})

function setOf(key: string): SetOperation {
  const content = { createdAt: 1, payload: new Uint8Array([1]), tags: [], details: '' }
  const progress = { dueAt: 5, attempt: 0, occurrence: 0, position: 5 }
  return { type: 'set', namespace: 'test', kind: 'k', key, identity: 4711, ...content, ...progress }
}
