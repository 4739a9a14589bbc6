import type { Place, TimerRow } from '../timer/index.js'
import { anyInteger, cursorOf, integerUpTo, parseCursor } from './cursor.js'
import type { ListedRows } from './store.js'

/** Where a page of a list begins, and how many rows the pages before it looked at. */
export interface ListStart {
  readonly shard: number
  readonly place: Place
  readonly looked: number
}

/** Where the page with this cursor begins. */
export function listStartOf(cursor: string | undefined, shardCount: number): ListStart {
  const [shard = 0, position = 0, revision = 0, looked = 0] =
    parseCursor<[number, number, number, number]>(
      'list',
      cursor,
      integerUpTo(shardCount),
      anyInteger,
      anyInteger,
      anyInteger,
    ) ?? []
  return { shard, place: { position, revision }, looked }
}

/** A page after which the list goes on at `next`. */
export function pageBefore(
  { shard, place: { position, revision }, looked }: ListStart,
  items: readonly TimerRow[],
  isComplete: boolean,
): ListedRows {
  return { items, cursor: cursorOf('list', [shard, position, revision, looked]), isComplete, looked }
}

/** The last page. */
export function lastPage(items: readonly TimerRow[], looked: number): ListedRows {
  return { items, cursor: undefined, isComplete: true, looked }
}
