import assert from 'node:assert/strict'
import type { Operation, Store } from '../../store/index.js'
import { shardOf, type TimerName } from '../../timer/index.js'
import { Owner } from './owner.js'
import { ContractClock } from './contract-clock.js'
import type { ContractStoreOptions, OpenContractStore, StoreContractOptions } from './suite.js'
import { NAMESPACE } from './sample.js'

type Setup = StoreContractOptions & { readonly open: OpenContractStore }

/** What one case works with: a store, its clock, and names that fall into a shard. */
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

  /** Stops the store and opens what it held. */
  async reopen(changed: Partial<ContractStoreOptions> = {}): Promise<void> {
    await this.#store.stop()
    assert.ok(this.#setup.reopen !== undefined, 'this case needs `reopen`')
    this.#store = await this.#setup.reopen(this.#store, { ...this.options, ...changed })
  }

  async end(): Promise<void> {
    await this.#store.stop()
    await this.#setup.remove?.(this.#store)
  }

  /** A name that nobody has yet, in this shard. */
  newName(shard = 0): TimerName {
    for (;;) {
      const name = { namespace: NAMESPACE, kind: 'sample', key: `key-${this.#names++}` }
      if (shardOf(name, this.#store.shardCount) === shard) return name
    }
  }

  newNonce(): number {
    return ++this.#nonces
  }

  /** Claims a shard, which must be free. */
  async own(shard = 0, owner = 'first', leaseMs = 30_000): Promise<Owner> {
    const row = (await this.#store.shards())[shard]
    assert.ok(row !== undefined, `the store has no shard ${shard}`)
    const claimed = await this.#store.claim({
      shard,
      owner,
      nonce: this.newNonce(),
      leaseMs,
      expectedEpoch: row.epoch,
    })
    assert.ok(claimed !== undefined, `the claim of shard ${shard} by ${owner} was refused`)
    return new Owner(this, claimed)
  }

  /** Lets the lease of the owner pass and claims its shard for somebody else. */
  async takeOver(shard = 0, owner = 'second'): Promise<Owner> {
    await this.clock.advance(60_000)
    return await this.own(shard, owner)
  }

  /** Writes without an owner, as stores of the strategy `claim` are written to. */
  async write(...operations: readonly Operation[]) {
    return (await this.#store.write(undefined, { operations })).answers
  }
}
