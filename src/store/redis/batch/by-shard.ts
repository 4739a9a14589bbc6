import { StoreError } from '../../../error/index.js'
import { shardOf } from '../../../timer/index.js'
import type { HistoryEntry } from '../../store.js'

/** History entries grouped by their timer's shard. Each group is taken once. */
export class HistoryByShard {
  readonly #byShard = new Map<number, HistoryEntry[]>()

  constructor(history: readonly HistoryEntry[], shardCount: number) {
    for (const entry of history) {
      const shard = shardOf(entry, shardCount)
      const entries = this.#byShard.get(shard)
      if (entries === undefined) this.#byShard.set(shard, [entry])
      else entries.push(entry)
    }
  }

  take(shard: number): HistoryEntry[] {
    const entries = this.#byShard.get(shard) ?? []
    this.#byShard.delete(shard)
    return entries
  }

  remaining(): [number, HistoryEntry[]][] {
    return [...this.#byShard]
  }
}

/** Calls once for each shard with its items. The answers come in the order of the items. */
export async function callByShard<Item, Answer>(
  items: readonly Item[],
  shardOfItem: (item: Item) => number,
  call: (shard: number, some: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const groups = new Map<number, number[]>()
  for (let index = 0; index < items.length; index++) {
    const shard = shardOfItem(items[index]!)
    const group = groups.get(shard)
    if (group === undefined) groups.set(shard, [index])
    else group.push(index)
  }
  const answers = new Array<Answer>(items.length)
  const calls = [...groups].map(async ([shard, indexes]) => {
    const some = await call(
      shard,
      indexes.map((index) => items[index]!),
    )
    for (const [at, index] of indexes.entries()) answers[index] = some[at]!
  })
  const outcomes = await Promise.allSettled(calls)
  // If some shards did it and others may not have, the outcome of the whole call is unknown.
  const failures = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  )
  if (failures.length === 0) return answers
  if (failures.length === outcomes.length) throw failures.find(isUnknown) ?? failures[0]
  throw failures.find(isUnknown) ?? partlyDone(failures[0])
}

function isUnknown(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'unknown-outcome'
}

function partlyDone(error: unknown): StoreError {
  return new StoreError(
    'unknown-outcome',
    `the call succeeded in some shards and failed in others: ${String(error)}`,
    {
      cause: error,
    },
  )
}
