import type { Place } from '../../timer/index.js'

const BLOCK_ROWS = 1024
// An entry is three numbers, side by side: position, revision, slot.
const WIDTH = 3
const POSITION = 0
const REVISION = 1
const SLOT = 2
const FIRST_ROWS = 16
// Two numbers that are at most this far apart can be sorted together with an index of 10 bits, in one double.
const SORTABLE_SPREAD = 2 ** 43
// Removed rows are cleared away once they are more than the others and more than this.
const FEW_STALE = 4096
// A full block is searched for stale entries if more than one entry in so many is stale.
const MANY_STALE = 8
// How many rows are removed for each block that is cleared.
const REMOVALS_PER_BLOCK = 128

/** Tells which version of a row a slot has now. A slot that is free has revision 0. */
export interface SlotRevisions {
  revision(slot: number): number
}

/**
 * The slots of rows in the order of their places, in blocks. A new row is appended to its block, and a block is sorted
 * when somebody reads it. A row that is removed stays in its block: its slot then has another revision. A full block is
 * split, and stale entries are dropped then, or block by block once they are too many.
 *
 * `add` expects revisions that rise.
 */
export class RowOrder {
  readonly #revisions: SlotRevisions
  #blocks: Block[] = []
  // The place at which each block begins.
  #positions: number[] = []
  #firstRevisions: number[] = []
  #entries = 0
  #stale = 0
  #removals = 0
  #cleared = 0

  constructor(revisions: SlotRevisions) {
    this.#revisions = revisions
  }

  add(slot: number, position: number, revision: number): void {
    if (this.#blocks.length === 0) this.#insert(0, new Block(FIRST_ROWS), -Infinity, 0)
    const index = this.#blockBefore(position, Infinity)
    const block = this.#blocks[index]!
    block.append(slot, position, revision)
    this.#entries++
    if (block.size === BLOCK_ROWS) this.#split(index)
  }

  /** Is called for every row that was removed. */
  removed(): void {
    this.#stale++
    if (this.#stale < FEW_STALE || this.#stale * 2 < this.#entries) return
    if (++this.#removals < REMOVALS_PER_BLOCK) return
    this.#removals = 0
    if (this.#cleared >= this.#blocks.length) this.#cleared = 0
    const block = this.#blocks[this.#cleared]!
    this.#clear(block)
    if (block.size === 0 && this.#cleared > 0) this.#drop(this.#cleared, 1)
    else this.#cleared++
  }

  /** The slots of the rows from `level` on, in order. Rows must not be added or removed during the iteration. */
  *from({ position, revision }: Place): Generator<number, void, undefined> {
    for (let index = this.#blockBefore(position, revision); index < this.#blocks.length; index++) {
      const block = this.#blocks[index]!
      block.sort()
      for (let at = block.firstFrom(position, revision); at < block.size; at++) {
        if (block.isCurrent(at, this.#revisions)) yield block.slot(at)
      }
    }
  }

  /** Drops all entries before `level`. Calls `remove` for each row, which must not call `removed`. */
  removeBefore({ position, revision }: Place, remove: (slot: number) => void): void {
    const last = this.#blockBefore(position, revision)
    for (let index = 0; index <= last && index < this.#blocks.length; index++) {
      const block = this.#blocks[index]!
      if (index === last) block.sort()
      const end = index < last ? block.size : block.firstFrom(position, revision)
      for (let at = 0; at < end; at++) {
        if (block.isCurrent(at, this.#revisions)) remove(block.slot(at))
        else this.#stale--
      }
      this.#entries -= end
      block.dropFirst(end)
    }
    if (last > 0) this.#drop(0, last)
    if (this.#blocks.length > 0) {
      this.#positions[0] = -Infinity
      this.#firstRevisions[0] = 0
    }
  }

  clear(): void {
    this.#drop(0, this.#blocks.length)
    this.#entries = this.#stale = this.#cleared = 0
  }

  /** The last block that begins at or before a place; 0 if there is none. */
  #blockBefore(position: number, revision: number): number {
    const positions = this.#positions
    let low = 1
    let high = positions.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const start = positions[middle]!
      const isAfter = start === position ? this.#firstRevisions[middle]! > revision : start > position
      if (isAfter) high = middle
      else low = middle + 1
    }
    return low - 1
  }

  /** Makes room in a full block: drops its stale entries, or moves a part of it to a new block. */
  #split(index: number): void {
    const block = this.#blocks[index]!
    // Rows that come in order fill one block after the other.
    const isAppended = block.isSorted && index === this.#blocks.length - 1
    // To look for stale entries costs a look at each row, so only if there may be many.
    if (this.#stale * MANY_STALE > this.#entries) this.#clear(block)
    if (block.size <= BLOCK_ROWS / 2) return
    block.sort()
    const tail = block.splitAt(isAppended ? block.size - 1 : block.size >>> 1)
    this.#insert(index + 1, tail, tail.position(0), tail.revision(0))
  }

  /** Drops the stale entries of a block. */
  #clear(block: Block): void {
    const before = block.size
    block.keep(this.#revisions)
    this.#entries -= before - block.size
    this.#stale -= before - block.size
  }

  #insert(index: number, block: Block, position: number, revision: number): void {
    this.#blocks.splice(index, 0, block)
    this.#positions.splice(index, 0, position)
    this.#firstRevisions.splice(index, 0, revision)
  }

  #drop(from: number, count: number): void {
    this.#blocks.splice(from, count)
    this.#positions.splice(from, count)
    this.#firstRevisions.splice(from, count)
  }
}

class Block {
  size = 0
  isSorted = true
  #entries: Float64Array

  constructor(rows: number) {
    this.#entries = new Float64Array(rows * WIDTH)
  }

  position(at: number): number {
    return this.#entries[at * WIDTH + POSITION]!
  }

  revision(at: number): number {
    return this.#entries[at * WIDTH + REVISION]!
  }

  slot(at: number): number {
    return this.#entries[at * WIDTH + SLOT]!
  }

  /** Whether the slot of an entry still has the revision of the entry. */
  isCurrent(at: number, revisions: SlotRevisions): boolean {
    return revisions.revision(this.slot(at)) === this.revision(at)
  }

  append(slot: number, position: number, revision: number): void {
    const at = this.size * WIDTH
    if (at === this.#entries.length) this.#resize(2 * this.size)
    const entries = this.#entries
    if (at > 0 && position < entries[at - WIDTH + POSITION]!) this.isSorted = false
    entries[at + POSITION] = position
    entries[at + REVISION] = revision
    entries[at + SLOT] = slot
    this.size++
  }

  /** Sorts by position. Entries of one position are in the order of their revisions already. */
  sort(): void {
    if (this.isSorted) return
    this.isSorted = true
    const { size } = this
    const order = sortedOrder(this, size)
    const before = this.#entries
    const entries = (this.#entries = new Float64Array(before.length))
    for (let at = 0; at < size; at++) {
      const from = order[at]! * WIDTH
      entries[at * WIDTH + POSITION] = before[from + POSITION]!
      entries[at * WIDTH + REVISION] = before[from + REVISION]!
      entries[at * WIDTH + SLOT] = before[from + SLOT]!
    }
  }

  /** The first entry at or after a place, in a sorted block. */
  firstFrom(position: number, revision: number): number {
    let low = 0
    let high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      const at = this.position(middle)
      const isBefore = at === position ? this.revision(middle) < revision : at < position
      if (isBefore) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Keeps only the entries that are current. */
  keep(revisions: SlotRevisions): void {
    const entries = this.#entries
    let kept = 0
    for (let at = 0; at < this.size; at++) {
      if (!this.isCurrent(at, revisions)) continue
      entries.copyWithin(kept * WIDTH, at * WIDTH, (at + 1) * WIDTH)
      kept++
    }
    this.size = kept
    const rows = entries.length / WIDTH
    if (rows > FIRST_ROWS && kept < rows / 4) this.#resize(Math.max(FIRST_ROWS, kept * 2))
  }

  dropFirst(count: number): void {
    if (count === 0) return
    this.#entries.copyWithin(0, count * WIDTH, this.size * WIDTH)
    this.size -= count
  }

  /** Moves the entries from `at` on to a new block. */
  splitAt(at: number): Block {
    const tail = new Block(BLOCK_ROWS)
    tail.#entries.set(this.#entries.subarray(at * WIDTH, this.size * WIDTH))
    tail.size = this.size - at
    this.size = at
    return tail
  }

  #resize(rows: number): void {
    const before = this.#entries
    this.#entries = new Float64Array(rows * WIDTH)
    this.#entries.set(before.subarray(0, this.size * WIDTH))
  }
}

const scratch = new Float64Array(BLOCK_ROWS)

/** The indexes of a block's entries by position; those of one position stay in order. Valid until the next call. */
function sortedOrder(block: Block, size: number): ArrayLike<number> {
  let least = Infinity
  let most = -Infinity
  for (let at = 0; at < size; at++) {
    least = Math.min(least, block.position(at))
    most = Math.max(most, block.position(at))
  }
  if (most - least >= SORTABLE_SPREAD) {
    return Array.from({ length: size }, (_, at) => at).sort((a, b) => block.position(a) - block.position(b))
  }
  // Numbers sort several times faster than entries with a comparison.
  const keys = scratch.subarray(0, size)
  for (let at = 0; at < size; at++) keys[at] = (block.position(at) - least) * BLOCK_ROWS + at
  keys.sort()
  for (let at = 0; at < size; at++) keys[at] = keys[at]! % BLOCK_ROWS
  return keys
}
