import assert from 'node:assert/strict'
import type { Operation, Store } from '../../store/index.js'
import { shardOf, type TimerName } from '../../timer/index.js'
import { Owner } from './owner.js'
import { ContractClock } from './contract-clock.js'
import type { ContractStoreOptions, OpenContractStore, StoreContractOptions } from './suite.js'
import { NAMESPACE } from './sample.js'

type Setup = StoreContractOptions & { readonly open: OpenContractStore }

/** What one case works with: a store, its clock, and names of timers in a given shard. */
export class World {
  readonly clock: ContractClock
  readonly options: ContractStoreOptions
  readonly #setup: Setup
  #store: Store
  #names = 0
  #nonces = 0

  private constructor(setup: Setup, options: ContractStoreOptions, clock: ContractClock, store: Store) {
    this.#setup = setup
    this.options = options
    this.clock = clock
    this.#store = store
  }

  static async open(setup: Setup, wanted: Omit<ContractStoreOptions, 'clock'>): Promise<World> {
    const clock = new ContractClock()
    const options = { ...wanted, clock }
    return new World(setup, options, clock, await setup.open(options))
  }

  get store(): Store {
    return this.#store
  }

  now(): number {
    return this.clock.now()
  }

  /** Whether the store is durable and can be opened again. */
  get canReopen(): boolean {
    return this.#setup.reopen !== undefined
  }

  /** Stops the store and opens its data again. */
  async reopen(changed: Partial<ContractStoreOptions> = {}): Promise<void> {
    await this.#store.stop()
    assert.ok(this.#setup.reopen !== undefined, 'this case needs `reopen`')
    this.#store = await this.#setup.reopen(this.#store, { ...this.options, ...changed })
  }

  async end(): Promise<void> {
    await this.#store.stop()
    await this.#setup.remove?.(this.#store)
  }

  /** A name that no timer has yet, in this shard. */
  newName(shard = 0, { namespace = NAMESPACE, kind = 'sample' }: Partial<TimerName> = {}): TimerName {
    for (;;) {
      const name = { namespace, kind, key: `key-${this.#names++}` }
      if (shardOf(name, this.#store.shardCount) === shard) return name
    }
  }

  newNonce(): number {
    return ++this.#nonces
  }

  /** Acquires a shard, which must be free. */
  async own(shard = 0, owner = 'first', leaseMs = 30_000): Promise<Owner> {
    const row = (await this.#store.shards())[shard]
    assert.ok(row !== undefined, `the store has no shard ${shard}`)
    const claimed = await this.#store.acquire({
      shard,
      owner,
      nonce: this.newNonce(),
      leaseMs,
      expectedEpoch: row.epoch,
    })
    assert.ok(claimed !== undefined, `the claim of shard ${shard} by ${owner} was refused`)
    return new Owner(this, claimed)
  }

  /** Waits until the lease of the owner is over, and acquires its shard for another owner. */
  async takeOver(shard = 0, owner = 'second'): Promise<Owner> {
    await this.clock.advance(60_000)
    return await this.own(shard, owner)
  }

  /** Writes without a fence, for stores of the mode `claim`. */
  async write(...operations: readonly Operation[]) {
    return (await this.#store.write(undefined, { operations })).answers
  }
}
