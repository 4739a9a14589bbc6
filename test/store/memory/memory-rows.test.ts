import { describe, expect, it } from 'vitest'
import { MemoryPage } from '../../../src/store/memory/memory-page.js'
import { MemoryRows } from '../../../src/store/memory/memory-rows.js'
import type { RowOrder } from '../../../src/store/memory/row-order.js'
import { Random } from '../../../src/testing/random.js'
import { comparePlaces, firstPlace, isBefore, type Place, type TimerRow } from '../../../src/timer/index.js'

const FAR = 8e15

/** A row with whatever a row can have: wide keys, long payloads, tags, positions that are not the due time. */
function randomRow(random: Random, revision: number, keys: number, positions: number): TimerRow {
  const number = random.below(keys)
  const position = random.below(50) === 0 ? FAR - random.below(5) : random.below(positions)
  const length = random.below(400) === 0 ? 8000 + random.below(400) : random.below(90)
  return {
    namespace: `n${random.below(2)}`,
    kind: `k${random.below(3)}`,
    key: number % 7 === 0 ? `ключ-${number}` : `key-${number}`,
    identity: 1 + random.below(2 ** 50),
    createdAt: random.below(2 ** 40),
    payload: Uint8Array.from({ length }, (_, at) => at + number),
    tags: number % 11 === 0 ? ['a', 'b'] : [],
    details: number % 13 === 0 ? '{"x":1}' : '',
    dueAt: random.below(4) === 0 ? Math.max(0, position - random.below(9)) : position,
    attempt: random.below(3),
    occurrence: random.below(10) === 0 ? 0xffff_ffff : 0,
    position,
    revision,
  }
}

function nameOf({ namespace, kind, key }: TimerRow): string {
  return `${namespace}/${kind}/${key}`
}

function revisionOf({ revision }: TimerRow): number {
  return revision
}

describe('the rows of the memory store agree with a map', () => {
  it.each([
    { seed: 1, keys: 40, positions: 10, removals: 30 },
    { seed: 2, keys: 20_000, positions: 5, removals: 20 },
    { seed: 3, keys: 20_000, positions: 2 ** 45, removals: 45 },
    { seed: 4, keys: 9000, positions: 100_000, removals: 49 },
  ])('with seed $seed, $keys keys and $positions positions', ({ seed, keys, positions, removals }) => {
    const random = new Random(seed)
    const rows = new MemoryRows()
    const model = new Map<string, TimerRow>()
    for (let revision = 1; revision <= 20_000; revision++) {
      const row = randomRow(random, revision, keys, positions)
      const known = model.get(nameOf(row))
      const slot = rows.find(row)
      // Not with `expect`, which would take most of the time.
      if ((slot < 0 ? undefined : rows.revision(slot)) !== known?.revision) throw new Error(`at ${revision}`)
      if (slot >= 0) rows.remove(slot)
      model.delete(nameOf(row))
      if (random.below(100) >= removals) {
        rows.put(row, row, row.position, revision)
        model.set(nameOf(row), row)
      }
      if (revision % 6000 === 0) {
        const level = { position: random.below(positions / 2), revision: random.below(revision) }
        const before = model.size
        for (const [name, kept] of model) if (isBefore(kept, level)) model.delete(name)
        expect(rows.removeBefore(level)).toBe(before - model.size)
      }
    }
    const expected = [...model.values()].sort(comparePlaces)
    const revisions = (order: RowOrder, from: Place) =>
      Array.from(order.from(from), (at) => rows.revision(at))
    expect(revisions(rows.order, firstPlace)).toEqual(expected.map(revisionOf))
    const displaced = expected.filter((row) => row.dueAt !== row.position)
    expect(revisions(rows.displaced, firstPlace)).toEqual(displaced.map(revisionOf))
    const half = expected.length >> 1
    expect(revisions(rows.order, expected[half]!)).toEqual(expected.slice(half).map(revisionOf))
    const stride = Math.ceil(expected.length / 300)
    for (let at = 0; at < expected.length; at += stride) {
      expect(rows.row(rows.find(expected[at]!))).toEqual(expected[at])
    }
    expect(rows.size).toBe(model.size)
  })
})

it('a page keeps its rows as they were, although the store uses their memory again', () => {
  const random = new Random(5)
  const rows = new MemoryRows()
  const stored = Array.from({ length: 600 }, (_, index) => ({
    ...randomRow(random, index + 1, 1000, 500),
    key: `key-${index}`,
  }))
  for (const row of stored) rows.put(row, row, row.position, row.revision)
  const slots = [...rows.order.from(firstPlace)]
  const page = new MemoryPage(rows, slots, 0)
  for (const slot of slots) rows.remove(slot)
  for (const row of stored) {
    rows.put({ ...row, payload: Uint8Array.of(7, 7, 7) }, row, row.position, row.revision + 600)
  }
  const read = Array.from({ length: page.size }, (_, index) => page.row(index))
  expect(read).toEqual([...stored].sort(comparePlaces))
})

it('a row copies its payload, even a Buffer, whose slice would be a view', () => {
  const rows = new MemoryRows()
  const payload = Buffer.from([1, 2, 3])
  const row = { ...randomRow(new Random(6), 1, 10, 10), payload }
  const slot = rows.put(row, row, row.position, 1)
  payload[0] = 9
  const read = rows.row(slot)
  expect([...read.payload]).toEqual([1, 2, 3])
  read.payload[0] = 8
  expect([...rows.row(slot).payload]).toEqual([1, 2, 3])
})

it('rows that come in order, and later ones between them, are read in order', () => {
  const random = new Random(8)
  const rows = new MemoryRows()
  const row = randomRow(random, 1, 10, 10)
  const positions = Array.from({ length: 9000 }, (_, index) =>
    index < 6000 ? index * 2 : random.below(12_000),
  )
  positions.forEach((position, index) => rows.put({ ...row, key: `${index}` }, row, position, index + 1))
  const read = Array.from(rows.order.from(firstPlace), (slot) => rows.position(slot))
  expect(read).toEqual(positions.sort((a, b) => a - b))
})

it('the newest row of a name is found, and then none once it was removed', () => {
  const rows = new MemoryRows()
  const row = randomRow(new Random(9), 1, 10, 10)
  rows.put(row, row, row.position, 1)
  const newest = rows.put(row, row, row.position, 2)
  expect(rows.find(row)).toBe(newest)
  rows.remove(newest)
  expect(rows.find(row)).toBe(-1)
  expect(rows.size).toBe(1)
})

it('two kinds may have the same key, also while no row has the kind', () => {
  const rows = new MemoryRows()
  const row = { ...randomRow(new Random(7), 1, 10, 10), kind: 'a' }
  rows.find(row)
  rows.put({ ...row, kind: 'b' }, row, row.position, 1)
  expect(rows.find(row)).toBe(-1)
  expect(rows.find({ ...row, kind: 'b' })).toBe(0)
})
