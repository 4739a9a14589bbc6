import { comparePlaces, isBefore, type Place } from '../../timer/index.js'

const BLOCK = 512

/**
 * Rows in the order of their places: an array of sorted blocks. A block is split when it grows too large and dropped
 * when it is empty, so that adding and removing stay cheap among millions of rows.
 */
export class OrderedRows<Row extends Place> {
  readonly #blocks: Row[][] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  add(row: Row): void {
    this.#size++
    if (this.#blocks.length === 0) {
      this.#blocks.push([row])
      return
    }
    const index = Math.max(0, this.#blockAfter(row) - 1)
    const block = this.#blocks[index]!
    block.splice(firstNotBefore(block, row), 0, row)
    if (block.length > BLOCK) this.#blocks.splice(index + 1, 0, block.splice(block.length >>> 1))
  }

  /** Removes the row at this place; false when there is none. */
  remove(place: Place): boolean {
    const index = this.#blockAfter(place) - 1
    const block = this.#blocks[index]
    if (block === undefined) return false
    const at = firstNotBefore(block, place)
    const row = block[at]
    if (row === undefined || comparePlaces(row, place) !== 0) return false
    block.splice(at, 1)
    if (block.length === 0) this.#blocks.splice(index, 1)
    this.#size--
    return true
  }

  /** Removes every row before `level` and returns them. */
  removeBefore(level: Place): Row[] {
    const removed: Row[] = []
    while (this.#blocks.length > 0 && isBefore(this.#blocks[0]![0]!, level)) {
      const block = this.#blocks[0]!
      const count = firstNotBefore(block, level)
      if (count === block.length) this.#blocks.shift()
      removed.push(...block.splice(0, count))
    }
    this.#size -= removed.length
    return removed
  }

  /** The rows from `level` on, in order. Rows must not be added or removed during the iteration. */
  *from(level: Place): Generator<Row, void, undefined> {
    let index = Math.max(0, this.#blockAfter(level) - 1)
    let at = index < this.#blocks.length ? firstNotBefore(this.#blocks[index]!, level) : 0
    for (; index < this.#blocks.length; index++, at = 0) {
      const block = this.#blocks[index]!
      for (; at < block.length; at++) yield block[at]!
    }
  }

  /** The index of the first block that begins after `place`. */
  #blockAfter(place: Place): number {
    let low = 0
    let high = this.#blocks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (comparePlaces(this.#blocks[middle]![0]!, place) > 0) high = middle
      else low = middle + 1
    }
    return low
  }
}

function firstNotBefore(block: readonly Place[], place: Place): number {
  let low = 0
  let high = block.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(block[middle]!, place)) low = middle + 1
    else high = middle
  }
  return low
}
