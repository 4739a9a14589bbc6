import type { TimerRow } from '../../../timer/index.js'
import { cursorOf, integerUpTo, parseCursor } from '../../cursor.js'
import { matchesName } from '../../filter.js'
import type { DeadLetter, DeadQuery, Listed, NewDeadLetter } from '../../store.js'
import type { Batch } from '../lmdb/batch.js'
import type { Environment } from '../lmdb/environment.js'
import type { TimeBudget } from '../read/time-budget.js'

/** Dead letters, numbered in the order in which they died. Their numbers are in memory too. */
export class DeadLetterTable {
  readonly #environment: Environment
  readonly #ids = new Set<number>()
  #lastId = 0

  constructor(environment: Environment) {
    this.#environment = environment
  }

  get count(): number {
    return this.#ids.size
  }

  restore(): void {
    this.#lastId = Number(this.#environment.getMeta('dead') ?? 0)
    for (const key of this.#environment.tables.dead.getKeys()) this.#ids.add(numberOf(key))
  }

  add(batch: Batch, letter: NewDeadLetter): void {
    const id = ++this.#lastId
    this.#ids.add(id)
    const { payload, ...row } = letter.row
    const record = { ...letter, row, payload: Buffer.from(payload).toString('base64') }
    batch.put('dead', keyOf(id), Buffer.from(JSON.stringify(record)))
    batch.put('meta', Buffer.from('dead'), Buffer.from(String(id)))
    batch.onUndo(() => {
      this.#ids.delete(id)
      this.#lastId = id - 1
    })
  }

  /** Removes a letter if it is there, and of this namespace if one is given. */
  remove(batch: Batch, id: string, namespace?: string): boolean {
    const number = Number(id)
    if (String(number) !== id || !this.#ids.has(number)) return false
    if (namespace !== undefined && this.#namespaceOf(number) !== namespace) return false
    this.#ids.delete(number)
    batch.remove('dead', keyOf(number))
    batch.onUndo(() => this.#ids.add(number))
    return true
  }

  /** The namespace of a letter; undefined if the letter is not on the disk yet. */
  #namespaceOf(id: number): string | undefined {
    const value = this.#environment.tables.dead.get(keyOf(id))
    return value && (JSON.parse(value.toString()) as NewDeadLetter).row.namespace
  }

  list(query: DeadQuery, budget: TimeBudget): Listed<DeadLetter> {
    const [after = 0] = parseCursor<[number]>('dead', query.cursor, integerUpTo(this.#lastId)) ?? []
    const items: DeadLetter[] = []
    let last = after
    for (const { key, value } of this.#environment.tables.dead.getRange({ start: keyOf(last + 1) })) {
      if (items.length === query.limit || budget.isOver()) return { items, cursor: cursorOf('dead', [last]) }
      last = numberOf(key)
      const { payload, ...letter } = JSON.parse(value.toString()) as NewDeadLetter & { payload: string }
      const row: TimerRow = { ...letter.row, payload: new Uint8Array(Buffer.from(payload, 'base64')) }
      if (matchesName(row, query))
        items.push({ row, diedAt: letter.diedAt, reason: letter.reason, id: String(last) })
    }
    return { items, cursor: undefined }
  }
}

function keyOf(id: number): Buffer {
  const key = Buffer.alloc(6)
  key.writeUIntBE(id, 0, 6)
  return key
}

function numberOf(key: Buffer): number {
  return Buffer.from(key.buffer, key.byteOffset, key.length).readUIntBE(0, 6)
}
