import type { PeriodicTasks } from '../async/index.js'
import type { TimerEngine } from '../engine/index.js'
import type { Store } from '../store/index.js'
import { MAX_PRUNE_MS, MIN_PRUNE_MS } from './defaults.js'
import type { FiringRouter } from './deliver/firing-router.js'
import type { Kinds } from './kind/kinds.js'
import type { NamespaceQuota } from './set/namespace-quota.js'

interface UpkeepParts {
  readonly engine: TimerEngine
  readonly store: Store
  readonly kinds: Kinds
  readonly router: FiringRouter
  readonly quota: NamespaceQuota
  readonly tasks: PeriodicTasks
  /** Whether other instances may change pauses, targets, kinds and quotas. */
  readonly isShared: boolean
  /** Whether the engine was made for this namespace. Only then are there periodic prunes: one serves the whole store. */
  readonly isMain: boolean
  /** Infinity keeps the history for ever. */
  readonly historyMs: number
}

/**
 * Keeps a namespace up to date with the store: rereads the settings that other instances write, announces the kinds of
 * this one, and prunes old history. Proven by test/front/kinds.test.ts and test/front/history.test.ts.
 */
export class Upkeep {
  readonly #parts: UpkeepParts

  constructor(parts: UpkeepParts) {
    this.#parts = parts
  }

  /** Reads all settings. */
  async open(): Promise<void> {
    const { router, quota, kinds } = this.#parts
    await router.pauses.refresh()
    await quota.refresh()
    await kinds.refresh()
    await router.storedTargets.sealAll()
    await router.storedTargets.refresh()
  }

  /** Announces the kinds, and starts the periodic tasks. */
  async start(): Promise<void> {
    const { engine, kinds, tasks, isShared, isMain, historyMs } = this.#parts
    await kinds.rememberAll()
    if (isShared) tasks.every(engine.settings.acquireMs, 'settings', () => this.#refresh())
    if (isMain && historyMs !== Infinity)
      tasks.every(pruneMsOf(historyMs), 'pruneHistory', () => this.#prune())
  }

  /** Reads what a single pass needs to know. */
  async beforeDrain(): Promise<void> {
    const { router, kinds } = this.#parts
    await router.pauses.refresh()
    if (router.hasOthers) await kinds.refresh()
    await router.storedTargets.refresh()
    await kinds.rememberAll()
  }

  async afterDrain(): Promise<void> {
    if (this.#parts.historyMs !== Infinity) await this.#prune()
  }

  async #refresh(): Promise<void> {
    const { engine, router, kinds, quota } = this.#parts
    // Another instance may have set the first timer of a kind that goes to the handler for all other kinds.
    const hasNewKind = router.hasOthers && (await kinds.refresh())
    if ((await router.pauses.refresh()) || hasNewKind) engine.refresh()
    await router.storedTargets.refresh()
    await quota.refresh()
  }

  async #prune(): Promise<void> {
    const { engine, store, historyMs } = this.#parts
    await store.pruneHistory(engine.clock.now() - historyMs)
  }
}

/** Old history is pruned every hundredth of its retention, within limits. */
function pruneMsOf(historyMs: number): number {
  return Math.min(Math.max(historyMs / 100, MIN_PRUNE_MS), MAX_PRUNE_MS)
}
