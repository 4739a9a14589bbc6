import { describe, expect, it } from 'vitest'
import { entryLayout, EntryTable } from '../../src/wheel/entry-table.js'
import { Random } from './random.js'

const { ENTRY_BITS, HASH, KEY, KEY_WORDS, MARKED, KIND_AT, IN_SEGMENT } = entryLayout

describe('EntryTable', () => {
  it.each([0, 20_000])(
    'finds every entry by its hash and by its index, with room for %i reserved',
    (reserved) => {
      const random = new Random(5)
      const table = new EntryTable()
      if (reserved > 0) table.reserve(reserved)
      const hashes = new Map<number, number>()
      const free = Array.from({ length: 30_000 }, (_, index) => index)
      for (let step = 0; step < 100_000; step++) {
        const index = step < 20_000 || random.chance(0.5) ? (free.shift() ?? 0) : random.below(30_000)
        const hash = hashes.get(index)
        if (hash === undefined) {
          const fresh = random.below(2 ** 32) | 0
          put(table, fresh, index)
          hashes.set(index, fresh)
        } else {
          expect(found(table, hash)).toContain(index)
          table.removeAt(table.placeOf(index))
          expect(found(table, hash)).not.toContain(index)
          hashes.delete(index)
          free.push(index)
        }
      }
      expect(hashes.size).toBeGreaterThan(10_000)
      for (const [index, hash] of hashes) {
        expect(found(table, hash)).toContain(index)
        const place = table.placeOf(index)
        expect(table.isAt(place, index)).toBe(true)
        expect(wordsAt(table, place)).toEqual(Array.from({ length: KEY_WORDS }, (_, k) => hash ^ k))
      }
    },
  )

  it('needs no more memory while entries are added and removed', () => {
    const random = new Random(6)
    const table = new EntryTable()
    const count = 14_000
    for (let index = 0; index < count; index++) put(table, random.below(2 ** 32) | 0, index)
    const { length } = table.words
    for (let step = 0; step < 40 * count; step++) {
      const index = random.below(count)
      table.removeAt(table.placeOf(index))
      put(table, random.below(2 ** 32) | 0, index)
    }
    expect(table.words.length).toBe(length)
  })

  it('has no used places left after all entries were removed from the end of each run', () => {
    const table = new EntryTable()
    const hashes = [7, 7, 7, 8, IN_SEGMENT, IN_SEGMENT]
    for (const [index, hash] of hashes.entries()) put(table, hash, index)
    // Removing the last entry of a run frees removed ones before it, also across the end of the segment.
    for (const index of [0, 2, 1, 3, 4, 5]) table.removeAt(table.placeOf(index))
    for (let place = 0; place <= IN_SEGMENT; place++) expect(table.words[place << ENTRY_BITS]).toBe(0)
  })

  it('allocates reserved memory at once, and no more until that is used', () => {
    const table = new EntryTable()
    table.reserve(100_000)
    const { buffer } = table.words
    const random = new Random(7)
    for (let index = 0; index < 100_000; index++) put(table, random.below(2 ** 32) | 0, index)
    expect(table.words.buffer).toBe(buffer)
    for (let index = 100_000; index < 400_000; index++) put(table, random.below(2 ** 32) | 0, index)
    expect(table.words.byteLength).toBeGreaterThan(400_000 * 32)
    for (let index = 0; index < 400_000; index += 97)
      expect(table.isAt(table.placeOf(index), index)).toBe(true)
  })

  it('declines entries beyond its memory, and still finds the others', () => {
    const random = new Random(8)
    for (const reserved of [0, 1_000_000]) {
      const table = new EntryTable(7 * 1024 * 32)
      if (reserved > 0) table.reserve(reserved)
      const taken: number[] = []
      for (let index = 0; index < 10_000; index++)
        if (table.add(random.below(2 ** 32) | 0, 9, index) >= 0) taken.push(index)
      expect(taken.length).toBeGreaterThan(7 * 550)
      expect(table.words.length).toBe(7 * 1024 * 8)
      for (const index of taken) expect(table.isAt(table.placeOf(index), index)).toBe(true)
    }
  })

  it('declines an entry whose full segment cannot be split, and accepts others', () => {
    const table = new EntryTable()
    let index = 0
    while (table.add(0x1234_5678, 3, index) >= 0) index++
    expect(index).toBeGreaterThan(500)
    expect(index).toBeLessThan(IN_SEGMENT)
    expect(table.add(0x0234_5678, 3, index)).toBeGreaterThanOrEqual(0)
    for (let k = 0; k < index; k++) table.removeAt(table.placeOf(k))
    expect(table.add(0x1234_5678, 3, 0)).toBeGreaterThanOrEqual(0)
  })
})

function put(table: EntryTable, hash: number, index: number): void {
  const at = table.add(hash, 9, index) << ENTRY_BITS
  if (at < 0) throw new Error(`no room for ${index}`)
  for (let k = 0; k < KEY_WORDS; k++) table.words[at + KEY + k] = hash ^ k
}

function wordsAt(table: EntryTable, place: number): number[] {
  const at = (place << ENTRY_BITS) + KEY
  return [...table.words.subarray(at, at + KEY_WORDS)]
}

/** The indices of a hash, in the order of a search for it. */
function found(table: EntryTable, hash: number): number[] {
  const indices: number[] = []
  const start = table.startOf(hash)
  for (let k = 0; k <= IN_SEGMENT; k++) {
    const at = (start | ((hash + k) & IN_SEGMENT)) << ENTRY_BITS
    const mark = table.words[at]!
    if (mark === 0) return indices
    if (table.words[at | HASH] === hash && mark >>> KIND_AT === 9) indices.push((mark & MARKED) - 1)
  }
  throw new Error('a search must come to an end')
}
