import { auditLimits } from '../defaults.js'
import type { AuditEntry } from './audit-entry.js'

const { maxEntries, maxEntriesOfNamespace, maxBytes, maxAgeMs } = auditLimits

/** An entry, and what it takes in the store. */
export interface StoredEntry {
  readonly entry: AuditEntry
  readonly bytes: number
}

/** The entries of one namespace, or of none. */
class Group {
  readonly entries: StoredEntry[] = []
  bytes = 0
}

/** The entries to remove from `entries`, which are sorted by age, so that the rest is within the limits. */
export function surplusOf(entries: readonly StoredEntry[], now: number): readonly StoredEntry[] {
  const selection = new Selection()
  for (const stored of entries) selection.add(stored, now - maxAgeMs)
  selection.applyLimits()
  return selection.removed
}

class Selection {
  readonly removed: StoredEntry[] = []
  readonly #groups = new Map<string, Group>()
  #count = 0
  #bytes = 0

  add(stored: StoredEntry, oldest: number): void {
    if (stored.entry.at < oldest) {
      this.removed.push(stored)
      return
    }
    const name = stored.entry.namespace ?? ''
    const group = this.#groups.get(name) ?? new Group()
    this.#groups.set(name, group)
    group.entries.push(stored)
    group.bytes += stored.bytes
    this.#count++
    this.#bytes += stored.bytes
  }

  /** The namespace with the most bytes loses its oldest entries first. */
  applyLimits(): void {
    for (const group of this.#groups.values())
      while (group.entries.length > maxEntriesOfNamespace) this.#removeOldest(group)
    while (this.#count > maxEntries || this.#bytes > maxBytes) this.#removeOldest(this.#largest())
  }

  #largest(): Group {
    return [...this.#groups.values()].reduce((most, group) => (group.bytes > most.bytes ? group : most))
  }

  #removeOldest(group: Group): void {
    const oldest = group.entries.shift()!
    group.bytes -= oldest.bytes
    this.#count--
    this.#bytes -= oldest.bytes
    this.removed.push(oldest)
  }
}
