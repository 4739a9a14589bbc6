import { nameLimits } from '../../timer/index.js'
import type { Clock } from '../../time/index.js'
import type { Store, Strategy } from '../../store/index.js'
import { globalRunner, type TestRunner } from './runner.js'
import { World } from './world.js'

/** How a case wants its store. */
export interface ContractStoreOptions {
  /** The store's clock: it stands still until a case moves it, so a store must not wait on it to answer. */
  readonly clock: Clock
  readonly strategy: Strategy
  /** How many shards a case would like; a store may have another number. */
  readonly shardCount: number
  readonly maxPayloadBytes: number
}

/** Opens a fresh and empty store: one that has nothing of what an earlier one held. */
export type OpenContractStore = (options: ContractStoreOptions) => Promise<Store>

export interface StoreContractOptions {
  /** Of your test runner; its globals unless given. */
  readonly runner?: TestRunner
  /** Opens what a stopped store held. Without it the cases of durability are skipped. */
  readonly reopen?: (stopped: Store, options: ContractStoreOptions) => Promise<Store>
  /** Takes away what a stopped store left behind. */
  readonly remove?: (stopped: Store) => Promise<void>
  /** Why the store cannot do something; the cases that need it are skipped with these words. */
  readonly lacks?: { readonly claim?: string; readonly durability?: string }
  /** How much is compared with the model, and which: a failing round says what to put here. */
  readonly model?: { readonly seed?: number; readonly rounds?: number; readonly operationsPerRound?: number }
}

/** What one case wants of its store, where that is not the usual. */
export interface CaseOptions {
  readonly strategy?: Strategy
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  readonly timeoutMs?: number
}

/**
 * Where cases are said. Each gets a fresh store on a clock of its own, which is stopped and removed afterwards,
 * whatever became of the case.
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

  /** A case that this store cannot be asked, and why. */
  skip(title: string, reason: string): void {
    this.#runner.it.skip(`${title} (skipped: ${reason})`, () => Promise.resolve())
  }
}
