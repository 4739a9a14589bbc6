import { cursorOf, parseCursor } from '../cursor.js'
import { matchesName } from '../filter.js'
import type { HistoryEntry, HistoryQuery, Listed } from '../store.js'
import type { Batch } from './batch.js'
import type { Environment } from './environment.js'
import type { TimeBudget } from './time-budget.js'

const KEY_BYTES = 22
const COUNTER = 'history'

interface HistoryKey {
  readonly id: number
  readonly least: number
  readonly most: number
  readonly count: number
}

/**
 * History in the order in which it was written: the entries of one write in one value, under a key that tells
 * their time, so that old ones go and others are passed over without being read.
 */
export class HistoryTable {
  readonly #environment: Environment
  #last = 0

  constructor(environment: Environment) {
    this.#environment = environment
  }

  restore(): void {
    this.#last = Number(this.#environment.getMeta(COUNTER) ?? 0)
  }

  add(batch: Batch, entries: readonly HistoryEntry[]): void {
    if (entries.length === 0) return
    const id = ++this.#last
    put(
      batch,
      id,
      entries.map((entry, ordinal) => ({ ordinal, entry })),
    )
    batch.put('meta', Buffer.from(COUNTER), Buffer.from(String(id)))
    batch.onUndo(() => (this.#last = id - 1))
  }

  list(query: HistoryQuery, budget: TimeBudget): Listed<HistoryEntry> {
    const { fromInclusive = 0, untilExclusive = Infinity } = query
    const [first = 0, skipped = 0] = query.cursor === undefined ? [] : parseCursor('history', query.cursor)
    const items: HistoryEntry[] = []
    const { history } = this.#environment.tables
    for (const bytes of history.getKeys({ start: startOf(Number(first)) })) {
      const key = parsed(bytes)
      if (key.most < fromInclusive || key.least >= untilExclusive) continue
      const from = key.id === Number(first) ? Number(skipped) : 0
      for (const { ordinal, entry } of entriesOf(history.get(bytes))) {
        if (ordinal < from) continue
        const isAsked = entry.at >= fromInclusive && entry.at < untilExclusive && matchesName(entry, query)
        if (budget.isOver() || (isAsked && items.length === query.limit))
          return { items, cursor: cursorOf('history', [key.id, ordinal]) }
        if (isAsked) items.push(entry)
      }
    }
    return { items, cursor: undefined }
  }

  /** Drops entries before an instant. Answers how many. */
  prune(batch: Batch, beforeExclusive: number): number {
    let pruned = 0
    const { history } = this.#environment.tables
    for (const bytes of history.getKeys()) {
      const key = parsed(bytes)
      if (key.least >= beforeExclusive) continue
      const left =
        key.most < beforeExclusive
          ? []
          : entriesOf(history.get(bytes)).filter(({ entry }) => entry.at >= beforeExclusive)
      pruned += key.count - left.length
      batch.remove('history', Buffer.from(bytes))
      if (left.length > 0) put(batch, key.id, left)
    }
    return pruned
  }
}

function put(batch: Batch, id: number, entries: readonly Numbered[]): void {
  let least = Infinity
  let most = 0
  for (const { entry } of entries) {
    least = Math.min(least, entry.at)
    most = Math.max(most, entry.at)
  }
  const key = Buffer.alloc(KEY_BYTES)
  key.writeUIntBE(id, 0, 6)
  key.writeUIntBE(clamped(least), 6, 6)
  key.writeUIntBE(clamped(Math.ceil(most)), 12, 6)
  key.writeUInt32BE(entries.length, 18)
  const rows = entries.map(({ ordinal, entry }): EntryRecord => [
    ordinal,
    entry.namespace,
    entry.kind,
    entry.key,
    entry.identity,
    entry.at,
    entry.event,
    entry.details,
  ])
  batch.put('history', key, Buffer.from(JSON.stringify(rows)))
}

/** Times beyond what a key can hold are kept as the nearest that it can, which only makes it less telling. */
function clamped(at: number): number {
  return Math.min(Math.max(0, Math.floor(at)), 2 ** 48 - 1)
}

function parsed(bytes: Buffer): HistoryKey {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const most = key.readUIntBE(12, 6)
  return {
    id: key.readUIntBE(0, 6),
    least: key.readUIntBE(6, 6),
    most: most === 2 ** 48 - 1 ? Infinity : most,
    count: key.readUInt32BE(18),
  }
}

function startOf(id: number): Buffer {
  const key = Buffer.alloc(6)
  key.writeUIntBE(id, 0, 6)
  return key
}

type EntryRecord = [number, string, string, string, number, number, string, string]

/** An entry, and which it was of those written together: cursors name it, also when others are gone. */
interface Numbered {
  readonly ordinal: number
  readonly entry: HistoryEntry
}

function entriesOf(value: Buffer | undefined): Numbered[] {
  if (value === undefined) return []
  return (JSON.parse(value.toString()) as EntryRecord[]).map(
    ([ordinal, namespace, kind, key, identity, at, event, details]) => ({
      ordinal,
      entry: { namespace, kind, key, identity, at, event, details },
    }),
  )
}
