import { checkOptions } from '../error/index.js'
import type { DeadLetter, Store } from '../store/index.js'
import { checkKey, type TimerName } from '../timer/index.js'
import type { AnyKind } from './kind.js'
import type { Kinds } from './kinds.js'
import type { Records, TimerQuery } from './records.js'

/** Timers by their keys, or all that a query finds. */
export type Many = { readonly kind: AnyKind; readonly keys: readonly string[] } | TimerQuery

/** Dead letters by their ids, or all that a query finds; `{}` for all there are. */
export type WhichDead = readonly string[] | { readonly kind?: AnyKind; readonly key?: string }

/** A timer by name, or one life of it. */
export type Named = TimerName & { readonly identity?: number }

const BATCH = 1000

/** Finds what a call on many means. */
export class Selection {
  readonly #store: Store
  readonly #records: Records
  readonly #kinds: Kinds
  readonly #namespace: string

  constructor(parts: { store: Store; records: Records; kinds: Kinds; namespace: string }) {
    this.#store = parts.store
    this.#records = parts.records
    this.#kinds = parts.kinds
    this.#namespace = parts.namespace
  }

  /** The timers that are meant. Those that a query finds are named by identity: no later one is hit. */
  async timers(many: Many): Promise<readonly Named[]> {
    if ('keys' in many) {
      checkOptions('a call on many', many, ['kind', 'keys'])
      const kind = await this.#kinds.nameOf(many.kind)
      for (const key of many.keys) checkKey(key)
      return many.keys.map((key) => ({ namespace: this.#namespace, kind, key }))
    }
    checkOptions('a call on many', many, ['kind', 'keyPrefix', 'tag', 'dueFrom', 'dueUntil'])
    // All of them first: a moved timer would otherwise be found again farther on.
    const found: Named[] = []
    let cursor: string | undefined
    do {
      const page = await this.#records.rows({ ...many, limit: BATCH, cursor })
      for (const { namespace, kind, key, identity } of page.items)
        found.push({ namespace, kind, key, identity })
      cursor = page.cursor
    } while (cursor !== undefined)
    return found
  }

  /** The dead letters that are meant, in batches. */
  async *dead(which: WhichDead): AsyncGenerator<readonly DeadLetter[]> {
    const ids = isList(which) ? new Set(which) : undefined
    const query = isList(which) ? {} : which
    checkOptions('redrive', query, ['kind', 'key'])
    const kind = query.kind === undefined ? undefined : await this.#kinds.nameOf(query.kind)
    let cursor: string | undefined
    do {
      const page = await this.#store.deadLetters({
        namespace: this.#namespace,
        ...(kind !== undefined && { kind }),
        ...(query.key !== undefined && { key: query.key }),
        limit: BATCH,
        cursor,
      })
      const meant = ids === undefined ? page.items : page.items.filter(({ id }) => ids.has(id))
      if (meant.length > 0) yield meant
      cursor = page.cursor
    } while (cursor !== undefined)
  }
}

function isList(which: WhichDead): which is readonly string[] {
  return Array.isArray(which)
}
