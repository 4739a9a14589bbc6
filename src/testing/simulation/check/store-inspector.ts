import type { Carriage, Counts, DeadLetter, Listed, MemoryStore, ShardRow } from '../../../store/index.js'
import type { TimerRow } from '../../../timer/index.js'

/** The namespace of every simulated timer. */
export const namespace = 'sim'

const MAX_ITEMS = 1_000_000

/**
 * Reads a memory store synchronously and without faults, so that checks see its state at this instant. Each read is a
 * commit that the store once gave to the carriage of a call. It reads without promises, because every call of every
 * process is checked by two of them.
 */
export class StoreInspector {
  readonly #shards: () => readonly ShardRow[]
  readonly #counts: () => Counts
  readonly #rows: () => Listed<TimerRow>
  readonly #deadLetters: () => Listed<DeadLetter>

  constructor(store: MemoryStore) {
    this.#shards = commitOf(store, (client) => client.shards())
    this.#counts = commitOf(store, (client) => client.counts())
    this.#rows = commitOf(store, (client) => client.list({ namespace, limit: MAX_ITEMS }))
    this.#deadLetters = commitOf(store, (client) => client.deadLetters({ namespace, limit: MAX_ITEMS }))
  }

  shards(): readonly ShardRow[] {
    return this.#shards()
  }

  counts(): Counts {
    return this.#counts()
  }

  rows(): readonly TimerRow[] {
    return this.#rows().items
  }

  deadLetters(): readonly DeadLetter[] {
    return this.#deadLetters().items
  }
}

/** The commit of a call that only reads. It may run at any time and as often as wanted. */
function commitOf<Answer>(store: MemoryStore, call: (client: MemoryStore) => Promise<Answer>): () => Answer {
  const carried: (() => unknown)[] = []
  const carriage: Carriage = {
    carry: (_call, commit) => {
      carried.push(commit)
      return Promise.resolve(commit())
    },
    wake: () => undefined,
  }
  // A call of the memory store reaches its carriage before it returns.
  void call(store.connect(carriage))
  return carried[0] as () => Answer
}
