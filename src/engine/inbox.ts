import type { Clock } from '../time/index.js'
import type { Request, Store } from '../store/index.js'
import { Outdated, type Ownership, Unresolved, Untaken } from './ownership.js'
import { Waits } from './waits.js'
import type { EngineSettings } from './settings.js'
import type { Writer } from './writer.js'

const REQUESTS_AT_ONCE = 1000

/**
 * Applies the requests of those who do not own the shard, in the order of their arrival, each once (rule 3):
 * the write that applies a request takes it away.
 */
export class Inbox {
  readonly #store: Store
  readonly #settings: EngineSettings
  readonly #ownership: Ownership
  readonly #writer: Writer
  readonly #waits: Waits
  readonly #underWay = new Set<string>()
  #isPoked = false
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    ownership: Ownership
    writer: Writer
  }) {
    this.#store = parts.store
    this.#settings = parts.settings
    this.#ownership = parts.ownership
    this.#writer = parts.writer
    this.#waits = new Waits(parts.clock)
  }

  /** There may be something new. */
  poke(): void {
    this.#isPoked = true
    this.#waits.interrupt()
  }

  end(): void {
    this.#isOver = true
    this.#waits.end()
  }

  /** Looks into the inbox now and then, and when poked, until it is ended. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      this.#isPoked = false
      const isMore = await this.#look()
      if (!isMore && !this.#isPoked) await this.#waits.wait(this.#settings.inboxPollMs)
    }
  }

  async #look(): Promise<boolean> {
    try {
      const requests = await this.#ownership.call('requests', (fence) =>
        this.#store.requests(fence, REQUESTS_AT_ONCE),
      )
      const fresh = requests.filter(({ id }) => !this.#underWay.has(id))
      if (fresh.length > 0) await this.#apply(fresh)
      // Whoever asked looks for the answer when woken.
      if (fresh.length > 0) this.#store.wake(this.#ownership.shard)
      return requests.length === REQUESTS_AT_ONCE
    } catch (error) {
      if (!(error instanceof Outdated || error instanceof Untaken || error instanceof Unresolved)) throw error
      return false
    }
  }
  /** Has requests carried out. Ends when each is answered. */
  #apply(requests: readonly Request[]): Promise<void> {
    const underWay = this.#underWay
    const ids = requests.map(({ id }) => id)
    for (const id of ids) underWay.add(id)
    return new Promise((resolve) => {
      let left = ids.length
      const answered = (index: number): void => {
        if (underWay.delete(ids[index]!) && --left === 0) resolve()
      }
      this.#writer.submit(
        requests.map(({ operation }) => operation),
        { answered },
        ids,
      )
    })
  }
}
