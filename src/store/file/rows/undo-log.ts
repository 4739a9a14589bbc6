import type { ChunkTable } from './chunk-table.js'
import type { KeyIndex } from '../../names/key-index.js'

/** The changes that a batch made to the key index and the rows that it killed, so that they can be undone. */
export class UndoLog {
  #entries = new Int32Array(6 * 256)
  #entryCount = 0
  #kills: number[] = []

  /** Logs that an entry's location changed. A mark is ref + 1, or 0 for no entry. */
  entry(
    low: number,
    high: number,
    mark: number,
    ordinal: number,
    markBefore: number,
    ordinalBefore: number,
  ): void {
    const at = this.#entryCount
    if (at === this.#entries.length) {
      const longer = new Int32Array(2 * at)
      longer.set(this.#entries)
      this.#entries = longer
    }
    const entries = this.#entries
    entries[at] = low
    entries[at + 1] = high
    entries[at + 2] = mark
    entries[at + 3] = ordinal
    entries[at + 4] = markBefore
    entries[at + 5] = ordinalBefore
    this.#entryCount = at + 6
  }

  kill(ref: number, ordinal: number): void {
    this.#kills.push(ref, ordinal)
  }

  undo(index: KeyIndex, chunks: ChunkTable): void {
    const entries = this.#entries
    for (let at = this.#entryCount - 6; at >= 0; at -= 6) {
      const low = entries[at]!
      const high = entries[at + 1]!
      const mark = entries[at + 2]!
      const markBefore = entries[at + 4]!
      const ordinalBefore = entries[at + 5]!
      if (mark === 0) index.insert(low, high, markBefore - 1, ordinalBefore)
      else if (index.firstOf(low, high, mark - 1, entries[at + 3]!)) {
        if (markBefore === 0) index.remove()
        else index.replace(markBefore - 1, ordinalBefore)
      }
    }
    for (let at = this.#kills.length - 2; at >= 0; at -= 2) {
      // A row of this very batch has gone with its chunk.
      if (chunks.has(this.#kills[at]!)) chunks.revive(this.#kills[at]!, this.#kills[at + 1]!)
    }
  }
}
