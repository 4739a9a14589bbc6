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
  // Those who wait until all that is there has been carried out.
  #hearers: ((isHeard: boolean) => void)[] = []
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

  /** Ends when all that is there now has been carried out; answers false when the inbox ended before that. */
  hear(): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#hearers.push(resolve)
      this.poke()
    })
  }

  end(): void {
    this.#isOver = true
    this.#waits.end()
    this.#tellHearers(false)
  }

  /** Looks into the inbox now and then, and when poked, until it is ended. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      this.#isPoked = false
      const hearers = this.#hearers
      this.#hearers = []
      const found = await this.#look()
      if (found === 'all') for (const heard of hearers) heard(true)
      else this.#hearers.unshift(...hearers)
      if (this.#isOver) this.#tellHearers(false)
      if (found !== 'some' && !this.#isPoked) await this.#waits.wait(this.#waitMs)
    }
  }

  get #waitMs(): number {
    const { retryMs, inboxPollMs } = this.#settings
    return this.#hearers.length > 0 ? retryMs : inboxPollMs
  }

  #tellHearers(isHeard: boolean): void {
    const hearers = this.#hearers
    this.#hearers = []
    for (const hear of hearers) hear(isHeard)
  }

  /** Has what is there carried out: all of it, or some while there is more, or none that is known of. */
  async #look(): Promise<'all' | 'some' | 'none'> {
    try {
      const requests = await this.#ownership.call('requests', (fence) =>
        this.#store.requests(fence, REQUESTS_AT_ONCE),
      )
      const fresh = requests.filter(({ id }) => !this.#underWay.has(id))
      if (fresh.length > 0) await this.#apply(fresh)
      // Whoever asked looks for the answer when woken.
      if (fresh.length > 0) this.#store.wake(this.#ownership.shard)
      return requests.length === REQUESTS_AT_ONCE ? 'some' : 'all'
    } catch (error) {
      if (!(error instanceof Outdated || error instanceof Untaken || error instanceof Unresolved)) throw error
      return 'none'
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
