import type { Fence, LoadRequest, Operation, RowPage, Store } from 'carillon/store'

/** Owns the only shard of a store, as an engine would. */
export class BenchOwner {
  readonly store: Store
  #fence: Fence
  #readLevel: LoadRequest['from']
  #settlements = 0

  private constructor(store: Store, fence: Fence, readLevel: LoadRequest['from']) {
    this.store = store
    this.#fence = fence
    this.#readLevel = readLevel
  }

  static async claim(store: Store): Promise<BenchOwner> {
    const [before] = await store.shards()
    const nonce = before!.nonce + 1
    const row = await store.acquire({
      shard: 0,
      owner: `bench-${nonce}`,
      nonce,
      leaseMs: 1e9,
      expectedEpoch: before!.epoch,
    })
    if (row === undefined) throw new Error('the shard could not be acquired')
    const fence = { shard: 0, epoch: row.epoch, nonce, settledLevel: row.settledLevel }
    return new BenchOwner(store, fence, row.readLevel)
  }

  /** Writes operations. Returns how many had this outcome. */
  async write(operations: readonly Operation[], outcome: string): Promise<number> {
    const { answers } = await this.store.write(this.#fence, { operations })
    let count = 0
    for (const answer of answers) if (answer.outcome === outcome) count++
    return count
  }

  async load(untilExclusive: number, limit: number): Promise<RowPage> {
    const request = { from: this.#readLevel, untilExclusive, limit, limitBytes: 2 ** 30 }
    const { page, readLevel } = await this.store.load(this.#fence, request)
    this.#readLevel = readLevel
    return page
  }

  async settle(position: number, settledCount: number): Promise<void> {
    const level = { position, revision: 0 }
    const id = ++this.#settlements
    const nothing = { done: [], followUps: [], dead: [], history: [] }
    await this.store.settle(this.#fence, { id, level, settledCount, ...nothing })
    this.#fence = { ...this.#fence, settledLevel: level }
  }

  async sweep(): Promise<void> {
    while ((await this.store.sweep(this.#fence)).more);
  }

  async release(): Promise<void> {
    await this.store.release(this.#fence)
  }
}
