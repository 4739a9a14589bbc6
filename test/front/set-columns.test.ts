import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cron, openTimers, timer } from '../../src/index.js'
import { type CallContext, plainSetsOf } from '../../src/front/set/plain-request.js'
import { type SetManyRow, setRequestOf } from '../../src/front/set/set-request.js'
import type { Spread } from '../../src/front/set/spread.js'
import { PayloadEncoder, type SetTimer } from '../../src/timer/index.js'

const NOW = Date.UTC(2026, 0, 1)
const kind = timer<unknown>('remind')

function seeded(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function placeOf(more: Partial<CallContext> = {}): CallContext {
  return {
    namespace: 'n',
    now: NOW,
    random: seeded(),
    history: 'failures',
    maxPayloadBytes: 1000,
    trace: undefined,
    ...more,
  }
}

/** The operation for each row alone. */
function eachOf(rows: readonly SetManyRow<unknown>[]): unknown[] {
  const place = {
    ...placeOf(),
    payloads: new PayloadEncoder(rows.length),
    spread: undefined as unknown as Spread,
    parent: undefined,
  }
  return rows.map((row) => shownOf(setRequestOf(kind, row.key, row, place)))
}

function shownOf(operation: { readonly payload: Uint8Array }): unknown {
  return { ...operation, payload: Buffer.from(operation.payload).toString() }
}

const plainSets = (rows: readonly SetManyRow<unknown>[], more?: Partial<CallContext>) =>
  plainSetsOf(kind, rows, (index) => rows[index]!.key, placeOf(more))

describe('the plain rows of a call', () => {
  it('are the same in columns as one by one', () => {
    const when = fc.oneof(
      fc.record({ at: fc.oneof(fc.integer({ min: -1e9, max: 8.64e15 }), fc.constant(new Date(5))) }),
      fc.record({ in: fc.constantFrom<'5m' | 'PT1H' | number>('5m', 'PT1H', 0, 1.5, 1e9) }),
    )
    const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    const row = fc
      .tuple(when, fc.record({ key, payload: fc.jsonValue({ maxDepth: 2 }) }, { requiredKeys: ['payload'] }))
      .map(([due, rest]) => Object.assign(rest, due) as SetManyRow<unknown>)
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
        const readable = rows.filter(({ key: name }) => name === undefined || !name.includes('\0'))
        expect(plainSets(readable)!.operations().map(shownOf)).toEqual(eachOf(readable))
      }),
      { numRuns: 300 },
    )
  })

  const plain = { key: 'a', at: NOW, payload: 1 }

  it.each([
    ['a condition', { ifAbsent: true }],
    ['a revision', { ifRevision: 3 }],
    ['tags', { tags: ['x'] }],
    ['a policy', { retry: { attempts: 3 } }],
    ['a trace', { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }],
    ['an unknown option', { colour: 'red' }],
  ])('are not plain if one row has %s', (_, more) => {
    expect(plainSets([plain, plain, { ...plain, ...more }])).toBeUndefined()
    expect(plainSets([plain, plain, plain])).toBeDefined()
  })

  it('are not plain with a schedule, with a trace, or when the history keeps everything', () => {
    expect(plainSets([{ on: cron('0 9 * * *'), payload: 1 }])).toBeUndefined()
    expect(
      plainSets([plain], { trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }),
    ).toBeUndefined()
    expect(plainSets([plain], { history: 'all' })).toBeUndefined()
  })

  it.each([
    ['a bad key', { key: '\ud800' }, 'invalid-key'],
    ['an empty key', { key: '' }, 'invalid-key'],
    ['no time', { at: undefined }, 'invalid-when'],
    ['two times', { in: '5m' }, 'invalid-when'],
    ['an invalid instant', { at: Number.NaN }, 'invalid-instant'],
    ['an invalid duration', { at: undefined, in: '5 parsecs' }, 'invalid-duration'],
    ['a payload that JSON cannot express', { payload: 1n }, 'invalid-payload'],
    ['too large a payload', { payload: 'x'.repeat(1000) }, 'payload-too-large'],
  ])('are refused with %s, with the same code as if they were set one by one', (_, more, code) => {
    const rows = [plain, { ...plain, ...more } as SetManyRow<unknown>]
    expect(() => plainSets(rows)).toThrow(expect.objectContaining({ code }))
    expect(() => eachOf(rows)).toThrow(expect.objectContaining({ code }))
  })
})

describe('setMany with plain rows', () => {
  it('returns the same handle, key and revision for each row as single sets', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    const rows = Array.from({ length: 40 }, (_, index) => ({
      ...(index % 2 === 0 && { key: `key-${index}` }),
      in: '1h' as const,
      payload: { index },
    }))
    const set = await timers.setMany(kind, rows)
    expect(set.length).toBe(40)
    const all: SetTimer[] = [...set]
    expect(set.map((one) => one)).toEqual(all)
    expect([set.at(0), set.at(-1), set.at(39), set.at(40), set.at(-41)]).toEqual([
      all[0],
      all[39],
      all[39],
      undefined,
      undefined,
    ])
    expect(new Set(all.map(({ key }) => key)).size).toBe(40)
    for (const [index, { key, revision, dueAt, outcome }] of all.entries()) {
      expect(outcome).toBe('set')
      expect(await timers.get(kind, key)).toMatchObject({ key, revision, dueAt, payload: { index } })
    }
    expect(await timers.cancel(all[3]!.handle)).toBe('cancelled')
    const again = await timers.setMany(kind, rows)
    expect(again.map(({ outcome }) => outcome)).toEqual(rows.map(() => 'set'))
    expect(again.at(2)!.revision).toBeGreaterThan(set.at(2)!.revision!)
    expect(await timers.cancel(all[2]!.handle)).toBe('unknown')
    expect(await timers.cancel(again.at(2)!.handle)).toBe('cancelled')
  })

  it('stores no row if one of them is invalid', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    const rows = Array.from({ length: 40 }, (_, index) => ({
      key: `key-${index}`,
      in: '1h' as const,
      payload: index,
    }))
    await expect(timers.setMany(kind, [...rows, { key: '', in: '1h', payload: 0 }])).rejects.toMatchObject({
      code: 'invalid-key',
    })
    await expect(timers.setMany(undefined as never, rows)).rejects.toMatchObject({ code: 'unknown-kind' })
    expect(await timers.get(kind, 'key-0')).toBeUndefined()
    await timers.stop()
    await expect(timers.setMany(kind, rows)).rejects.toMatchObject({ code: 'stopped' })
  })

  it('keeps the last of two rows with the same key', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    const rows = Array.from({ length: 40 }, (_, index) => ({
      key: `key-${index % 30}`,
      in: '1h' as const,
      payload: index,
    }))
    await timers.setMany(kind, rows)
    expect(await timers.get(kind, 'key-3')).toMatchObject({ payload: 33 })
    expect(await timers.get(kind, 'key-20')).toMatchObject({ payload: 20 })
  })
})
