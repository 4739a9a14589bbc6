import {
  cursorOf,
  integerUpTo,
  type ListedRows,
  type ListQuery,
  parseCursor,
  textLike,
} from '../../store/index.js'
import type { TimerRow } from '../../timer/index.js'
import { NEVER } from './timer-view.js'

/** Which due times come first. */
export type ListOrder = 'due' | 'latest'

/** A slice of due times, and how many rows to read at most. */
export type SliceQuery = Required<Pick<ListQuery, 'dueFromInclusive' | 'dueUntilExclusive' | 'limit'>> &
  Pick<ListQuery, 'cursor'>

interface Place {
  /** Ascending: the first due time that was not listed. Descending: the one after it. */
  readonly edge: number
  /** How much time the next slice covers. */
  readonly width: number
  /** The store's cursor within a slice of one millisecond. */
  readonly inner: string | undefined
  readonly looked: number
}

const MINUTE = 60_000
/** Beyond it one slice covers all. */
const FAR = 100 * 366 * 86_400_000
const WIDEST = Number.MAX_SAFE_INTEGER
/** Slices aim at this many rows looked at. More take long, and fewer cost a call each. */
const FEW_ROWS = 1000
const MANY_ROWS = 8000
/** Rows read beyond the page, so that a slice need not fit it exactly. */
const SPARE_ROWS = 400

const safeInteger = (part: unknown): part is number => Number.isSafeInteger(part)

/**
 * Lists rows in the order of their due times, over all shards. A store lists shard by shard, but finds a due window
 * fast, so this reads one slice of time after the other and sorts each. Slices grow while there is little in them, and
 * shrink when they are too full. Rows that are due in the same millisecond come in the store's order.
 *
 * Proven by test/front/due-order.test.ts.
 */
export class DueOrder {
  readonly #order: ListOrder
  readonly #now: number
  readonly #from: number
  readonly #until: number
  #edge: number
  #width: number
  #inner: string | undefined
  #looked: number
  // How much time the last slice covered, and how many rows it looked at.
  #last: { readonly span: number; readonly looked: number } | undefined
  // How many rows each slice looks at, however short it is: those whose position is not their due time.
  #always = 0

  constructor(
    order: ListOrder,
    cursor: string | undefined,
    now: number,
    {
      dueFromInclusive = 0,
      dueUntilExclusive = NEVER + 1,
    }: Pick<ListQuery, 'dueFromInclusive' | 'dueUntilExclusive'>,
  ) {
    this.#order = order
    this.#now = now
    this.#from = Math.ceil(Math.max(dueFromInclusive, 0))
    this.#until = Math.ceil(Math.min(dueUntilExclusive, NEVER + 1))
    const { edge, width, inner, looked } = placeOf(order, cursor) ?? this.#start()
    this.#edge = edge
    this.#width = width
    this.#inner = inner
    this.#looked = looked
  }

  get looked(): number {
    return this.#looked
  }

  get isOver(): boolean {
    return this.#order === 'due' ? this.#edge >= this.#until : this.#edge <= this.#from
  }

  /** Where the list goes on; undefined at its end. */
  get cursor(): string | undefined {
    if (this.isOver) return undefined
    return cursorOf(this.#order, [this.#edge, this.#width, this.#inner ?? '', this.#looked])
  }

  /** The slice to read next. A page of `most` rows at most is wanted. */
  slice(most: number, mostRows: number): SliceQuery {
    const { dueFromInclusive, dueUntilExclusive } = this.#bounds()
    const limit = this.#width === 1 ? most : Math.min(mostRows, most + SPARE_ROWS)
    return { dueFromInclusive, dueUntilExclusive, limit, cursor: this.#inner }
  }

  /** Takes up to `most` of the rows of the slice, in order, and moves on behind them. None if the slice was too full. */
  take(page: ListedRows, rows: readonly TimerRow[], most: number): readonly TimerRow[] {
    if (this.#width === 1) return this.#takeInstant(page, rows)
    if (page.cursor !== undefined) {
      this.#width = Math.max(1, Math.floor(this.#width / 8))
      return []
    }
    const sign = this.#order === 'due' ? 1 : -1
    const sorted = rows.toSorted((a, b) => sign * (a.dueAt - b.dueAt))
    const first = sorted[most]
    if (first === undefined) {
      this.#looked += page.looked
      this.#moveOn(page.looked)
      return sorted
    }
    // The rows of one millisecond stay together: those of the last one come next, by themselves.
    const taken = sorted.filter(({ dueAt }) => sign * (dueAt - first.dueAt) < 0)
    this.#looked += Math.ceil((page.looked * taken.length) / sorted.length)
    this.#edge = this.#order === 'due' ? first.dueAt : first.dueAt + 1
    this.#width = taken.length === 0 ? 1 : Math.max(1, Math.floor(this.#width / 2))
    return taken
  }

  /** Rows of one millisecond are not sorted, so there may be any number of them. */
  #takeInstant(page: ListedRows, rows: readonly TimerRow[]): readonly TimerRow[] {
    this.#inner = page.cursor
    if (page.cursor === undefined) {
      this.#looked += page.looked
      this.#moveOn(page.looked)
    }
    return rows
  }

  #moveOn(looked: number): void {
    const { dueFromInclusive, dueUntilExclusive } = this.#bounds()
    this.#edge = this.#order === 'due' ? dueUntilExclusive : dueFromInclusive
    this.#compare({ span: dueUntilExclusive - dueFromInclusive, looked })
    const own = Math.max(0, looked - this.#always)
    // Nothing is shorter than a millisecond: a longer slice shows whether its length matters.
    if (own > MANY_ROWS && this.#width > 1) this.#width = Math.floor(this.#width / 2)
    else this.#width = Math.min(WIDEST, this.#width * (own < FEW_ROWS ? 4 : 2))
    if (own === 0) this.#width = Math.max(this.#width, this.#wideStep())
  }

  /** A slice of another length that looked at as many rows shows that its length was not the reason. */
  #compare(slice: { readonly span: number; readonly looked: number }): void {
    const last = this.#last
    this.#last = slice
    if (last === undefined || slice.looked < FEW_ROWS) return
    const isOtherSpan = slice.span >= 2 * last.span || last.span >= 2 * slice.span
    const [fewer, more] = [Math.min(slice.looked, last.looked), Math.max(slice.looked, last.looked)]
    if (isOtherSpan && more <= 1.25 * fewer) this.#always = fewer
  }

  /** The slice at the edge. It ends at the present, where most timers are. */
  #bounds(): { readonly dueFromInclusive: number; readonly dueUntilExclusive: number } {
    const edge = this.#edge
    if (this.#order === 'due') {
      const end = Math.min(edge + this.#width, this.#until)
      return { dueFromInclusive: edge, dueUntilExclusive: edge < this.#now ? Math.min(end, this.#now) : end }
    }
    const start = Math.max(edge - this.#width, this.#from)
    return {
      dueFromInclusive: edge > this.#now ? Math.max(start, this.#now) : start,
      dueUntilExclusive: edge,
    }
  }

  /** Far from the present there are few timers, so empty slices grow with the distance. */
  #wideStep(): number {
    const distance = Math.abs(this.#edge - this.#now)
    const isTowards = this.#order === 'due' ? this.#edge < this.#now : this.#edge > this.#now
    if (distance > FAR) return isTowards ? distance - FAR : WIDEST
    return Math.max(MINUTE, Math.ceil(isTowards ? (distance * 7) / 8 : distance * 7))
  }

  /** What is overdue comes first by itself, and so do paused timers, which are all due at one instant. */
  #start(): Place {
    const edge = this.#order === 'due' ? this.#from : this.#until
    const width = this.#order === 'due' ? Math.max(MINUTE, this.#now - edge) : edge > NEVER ? 1 : MINUTE
    return { edge, width, inner: undefined, looked: 0 }
  }
}

function placeOf(order: ListOrder, cursor: string | undefined): Place | undefined {
  const parts = parseCursor<[number, number, string, number]>(
    order,
    cursor,
    safeInteger,
    integerUpTo(WIDEST),
    textLike(/^[\w-]{0,400}$/),
    integerUpTo(Number.MAX_SAFE_INTEGER),
  )
  if (parts === undefined) return undefined
  const [edge, width, inner, looked] = parts
  return { edge, width: Math.max(1, width), inner: inner === '' ? undefined : inner, looked }
}
