import { nameLimits } from '../../timer/index.js'
import type { Clock } from '../../time/index.js'
import type { Store, StoreMode } from '../../store/index.js'
import { globalRunner, type TestRunner } from './runner.js'
import { World } from './world.js'

/** The store that a case needs. */
export interface ContractStoreOptions {
  /** The store's clock. It moves only when a case advances it, so a store must not wait for it to answer a call. */
  readonly clock: Clock
  readonly strategy: StoreMode
  /** The number of shards that the case prefers; a store may have another number. */
  readonly shardCount: number
  readonly maxPayloadBytes: number
}

/** Opens a new, empty store that shares no data with earlier ones. */
export type OpenContractStore = (options: ContractStoreOptions) => Promise<Store>

/** What the contract needs to test a store. */
export interface StoreContractOptions {
  /** `describe` and `it` of your test runner. Default: the globals. */
  readonly runner?: TestRunner
  /** Opens the data of a stopped store again. Without it, the cases about durability are skipped. */
  readonly reopen?: (stopped: Store, options: ContractStoreOptions) => Promise<Store>
  /** Deletes the data of a stopped store. */
  readonly remove?: (stopped: Store) => Promise<void>
  /** Why the store lacks a capability. Cases that need it are skipped with this reason. */
  readonly lacks?: { readonly claim?: string; readonly durability?: string }
  /** Which random rounds to run. A failing round prints what to put here to repeat it. */
  readonly model?: { readonly seed?: number; readonly rounds?: number; readonly operationsPerRound?: number }
}

/** How the store of one case differs from the default. */
export interface CaseOptions {
  readonly strategy?: StoreMode
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  readonly timeoutMs?: number
}

/**
 * Registers cases with the test runner. Each case gets a new store on its own clock. The store is stopped and removed
 * afterwards, also when the case fails.
 */
export class Suite {
  readonly setup: StoreContractOptions & { readonly open: OpenContractStore }
  readonly #runner: TestRunner

  constructor(open: OpenContractStore, options: StoreContractOptions) {
    this.setup = { ...options, open }
    this.#runner = options.runner ?? globalRunner()
  }

  group(title: string, body: () => void): void {
    this.#runner.describe(title, body)
  }

  case(title: string, run: (world: World) => Promise<void>, wanted: CaseOptions = {}): void {
    const {
      strategy = 'owned',
      shardCount = 1,
      maxPayloadBytes = nameLimits.payloadBytes,
      timeoutMs = 60_000,
    } = wanted
    const { claim } = this.setup.lacks ?? {}
    if (strategy === 'claim' && claim !== undefined) {
      this.skip(title, claim)
      return
    }
    this.#runner.it(
      title,
      async () => {
        const world = await World.open(this.setup, { strategy, shardCount, maxPayloadBytes })
        try {
          await run(world)
        } finally {
          await world.end()
        }
      },
      timeoutMs,
    )
  }

  /** Registers a case as skipped, with the reason in its title. */
  skip(title: string, reason: string): void {
    this.#runner.it.skip(`${title} (skipped: ${reason})`, () => Promise.resolve())
  }
}
