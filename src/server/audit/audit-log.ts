import { randomBytes } from 'node:crypto'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { auditLimits } from '../defaults.js'
import type { AuditDetail, AuditEntry, AuditQuery } from './audit-entry.js'
import { type StoredEntry, surplusOf } from './surplus.js'

const PREFIX = 'audit/'
const { maxTextLength, pruneEvery } = auditLimits

/**
 * What operators changed: who, what, when and from where. The entries are settings of the store, so that all instances
 * share them and a backup contains them. Their number, age and bytes are limited. Entries of one namespace cannot push
 * out those of another.
 *
 * Proven by test/server/audit.test.ts.
 */
export class AuditLog {
  readonly #store: Store
  readonly #clock: Clock
  #counter = 0
  #sincePruned: number = pruneEvery

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async record(entry: Omit<AuditEntry, 'id' | 'at'>): Promise<void> {
    const at = Math.floor(this.#clock.now())
    const id = `${String(at).padStart(15, '0')}-${String(this.#counter++ % 1e6).padStart(6, '0')}-${randomBytes(4).toString('hex')}`
    await this.#store.putSetting(PREFIX + id, JSON.stringify(shortened({ id, at, ...entry })))
    if (++this.#sincePruned < pruneEvery) return
    this.#sincePruned = 0
    await this.#prune()
  }

  /** Entries that match, newest first. */
  async list(query: AuditQuery): Promise<{ items: readonly AuditEntry[]; cursor?: string }> {
    const { namespace, action, keyId, from = 0, until = Infinity, limit, before } = query
    const matching = (await this.#read())
      .map(({ entry }) => entry)
      .filter(
        (entry) =>
          (namespace === undefined || entry.namespace === namespace) &&
          (action === undefined || entry.action === action) &&
          (keyId === undefined || entry.key.id === keyId) &&
          entry.at >= from &&
          entry.at < until &&
          (before === undefined || entry.id < before),
      )
      .toReversed()
    const items = matching.slice(0, limit)
    return { items, ...(matching.length > limit && { cursor: items.at(-1)!.id }) }
  }

  async #prune(): Promise<void> {
    const surplus = surplusOf(await this.#read(), this.#clock.now())
    for (const { entry } of surplus) await this.#store.putSetting(PREFIX + entry.id, undefined)
  }

  /** All entries, oldest first. */
  async #read(): Promise<StoredEntry[]> {
    const settings = await this.#store.settings(PREFIX)
    return settings
      .map(({ name, value }) => ({
        entry: JSON.parse(value) as AuditEntry,
        bytes: name.length + Buffer.byteLength(value),
      }))
      .toSorted((a, b) => (a.entry.id < b.entry.id ? -1 : 1))
  }
}

/** The entry with its texts cut, so that no caller can make it large. */
function shortened(entry: AuditEntry): AuditEntry {
  const { subject, details, forwardedFor } = entry
  return {
    ...entry,
    ...(subject !== undefined && { subject: cut(subject) }),
    ...(forwardedFor !== undefined && { forwardedFor: cut(forwardedFor) }),
    ...(details !== undefined && {
      details: Object.fromEntries(Object.entries(details).map(([name, value]) => [name, cutDetail(value)])),
    }),
  }
}

function cutDetail(value: AuditDetail): AuditDetail {
  return typeof value === 'string' ? cut(value) : value
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`
}
