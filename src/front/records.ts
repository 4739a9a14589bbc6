import type { RowProgress } from '../engine/index.js'
import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import type { Listed, Store } from '../store/index.js'
import { type Clock, type Duration, parseDuration } from '../time/index.js'
import { checkKey, type DeadView, type TimerName, type TimerRow, type TimerView } from '../timer/index.js'
import { type TimerEvent, timerEventOf, told } from './history-policy.js'
import type { AnyKind } from './kind.js'
import type { Kinds } from './kinds.js'
import { deadViewOf, timerViewOf } from './timer-view.js'
import { epochMsOf, type Instant } from './when.js'

/** Which timers are meant; all of the namespace unless something is said. */
export interface TimerQuery {
  readonly kind?: AnyKind
  readonly keyPrefix?: string
  readonly tag?: string
  /** Due at or after, and before. */
  readonly dueFrom?: Instant
  readonly dueUntil?: Instant
}

export interface PageOptions {
  /** At most so many; default 100, at most 10,000. */
  readonly limit?: number
  /** That of the page before. */
  readonly cursor?: string | undefined
}

export interface ForecastOptions {
  readonly kind?: AnyKind
  /** From when; now unless given. */
  readonly from?: Instant
  /** How far, and in slices of which length. Default an hour in minutes. */
  readonly over?: Duration
  readonly slice?: Duration
}

/** Timers due in one slice of time. */
export interface ForecastSlice {
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly count: number
}

/** Everything known about a key. */
export interface Why {
  /** The timer as it stands; undefined when there is none. */
  readonly timer: TimerView | undefined
  readonly events: readonly TimerEvent[]
  readonly dead: readonly DeadView[]
  /** The same as sentences, in order. */
  readonly told: readonly string[]
}

const queryNames = ['kind', 'keyPrefix', 'tag', 'dueFrom', 'dueUntil', 'limit', 'cursor']
const LONGEST_STORY = 1000

/** What can be read of a namespace: its timers, its dead letters, its history, what is to come. */
export class Records {
  readonly #store: Store
  readonly #clock: Clock
  readonly #namespace: string
  readonly #kinds: Kinds
  readonly #progressOf: (row: TimerRow) => RowProgress

  constructor(parts: {
    store: Store
    clock: Clock
    namespace: string
    kinds: Kinds
    progressOf: (row: TimerRow) => RowProgress
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#namespace = parts.namespace
    this.#kinds = parts.kinds
    this.#progressOf = parts.progressOf
  }

  async get(name: TimerName & { readonly identity?: number }): Promise<TimerView | undefined> {
    const row = await this.row(name)
    return row && this.#viewOf(row)
  }

  async row(name: TimerName & { readonly identity?: number }): Promise<TimerRow | undefined> {
    const [row] = await this.#store.find([name])
    return name.identity === undefined || row?.identity === name.identity ? row : undefined
  }

  async list(query: TimerQuery & PageOptions): Promise<Listed<TimerView>> {
    for (let page = query; ;) {
      const { items, cursor } = await this.rows(page)
      const views = items.flatMap((row) => this.#viewOf(row) ?? [])
      // A page of nothing but what is done looks like the end to whoever does not look at the cursor.
      const isAllOver = items.length > 0 && views.length === 0
      if (!isAllOver || cursor === undefined) return { items: views, cursor }
      page = { ...query, cursor }
    }
  }

  async rows(query: TimerQuery & PageOptions): Promise<Listed<TimerRow>> {
    checkOptions('list', query, queryNames)
    const { kind, keyPrefix, tag, dueFrom, dueUntil } = query
    return await this.#store.list({
      namespace: this.#namespace,
      ...(await this.#ofKind(kind)),
      ...(keyPrefix !== undefined && { keyPrefix }),
      ...(tag !== undefined && { tag }),
      ...(dueFrom !== undefined && { dueFromInclusive: epochMsOf(dueFrom) }),
      ...(dueUntil !== undefined && { dueUntilExclusive: epochMsOf(dueUntil) }),
      limit: limitOf(query),
      cursor: query.cursor,
    })
  }

  async forecast(options: ForecastOptions): Promise<readonly ForecastSlice[]> {
    checkOptions('forecast', options, ['kind', 'from', 'over', 'slice'])
    const { kind, from, over = '1h', slice = '1m' } = options
    const fromInclusive = from === undefined ? this.#clock.now() : epochMsOf(from)
    const sliceMs = Math.max(1, parseDuration(slice))
    const untilExclusive = fromInclusive + parseDuration(over)
    if ((untilExclusive - fromInclusive) / sliceMs > 10_000) {
      throw new InvalidInputError('invalid-option', 'a forecast has at most 10,000 slices: make them longer')
    }
    const counts = await this.#store.histogram({
      namespace: this.#namespace,
      ...(await this.#ofKind(kind)),
      fromInclusive,
      untilExclusive,
      sliceMs,
    })
    return counts.map((count, index) => {
      const start = fromInclusive + index * sliceMs
      return { fromInclusive: start, untilExclusive: Math.min(start + sliceMs, untilExclusive), count }
    })
  }

  async dead(query: { kind?: AnyKind; key?: string } & PageOptions): Promise<Listed<DeadView>> {
    checkOptions('dead', query, ['kind', 'key', 'limit', 'cursor'])
    const { items, cursor } = await this.#store.deadLetters({
      namespace: this.#namespace,
      ...(await this.#ofKind(query.kind)),
      ...(query.key !== undefined && { key: query.key }),
      limit: limitOf(query),
      cursor: query.cursor,
    })
    return { items: items.map(deadViewOf), cursor }
  }

  async history(
    query: { kind?: AnyKind; key?: string; from?: Instant; until?: Instant } & PageOptions,
  ): Promise<Listed<TimerEvent>> {
    checkOptions('history', query, ['kind', 'key', 'from', 'until', 'limit', 'cursor'])
    const { items, cursor } = await this.#store.history({
      namespace: this.#namespace,
      ...(await this.#ofKind(query.kind)),
      ...(query.key !== undefined && { key: query.key }),
      ...(query.from !== undefined && { fromInclusive: epochMsOf(query.from) }),
      ...(query.until !== undefined && { untilExclusive: epochMsOf(query.until) }),
      limit: limitOf(query),
      cursor: query.cursor,
    })
    return { items: items.map(timerEventOf), cursor }
  }

  /** A timer's life, in order, as far as the history was told. */
  async why(of: AnyKind, key: string): Promise<Why> {
    const kind = await this.#kinds.nameOf(of)
    checkKey(key)
    const events: TimerEvent[] = []
    let cursor: string | undefined
    do {
      const page = await this.history({ kind, key, limit: LONGEST_STORY, cursor })
      events.push(...page.items)
      cursor = page.cursor
    } while (cursor !== undefined && events.length < LONGEST_STORY)
    // A hand-over is only told of when the attempt after it has ended.
    events.sort((a, b) => a.at - b.at)
    const timer = await this.get({ namespace: this.#namespace, kind, key })
    const dead = (await this.dead({ kind, key })).items
    const standing =
      timer === undefined ? [] : [`now ${timer.state}, due ${new Date(timer.dueAt).toISOString()}`]
    return { timer, events, dead, told: [...told(events), ...standing] }
  }

  async #ofKind(kind: AnyKind | undefined): Promise<{ readonly kind?: string }> {
    return kind === undefined ? {} : { kind: await this.#kinds.nameOf(kind) }
  }

  /** Undefined for one that is done, though the store will only hear of it within a second. */
  #viewOf(row: TimerRow): TimerView | undefined {
    const progress = this.#progressOf(row)
    return progress === 'over' ? undefined : timerViewOf(row, progress === 'firing')
  }
}

function limitOf({ limit = 100 }: PageOptions): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= 10_000) return limit
  throw new InvalidInputError(
    'invalid-option',
    `limit must be a whole number from 1 to 10,000, got ${shown(limit)}`,
  )
}
