/** The tables of the file. */
export type TableName = 'chunks' | 'meta' | 'inbox' | 'dead' | 'history' | 'settings'

export interface Change {
  readonly table: TableName
  readonly key: Buffer
  /** Undefined removes the key. */
  readonly value: Buffer | undefined
}

/**
 * What several calls change together: one LMDB transaction, so each of them is wholly there or wholly absent.
 * Memory is changed as calls are applied and goes back by `undo` if the commit fails.
 */
export class Batch {
  readonly changes: Change[] = []
  bytes = 0
  readonly #undo: (() => void)[] = []
  readonly #seal: (() => void)[] = []
  readonly #committed: (() => void)[] = []
  readonly #touched = new Set<object>()

  get isEmpty(): boolean {
    return this.changes.length === 0
  }

  put(table: TableName, key: Buffer, value: Buffer): void {
    this.bytes += key.length + value.length
    this.changes.push({ table, key, value })
  }

  remove(table: TableName, key: Buffer): void {
    this.bytes += key.length
    this.changes.push({ table, key, value: undefined })
  }

  /** True the first time in this batch. */
  touch(thing: object): boolean {
    if (this.#touched.has(thing)) return false
    this.#touched.add(thing)
    return true
  }

  /** Runs before the commit, when no more calls join. */
  onSeal(seal: () => void): void {
    this.#seal.push(seal)
  }

  /** Runs when the commit is durable. */
  onCommitted(committed: () => void): void {
    this.#committed.push(committed)
  }

  /** Takes a change of memory back if the commit fails; the last first. */
  onUndo(undo: () => void): void {
    this.#undo.push(undo)
  }

  seal(): void {
    for (const seal of this.#seal) seal()
  }

  committed(): void {
    for (const committed of this.#committed) committed()
  }

  undo(): void {
    for (const undo of this.#undo.toReversed()) undo()
  }
}
