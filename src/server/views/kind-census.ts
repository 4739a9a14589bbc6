import type { CallOptions, Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { MAX_VERIFY_MS, OVERDUE_MS } from '../defaults.js'
import { BackgroundCount, type Counted } from './background-count.js'

/** The timers of one kind in the store. */
export interface KindTimers {
  readonly pending: number
  readonly overdue: number
  /** When the first overdue one was due. */
  readonly oldestDueAt: number | undefined
  readonly retrying: number
  readonly paused: number
}

/** By namespace and kind. */
export type CensusResult = ReadonlyMap<string, ReadonlyMap<string, KindTimers>>

// A paused timer is due at the last instant of a `Date`.
const NEVER = 8.64e15

/** Counts all timers of the store by namespace, kind and state, in the background. */
export class KindCensus {
  readonly #timers: Timers
  readonly #store: Store
  readonly #count: BackgroundCount<CensusResult>

  constructor(timers: Timers, store: Store, clock: Clock) {
    this.#timers = timers
    this.#store = store
    this.#count = new BackgroundCount(clock, () => this.#census())
  }

  newest(limits?: CallOptions): Promise<Counted<CensusResult>> {
    return this.#timers.bounded(limits, () => this.#count.newest())
  }

  async #census(): Promise<CensusResult> {
    const { engine } = this.#timers
    const kinds = await this.#timers.bounded({ timeout: MAX_VERIFY_MS }, async () => {
      await engine.applyAcknowledged()
      const overdue = Math.floor(engine.storeNow()) - OVERDUE_MS
      return await this.#store.countKinds({ edges: [0, Math.max(0, overdue), NEVER, NEVER + 1] })
    })
    const byNamespace = new Map<string, Map<string, KindTimers>>()
    for (const { namespace, kind, counts, attempted, firstDueAt } of kinds) {
      const [overdue = 0, later = 0, paused = 0] = counts
      let ofNamespace = byNamespace.get(namespace)
      if (ofNamespace === undefined) byNamespace.set(namespace, (ofNamespace = new Map()))
      ofNamespace.set(kind, {
        pending: overdue + later + paused,
        overdue,
        oldestDueAt: overdue > 0 ? firstDueAt : undefined,
        retrying: attempted,
        paused,
      })
    }
    return byNamespace
  }
}
