import type { DeadView, QuotaLimits, QuotaView, TimerView } from '../timer/index.js'
import { MAX_IDS, PAGE_ITEMS } from './defaults.js'
import type { HttpCalls } from './http-calls.js'
import { maybeInstant, nameOf, timerPath } from './input.js'
import type {
  ForecastQuery,
  ForecastSlice,
  HistoryLine,
  HistoryQuery,
  KindGiven,
  Page,
  PausedAnswer,
  PageQuery,
  Redriven,
  TimersCount,
  TimersOrder,
  TimersPage,
  TimersQuery,
  WhyAnswer,
} from './wire.js'

/** The calls of a client that read: timers, dead letters, history, forecasts, kinds, pauses and quotas. */
export class ServerRecords {
  readonly #calls: HttpCalls

  constructor(calls: HttpCalls) {
    this.#calls = calls
  }

  /** One page of timers. */
  async list<Payload = unknown>(
    query: TimersQuery & TimersOrder & PageQuery = {},
  ): Promise<TimersPage<TimerView<Payload>>> {
    const { order, limit, cursor } = query
    const answer = await this.#calls.send<TimersPage<TimerView<Payload>>>({
      method: 'GET',
      path: '/v1/timers',
      query: { ...filterOf(query), order, limit, cursor },
    })
    return { ...answer, cursor: answer.cursor }
  }

  /** How many timers match a query. Counts at most `atMost` (10,000) in one call, and ends after about 100 ms. */
  async count(
    query: TimersQuery & { atMost?: number; cursor?: string | undefined } = {},
  ): Promise<TimersCount> {
    const { atMost, cursor } = query
    const answer = await this.#calls.send<TimersCount>({
      method: 'GET',
      path: '/v1/timers/count',
      query: { ...filterOf(query), atMost, cursor },
    })
    return { ...answer, cursor: answer.cursor }
  }

  /** All timers that match a query. Pages are read when they are needed. */
  async *each<Payload = unknown>(query: TimersQuery = {}): AsyncGenerator<TimerView<Payload>> {
    let cursor: string | undefined
    do {
      const page: Page<TimerView<Payload>> = await this.list<Payload>({ ...query, limit: PAGE_ITEMS, cursor })
      yield* page.items
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /** One page of the dead letters. */
  async dead(
    query: { readonly kind?: KindGiven; readonly key?: string } & PageQuery = {},
  ): Promise<Page<DeadView>> {
    const { kind, key, limit, cursor } = query
    return await this.#page('/v1/dead', { kind: kind && nameOf(kind), key, limit, cursor })
  }

  /** Sets dead letters again: those with these ids, all of a kind or key, or all with `{}`. */
  async redrive(
    which: readonly string[] | { readonly kind?: KindGiven; readonly key?: string },
  ): Promise<Redriven> {
    if (!isIds(which)) {
      const { kind, key } = which
      if (kind === undefined && key !== undefined) return await this.redrive(await this.#deadIdsOf(key))
      return await this.#redrive(kind === undefined ? { all: true } : { kind: nameOf(kind), key })
    }
    const parts: Redriven[] = []
    for (let at = 0; at < which.length; at += MAX_IDS)
      parts.push(await this.#redrive({ ids: which.slice(at, at + MAX_IDS) }))
    return {
      count: parts.reduce((sum, { count }) => sum + count, 0),
      beside: parts.flatMap(({ beside }) => beside),
    }
  }

  /** Deletes dead letters for good: those with these ids, all of a kind or key, or all with `{}`. */
  async discard(
    which: readonly string[] | { readonly kind?: KindGiven; readonly key?: string },
  ): Promise<number> {
    if (!isIds(which)) {
      const { kind, key } = which
      if (kind === undefined && key === undefined) return await this.#discard({ all: 'true' })
      return await this.#discard({ kind: kind && nameOf(kind), key })
    }
    let count = 0
    for (const id of which) count += await this.#discard({ id })
    return count
  }

  /** One page of the history, oldest first. */
  async history(query: HistoryQuery & PageQuery = {}): Promise<Page<HistoryLine>> {
    const { kind, key, from, until, limit, cursor } = query
    return await this.#page('/v1/history', {
      kind: kind && nameOf(kind),
      key,
      from: maybeInstant(from),
      until: maybeInstant(until),
      limit,
      cursor,
    })
  }

  /** All that is known about a key. */
  async why(kind: KindGiven, key: string): Promise<WhyAnswer> {
    return await this.#calls.send({ method: 'GET', path: `${timerPath(kind, key)}/why` })
  }

  /** Counts the timers that are due in each slice of a span of time. */
  async forecast({ kind, from, over, slice }: ForecastQuery = {}): Promise<readonly ForecastSlice[]> {
    const query = { kind: kind && nameOf(kind), from: maybeInstant(from), over, slice }
    const { slices } = await this.#calls.send<{ slices: readonly ForecastSlice[] }>({
      method: 'GET',
      path: '/v1/forecast',
      query,
    })
    return slices
  }

  /** The names of the kinds that were set or handled. */
  async kinds(): Promise<readonly string[]> {
    return (await this.#calls.send<{ kinds: readonly string[] }>({ method: 'GET', path: '/v1/kinds' })).kinds
  }

  /** What is paused: kinds, or the whole namespace, and why. */
  async paused(): Promise<PausedAnswer> {
    return await this.#calls.send({ method: 'GET', path: '/v1/pauses' })
  }

  /** The quota of the namespace and its use; an empty object when there is no quota. */
  async getQuota(): Promise<QuotaView> {
    return await this.#calls.send({ method: 'GET', path: '/v1/quota' })
  }

  /** Limits what the namespace may hold; `undefined` removes the quota. Needs an API key for all namespaces. */
  async setQuota(limits: QuotaLimits | undefined): Promise<void> {
    if (limits === undefined) await this.#calls.send({ method: 'DELETE', path: '/v1/quota' })
    else await this.#calls.send({ method: 'PUT', path: '/v1/quota', body: limits })
  }

  async #deadIdsOf(key: string): Promise<readonly string[]> {
    const ids: string[] = []
    let cursor: string | undefined
    do {
      const page: Page<DeadView> = await this.dead({ key, limit: PAGE_ITEMS, cursor })
      ids.push(...page.items.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== undefined)
    return ids
  }

  async #redrive(body: object): Promise<Redriven> {
    return await this.#calls.send({ method: 'POST', path: '/v1/dead/redrive', body })
  }

  async #discard(query: Readonly<Record<string, string | undefined>>): Promise<number> {
    return (await this.#calls.send<{ count: number }>({ method: 'DELETE', path: '/v1/dead', query })).count
  }

  async #page<Item>(
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
  ): Promise<Page<Item>> {
    const { items, cursor } = await this.#calls.send<Page<Item>>({ method: 'GET', path, query })
    return { items, cursor }
  }
}

function isIds(which: unknown): which is readonly string[] {
  return Array.isArray(which)
}

function filterOf(query: TimersQuery): Readonly<Record<string, string | number | undefined>> {
  const { kind, keyPrefix, keyPart, tag, dueFrom, dueUntil, attemptsFrom, attemptsUntil, recurring, state } =
    query
  return {
    kind: kind && nameOf(kind),
    keyPrefix,
    keyPart,
    tag,
    dueFrom: maybeInstant(dueFrom),
    dueUntil: maybeInstant(dueUntil),
    attemptsFrom,
    attemptsUntil,
    recurring: recurring === undefined ? undefined : String(recurring),
    state,
  }
}
