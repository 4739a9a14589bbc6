/** The tables of the file. */
export type TableName = 'chunks' | 'meta' | 'inbox' | 'dead' | 'history' | 'settings'

export interface Change {
  readonly table: TableName
  readonly key: Buffer
  /** Undefined removes the key. */
  readonly value: Buffer | undefined
}

/**
 * The changes of several calls that share one LMDB transaction, so that each call is there whole or not at all.
 * Memory changes as soon as a call is applied. `undo` reverts it if the commit fails.
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

  /** Returns true the first time that this batch sees the thing. */
  touch(thing: object): boolean {
    if (this.#touched.has(thing)) return false
    this.#touched.add(thing)
    return true
  }

  /** Registers a callback for the moment before the commit, when no more calls join. */
  onSeal(seal: () => void): void {
    this.#seal.push(seal)
  }

  /** Registers a callback for the moment when the commit is durable. */
  onCommitted(committed: () => void): void {
    this.#committed.push(committed)
  }

  /** Registers a callback that reverts a change of memory if the commit fails. The last one runs first. */
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
