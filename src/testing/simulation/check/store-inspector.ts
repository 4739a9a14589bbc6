import type { Carriage, Counts, DeadLetter, MemoryStore, ShardRow } from '../../../store/index.js'
import type { TimerRow } from '../../../timer/index.js'

/** The namespace of every simulated timer. */
export const namespace = 'sim'

const MAX_ITEMS = 1_000_000

/** Reads a memory store synchronously and without faults, so that checks see its state at this instant. */
export class StoreInspector {
  readonly #client: MemoryStore
  #seen: unknown

  constructor(store: MemoryStore) {
    const carriage: Carriage = {
      carry: (_call, commit) => {
        const seen = commit()
        this.#seen = seen
        return Promise.resolve(seen)
      },
      wake: () => undefined,
    }
    this.#client = store.connect(carriage)
  }

  shards(): readonly ShardRow[] {
    return this.#now(() => this.#client.shards())
  }

  counts(): Counts {
    return this.#now(() => this.#client.counts())
  }

  rows(): readonly TimerRow[] {
    return this.#now(() => this.#client.list({ namespace, limit: MAX_ITEMS })).items
  }

  deadLetters(): readonly DeadLetter[] {
    return this.#now(() => this.#client.deadLetters({ namespace, limit: MAX_ITEMS })).items
  }

  #now<Answer>(call: () => Promise<Answer>): Answer {
    // A call of the memory store reaches its carriage before it returns, so #seen is already its answer.
    void call()
    return this.#seen as Answer
  }
}
