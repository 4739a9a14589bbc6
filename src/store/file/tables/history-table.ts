import { anyInteger, cursorOf, integerUpTo, parseCursor } from '../../cursor.js'
import { matchesName } from '../../filter.js'
import type { HistoryEntry, HistoryQuery, Listed } from '../../store.js'
import type { Batch } from '../lmdb/batch.js'
import type { Environment } from '../lmdb/environment.js'
import type { TimeBudget } from '../read/time-budget.js'

const KEY_BYTES = 22
const COUNTER = 'history'

interface HistoryKey {
  readonly id: number
  readonly earliest: number
  readonly latest: number
  readonly count: number
}

/**
 * History in the order in which it was written. All entries of one write share one value. Its key has their earliest
 * and latest times, so a query skips values, and pruning removes them, without reading them.
 */
export class HistoryTable {
  readonly #environment: Environment
  #lastId = 0

  constructor(environment: Environment) {
    this.#environment = environment
  }

  restore(): void {
    this.#lastId = Number(this.#environment.getMeta(COUNTER) ?? 0)
  }

  add(batch: Batch, entries: readonly HistoryEntry[]): void {
    if (entries.length === 0) return
    const id = ++this.#lastId
    put(
      batch,
      id,
      entries.map((entry, ordinal) => ({ ordinal, entry })),
    )
    batch.put('meta', Buffer.from(COUNTER), Buffer.from(String(id)))
    batch.onUndo(() => (this.#lastId = id - 1))
  }

  list(query: HistoryQuery, budget: TimeBudget): Listed<HistoryEntry> {
    const { fromInclusive = 0, untilExclusive = Infinity } = query
    const [first = 0, skipped = 0] =
      parseCursor<[number, number]>('history', query.cursor, integerUpTo(this.#lastId), anyInteger) ?? []
    const items: HistoryEntry[] = []
    const { history } = this.#environment.tables
    for (const bytes of history.getKeys({ start: keyPrefixOf(first) })) {
      const key = parseKey(bytes)
      if (key.latest < fromInclusive || key.earliest >= untilExclusive) continue
      const from = key.id === first ? skipped : 0
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

  /** Removes the entries before an instant and returns their number. */
  prune(batch: Batch, beforeExclusive: number): number {
    let pruned = 0
    const { history } = this.#environment.tables
    for (const bytes of history.getKeys()) {
      const key = parseKey(bytes)
      if (key.earliest >= beforeExclusive) continue
      const left =
        key.latest < beforeExclusive
          ? []
          : entriesOf(history.get(bytes)).filter(({ entry }) => entry.at >= beforeExclusive)
      pruned += key.count - left.length
      batch.remove('history', Buffer.from(bytes))
      if (left.length > 0) put(batch, key.id, left)
    }
    return pruned
  }
}

function put(batch: Batch, id: number, entries: readonly NumberedEntry[]): void {
  let earliest = Infinity
  let latest = 0
  for (const { entry } of entries) {
    earliest = Math.min(earliest, entry.at)
    latest = Math.max(latest, entry.at)
  }
  const key = Buffer.alloc(KEY_BYTES)
  key.writeUIntBE(id, 0, 6)
  key.writeUIntBE(clamped(earliest), 6, 6)
  key.writeUIntBE(clamped(Math.ceil(latest)), 12, 6)
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

/** The key has 48 bits for a time. A time outside becomes the nearest one, and then the key excludes fewer queries. */
function clamped(at: number): number {
  return Math.min(Math.max(0, Math.floor(at)), 2 ** 48 - 1)
}

function parseKey(bytes: Buffer): HistoryKey {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const latest = key.readUIntBE(12, 6)
  return {
    id: key.readUIntBE(0, 6),
    earliest: key.readUIntBE(6, 6),
    latest: latest === 2 ** 48 - 1 ? Infinity : latest,
    count: key.readUInt32BE(18),
  }
}

function keyPrefixOf(id: number): Buffer {
  const key = Buffer.alloc(6)
  key.writeUIntBE(id, 0, 6)
  return key
}

type EntryRecord = [number, string, string, string, number, number, string, string]

/** An entry and its number in its write. Cursors use the number, so it stays when other entries are pruned. */
interface NumberedEntry {
  readonly ordinal: number
  readonly entry: HistoryEntry
}

function entriesOf(value: Buffer | undefined): NumberedEntry[] {
  if (value === undefined) return []
  return (JSON.parse(value.toString()) as EntryRecord[]).map(
    ([ordinal, namespace, kind, key, identity, at, event, details]) => ({
      ordinal,
      entry: { namespace, kind, key, identity, at, event, details },
    }),
  )
}
