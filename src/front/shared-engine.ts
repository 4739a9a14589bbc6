import {
  type EngineSettings,
  KindFilter,
  type KindsOfNamespace,
  makeEngine,
  type OnEvent,
  type Peers,
  type TimerEngine,
} from '../engine/index.js'
import type { KindName, Store } from '../store/index.js'
import type { HandlerThreadsStats } from '../delivery/index.js'
import { StateError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { Deliver, Firing } from '../timer/index.js'
import { type HistoryPolicy, notesOfAttempt } from './read/history-policy.js'
import { THREADS_STOP_AT } from './defaults.js'
import type { ThreadsOfKind } from './timers-stats.js'
import type { Tracing } from './event/tracing.js'

/** What the engine needs from a namespace: who gets its firings, and how many at once. */
export interface NamespaceDelivery {
  readonly deliver: Deliver
  readonly concurrencyOf: (kind: string) => number
  readonly rateOf: (kind: string) => number | undefined
  /** Whether the kind has a handler here, paused or not. */
  readonly handles: (kind: string) => boolean
  /** The kinds whose due timers other owners may offer to this instance. */
  readonly takes: () => KindsOfNamespace
  /** The kinds that may have firings now. */
  readonly kinds: () => readonly KindName[]
  /** Aborts the signals of all running handlers. */
  readonly abortAll: (reason: Error) => void
  /** Ends the calls of workers that wait for firings, with none. */
  readonly stopWaiting: () => void
  /** Ends the threads of handlers. Attempts that run in them fail. */
  readonly endThreads: () => Promise<void>
  /** What these threads do, by kind. */
  readonly threads: () => readonly HandlerThreadsStats[]
}

export interface SharedEngineParts {
  readonly store: Store
  readonly clock: Clock
  readonly random: () => number
  readonly settings: Partial<EngineSettings>
  readonly history: HistoryPolicy
  readonly holdsAll: boolean
  readonly tracing?: Tracing | undefined
  readonly onEvent: OnEvent
  readonly peers: Peers | undefined
}

/**
 * One engine and the namespaces it fires for. Timers in a namespace that was not opened here are offered to an instance
 * in which it is open. Proven by test/front/within.test.ts and test/front/pools.test.ts.
 */
export class SharedEngine {
  readonly engine: TimerEngine
  readonly allowance = { left: Infinity }
  readonly #namespaces = new Map<string, NamespaceDelivery>()

  constructor(parts: SharedEngineParts) {
    const { history, tracing, ...engineParts } = parts
    const deliver = (firings: readonly Firing[]): void => this.#deliver(firings)
    this.engine = makeEngine({
      ...engineParts,
      deliver: tracing === undefined ? deliver : (firings) => tracing.delivering(firings, deliver),
      policy: {
        concurrencyOf: (namespace, kind) => this.#namespaces.get(namespace)?.concurrencyOf(kind) ?? 0,
        rateOf: (namespace, kind) => this.#namespaces.get(namespace)?.rateOf(kind),
        handles: (namespace, kind) => this.#namespaces.get(namespace)?.handles(kind) ?? false,
        takes: () => KindFilter.of([...this.#namespaces.values()].map((delivery) => delivery.takes())),
        kinds: () => [...this.#namespaces.values()].flatMap((delivery) => delivery.kinds()),
        allowance: this.allowance,
        notesSuccesses: history === 'all',
        notesOf: (firing, ending) => notesOfAttempt(history, firing, ending),
      },
    })
  }

  add(namespace: string, delivery: NamespaceDelivery): void {
    this.#namespaces.set(namespace, delivery)
  }

  /** From now on, the timers of this namespace wait. */
  remove(namespace: string): void {
    this.#namespaces.delete(namespace)
    this.engine.refresh()
  }

  /** Stops the engine, and in every namespace what waits or runs. `clock` is this machine's. */
  async stop(clock: Clock): Promise<void> {
    const { stopMs } = this.engine.settings
    for (const delivery of this.#namespaces.values()) delivery.stopWaiting()
    // Handlers get half of the time to end by themselves. Then their signals are aborted.
    const patience = clock.wakeAfter(stopMs / 2, () => {
      const reason = new StateError('stopped', 'these timers are being stopped')
      for (const delivery of this.#namespaces.values()) delivery.abortAll(reason)
    })
    // What runs on a thread can be ended. So its outcome is stored, and the next owner need not find out about it.
    const lastPatience = clock.wakeAfter(stopMs * THREADS_STOP_AT, () => void this.#endThreads())
    await this.engine.stop()
    await this.#endThreads()
    patience.cancel()
    lastPatience.cancel()
  }

  /** Ends the threads of handlers. Attempts that run in them fail as interrupted. */
  async #endThreads(): Promise<void> {
    await Promise.all([...this.#namespaces.values()].map((delivery) => delivery.endThreads()))
  }

  /** What the threads of handlers do, in every namespace. */
  threads(): ThreadsOfKind[] {
    const all: ThreadsOfKind[] = []
    for (const [namespace, delivery] of this.#namespaces)
      for (const stats of delivery.threads()) all.push({ namespace, ...stats })
    return all
  }

  // The firings come from one lane, so they have the same namespace and kind.
  #deliver(firings: readonly Firing[]): void {
    const { namespace } = firings[0]!.row
    const delivery = this.#namespaces.get(namespace)
    if (delivery === undefined)
      throw new Error(`no lane may exist for namespace ${namespace}: it is not open`)
    delivery.deliver(firings)
  }
}
