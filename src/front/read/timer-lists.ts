import type { CallLimit } from '../../async/index.js'
import type { TimerEngine } from '../../engine/index.js'
import { checkInteger, InvalidInputError, shown } from '../../error/index.js'
import type { ListedRows, ListQuery, Store } from '../../store/index.js'
import type { TimerRow, TimerView } from '../../timer/index.js'
import {
  BATCH_ROWS,
  COUNTED_AT_MOST,
  LIST_BUDGET_MS,
  MAX_COUNTED,
  MAX_PAGE_ITEMS,
  MIN_BUDGETED_TIMERS,
  PAGE_ITEMS,
} from '../defaults.js'
import type { Diagnosis } from '../diagnose/diagnosis.js'
import type { AnyKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'
import { DueOrder, type ListOrder } from './due-order.js'
import {
  checkQuery,
  type CountedTimers,
  filterOf,
  isMatch,
  type ListedTimers,
  type TimerQuery,
} from './timer-query.js'
import { timerViewOf } from './timer-view.js'

/** Which page of a list to read. */
export interface PageOptions {
  /** The most items, up to 10,000. Default 100. */
  readonly limit?: number
  /**
   * The cursor of the previous page. A page of timers may be short or even empty and still have a cursor: it ends after
   * about 100 ms, so that a search among millions of timers does not delay others.
   */
  readonly cursor?: string | undefined
}

/** Which page of a list to read, in which order. */
export interface ListOptions extends PageOptions {
  /**
   * 'due': what is due first comes first. 'latest': what is due last. Default: the store's own order, which costs least.
   * A paused timer counts as due after all others.
   */
  readonly order?: ListOrder
}

/** The options of a count. */
export interface CountOptions {
  /** The most timers that one call counts, up to 100,000. Default 10,000. */
  readonly atMost?: number
  /** The cursor of the count that this one continues. */
  readonly cursor?: string | undefined
}

type Bounds = Pick<ListQuery, 'budgetMs' | 'signal'>

/**
 * Lists and counts the timers of a namespace that match a query, in pages that end within a budget.
 *
 * Proven by test/front/lists.test.ts.
 */
export class TimerLists {
  readonly #engine: TimerEngine
  readonly #store: Store
  readonly #namespace: string
  readonly #kinds: Kinds
  readonly #diagnosis: Diagnosis

  constructor(parts: {
    engine: TimerEngine
    store: Store
    namespace: string
    kinds: Kinds
    diagnosis: Diagnosis
  }) {
    this.#diagnosis = parts.diagnosis
    this.#engine = parts.engine
    this.#store = parts.store
    this.#namespace = parts.namespace
    this.#kinds = parts.kinds
  }

  /** A page ends after about `LIST_BUDGET_MS`, and stops when the call is over. */
  async list(query: TimerQuery & ListOptions, limit: CallLimit): Promise<ListedTimers> {
    const { order, ...rest } = query
    if (order !== undefined) checkOrder(order)
    const most = limitOf(query)
    const items: TimerView[] = []
    const add = (view: TimerView): void => void items.push(view)
    const { cursor, looked } =
      order === undefined
        ? await this.#eachMatch(rest, most, limit, add)
        : await this.#eachInOrder(rest, order, most, limit, add)
    const complete = cursor === undefined || items.length === most
    const explained = await this.#diagnosis.withCauses(items)
    return { items: explained, cursor, complete, looked, ...(!complete && { total: await this.#total() }) }
  }

  /** Counts up to `atMost` timers, within the budget of a page. */
  async count(query: TimerQuery & CountOptions, limit: CallLimit): Promise<CountedTimers> {
    checkQuery('count', query, ['atMost', 'cursor'])
    const { atMost = COUNTED_AT_MOST, ...rest } = query
    checkInteger('atMost', atMost, 1, MAX_COUNTED)
    let count = 0
    const { cursor, looked } = await this.#eachMatch(rest, atMost, limit, () => void count++)
    const complete = cursor === undefined
    return { count, cursor, complete, looked, ...(!complete && { total: await this.#total() }) }
  }

  /** Calls `found` with the timers that match, at most `most`. Ends when the budget is used up. */
  async #eachMatch(
    query: TimerQuery & PageOptions,
    most: number,
    limit: CallLimit,
    found: (view: TimerView) => void,
  ): Promise<Pick<ListedRows, 'cursor' | 'looked'>> {
    const { clock } = this.#engine
    const { until, signal } = this.#bounds(limit)
    let left = most
    for (let page: TimerQuery & PageOptions = query; ;) {
      const bounds = { budgetMs: Math.max(0, until - clock.monotonic()), signal }
      const rows = await this.rows({ ...page, limit: Math.min(left, MAX_PAGE_ITEMS) }, bounds)
      for (const row of rows.items) {
        const view = this.#viewOf(row)
        if (view === undefined || !isMatch(view, query)) continue
        found(view)
        left--
      }
      const { cursor, looked } = rows
      // A small store has no short pages, however slow the machine is.
      const isOut = !rows.isComplete || (looked >= MIN_BUDGETED_TIMERS && clock.monotonic() >= until)
      if (cursor === undefined || left === 0 || isOut) return { cursor, looked }
      page = { ...query, cursor }
    }
  }

  /** The same in the order of due times. */
  async #eachInOrder(
    query: TimerQuery & PageOptions,
    order: ListOrder,
    most: number,
    limit: CallLimit,
    found: (view: TimerView) => void,
  ): Promise<Pick<ListedRows, 'cursor' | 'looked'>> {
    const { clock } = this.#engine
    const { until, signal } = this.#bounds(limit)
    checkQuery('list', query, ['limit', 'cursor'])
    const filter = filterOf(query, clock.now())
    const kind = await this.ofKind(query.kind)
    const dues = new DueOrder(order, query.cursor, clock.now(), filter)
    if (query.cursor === undefined) await this.#engine.applyAcknowledged()
    const before = dues.looked
    for (let left = most; left > 0 && !dues.isOver;) {
      const slice = dues.slice(left, MAX_PAGE_ITEMS)
      const budgetMs = Math.max(0, until - clock.monotonic())
      const scope = { namespace: this.#namespace, ...kind }
      const page = await this.#store.list({ ...scope, ...filter, ...slice, budgetMs, signal })
      const rows = page.items.filter((row) => {
        const view = this.#viewOf(row)
        return view !== undefined && isMatch(view, query)
      })
      for (const row of dues.take(page, rows, left)) {
        const view = this.#viewOf(row)
        if (view === undefined) continue
        found(view)
        left--
      }
      const hasLooked = dues.looked - before >= MIN_BUDGETED_TIMERS || !page.isComplete
      if (hasLooked && clock.monotonic() >= until) break
    }
    return { cursor: dues.cursor, looked: dues.looked }
  }

  #bounds(limit: CallLimit): { readonly until: number; readonly signal: AbortSignal } {
    const stopping = new AbortController()
    limit.onOver(() => stopping.abort())
    return { until: this.#engine.clock.monotonic() + LIST_BUDGET_MS, signal: stopping.signal }
  }

  /** All timers that match, page by page. Those that are done here are among them. */
  async *pages(query: TimerQuery, signal?: AbortSignal): AsyncGenerator<readonly TimerRow[]> {
    let cursor: string | undefined
    do {
      const page = await this.rows({ ...query, limit: BATCH_ROWS, cursor }, { signal })
      const { state } = query
      yield state === undefined
        ? page.items
        : page.items.filter((row) => {
            const view = this.#viewOf(row)
            return view !== undefined && isMatch(view, query)
          })
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /** One page of rows as the store has them. Some may be done here, or not be in the state of the query. */
  async rows(query: TimerQuery & PageOptions, bounds: Bounds = {}): Promise<ListedRows> {
    checkQuery('list', query, ['limit', 'cursor'])
    if (query.cursor === undefined) await this.#engine.applyAcknowledged()
    return await this.#store.list({
      namespace: this.#namespace,
      ...(await this.ofKind(query.kind)),
      ...filterOf(query, this.#engine.clock.now()),
      limit: limitOf(query),
      cursor: query.cursor,
      ...bounds,
    })
  }

  async ofKind(kind: AnyKind | undefined): Promise<{ readonly kind?: string }> {
    return kind === undefined ? {} : { kind: await this.#kinds.nameOf(kind) }
  }

  /** Undefined for a timer that is done here, but that the store still has until the next settlement. */
  #viewOf(row: TimerRow): TimerView | undefined {
    const progress = this.#engine.progressOf(row)
    return progress === 'over' ? undefined : timerViewOf(row, progress === 'firing')
  }

  /** About how many timers the store has. The counters of the shards may be of different instants. */
  async #total(): Promise<number> {
    const { created, settled, cancelled, replaced, dead } = await this.#store.counts()
    return Math.max(0, created - settled - cancelled - replaced - dead)
  }
}

export function limitOf({ limit = PAGE_ITEMS }: PageOptions): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE_ITEMS) return limit
  throw new InvalidInputError(
    'invalid-option',
    `limit must be an integer from 1 to ${MAX_PAGE_ITEMS}, got ${shown(limit)}`,
  )
}

function checkOrder(order: unknown): void {
  if (order === 'due' || order === 'latest') return
  throw new InvalidInputError('invalid-option', `order must be due or latest, got ${shown(order)}`)
}
