import type { CallOptions, Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { metric } from './metric-text.js'

/**
 * What is in the store now besides timers: dead letters, requests in inboxes, bytes on the disk. It is read for each
 * page of metrics, with few cheap calls.
 *
 * Proven by test/server/outages/metrics.test.ts.
 */
export class StoreGauges {
  readonly #timers: Timers
  readonly #store: Store
  readonly #clock: Clock
  // Since when this instance has seen requests in the inbox of a shard, page after page.
  #waitingSince: ReadonlyMap<number, number> = new Map()

  constructor(timers: Timers, store: Store, clock: Clock) {
    this.#timers = timers
    this.#store = store
    this.#clock = clock
  }

  /** The lines. Those of a store that does not answer in time are absent. */
  async lines(limits: CallOptions): Promise<readonly string[]> {
    const read = this.#timers.bounded(limits, () =>
      Promise.all([
        this.#store.countDead(),
        this.#store.mode === 'claim' ? Promise.resolve([]) : this.#store.busyInboxes(),
      ]),
    )
    const found = await read.catch(() => undefined)
    return [...(found === undefined ? [] : this.#counted(...found)), ...this.#onDisk()]
  }

  *#counted(dead: number, busy: readonly number[]): Generator<string> {
    yield* metric('carillon_dead_letters', 'gauge', 'Dead letters in the store now, in all namespaces.', dead)
    const now = this.#clock.monotonic()
    this.#waitingSince = new Map(busy.map((shard) => [shard, this.#waitingSince.get(shard) ?? now]))
    yield* metric('carillon_inboxes_waiting', 'gauge', 'Shards whose inbox has requests.', busy.length)
    yield* metric(
      'carillon_inbox_age_seconds',
      'gauge',
      'For how long these metrics have shown requests in the inbox of the same shard: several scrapes are a fault.',
      Math.max(0, ...Array.from(this.#waitingSince.values(), (since) => now - since)) / 1000,
    )
  }

  *#onDisk(): Generator<string> {
    const { maintenance } = this.#store
    if (maintenance === undefined) return
    yield* metric('carillon_file_bytes', 'gauge', 'Size of the file store on the disk.', maintenance.size())
    yield* metric('carillon_file_free_bytes', 'gauge', 'Free space of its disk.', maintenance.freeBytes())
  }
}
