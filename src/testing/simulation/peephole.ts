import type { Carriage, Counts, DeadLetter, MemoryStore, ShardRow } from '../../store/index.js'
import type { TimerRow } from '../../timer/index.js'

/** The name space that every simulated timer lives in. */
export const namespace = 'sim'

const MOST = 1_000_000

/** Looks into a memory store at once and without any fault: what it answers is what is so at this instant. */
export class Peephole {
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
    return this.#now(() => this.#client.list({ namespace, limit: MOST })).items
  }

  deadLetters(): readonly DeadLetter[] {
    return this.#now(() => this.#client.deadLetters({ namespace, limit: MOST })).items
  }

  #now<Answer>(call: () => Promise<Answer>): Answer {
    // A call of the memory store reaches its carriage before it returns, so what was seen is its answer.
    void call()
    return this.#seen as Answer
  }
}
