import { checkOptions, LimitError } from '../../error/index.js'
import type { DeadLetter, Store } from '../../store/index.js'
import { checkKey } from '../../timer/index.js'
import { BATCH_ROWS } from '../defaults.js'
import type { AnyKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'
import type { TimerLists } from '../read/timer-lists.js'
import { checkQuery, type TimerQuery } from '../read/timer-query.js'
import type { Named } from '../kind/timer-names.js'

/** Timers by their keys, or all that match a query. */
export type Many = { readonly kind: AnyKind; readonly keys: readonly string[] } | TimerQuery

/** Dead letters by their ids, or all that match a query; `{}` matches all. */
export type WhichDead = readonly string[] | { readonly kind?: AnyKind; readonly key?: string }

/** Finds the timers or dead letters that a call on many selects. */
export class Selection {
  readonly #store: Store
  readonly #lists: TimerLists
  readonly #kinds: Kinds
  readonly #namespace: string

  constructor(parts: { store: Store; lists: TimerLists; kinds: Kinds; namespace: string }) {
    this.#store = parts.store
    this.#lists = parts.lists
    this.#kinds = parts.kinds
    this.#namespace = parts.namespace
  }

  /** The selected timers. A query adds their identity, so that a later timer with the same key is not changed. */
  async timers(many: Many, maxFound: number): Promise<readonly Named[]> {
    if ('keys' in many) {
      checkOptions('a call on many', many, ['kind', 'keys'])
      const kind = await this.#kinds.nameOf(many.kind)
      for (const key of many.keys) checkKey(key)
      return many.keys.map((key) => ({ namespace: this.#namespace, kind, key }))
    }
    checkQuery('a call on many', many)
    // Finds all of them before the first change, because the cursor could meet a moved timer again.
    const found: Named[] = []
    for await (const rows of this.#lists.pages(many)) {
      for (const { namespace, kind, key, identity } of rows) found.push({ namespace, kind, key, identity })
      if (found.length > maxFound) throw tooManyTimers(maxFound)
    }
    return found
  }

  /** The ids of the selected dead letters, in batches. Given ids are not looked up. */
  async *deadIds(which: WhichDead): AsyncGenerator<readonly string[]> {
    if (!isIds(which)) {
      for await (const letters of this.dead(which)) yield letters.map(({ id }) => id)
      return
    }
    for (let at = 0; at < which.length; at += BATCH_ROWS) yield which.slice(at, at + BATCH_ROWS)
  }

  /** The selected dead letters, in batches. */
  async *dead(which: WhichDead): AsyncGenerator<readonly DeadLetter[]> {
    const ids = isIds(which) ? new Set(which) : undefined
    const query = isIds(which) ? {} : which
    checkOptions('a call on dead letters', query, ['kind', 'key'])
    const kind = query.kind === undefined ? undefined : await this.#kinds.nameOf(query.kind)
    let cursor: string | undefined
    do {
      const page = await this.#store.deadLetters({
        namespace: this.#namespace,
        ...(kind !== undefined && { kind }),
        ...(query.key !== undefined && { key: query.key }),
        limit: BATCH_ROWS,
        cursor,
      })
      const selected = ids === undefined ? page.items : page.items.filter(({ id }) => ids.has(id))
      if (selected.length > 0) yield selected
      cursor = page.cursor
    } while (cursor !== undefined)
  }
}

export function tooManyTimers(maxFound: number): LimitError {
  return new LimitError(
    'too-many-timers',
    `more than ${maxFound} timers match, and none was changed: narrow the query, for example by dueUntil`,
  )
}

function isIds(which: WhichDead): which is readonly string[] {
  return Array.isArray(which)
}
