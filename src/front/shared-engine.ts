import {
  type EngineSettings,
  makeEngine,
  type OnEvent,
  type Peers,
  type TimerEngine,
} from '../engine/index.js'
import type { KindName, Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import type { Deliver, Firing } from '../timer/index.js'
import { type HistoryPolicy, notesOfAttempt } from './history-policy.js'
import type { Tracing } from './tracing.js'

/** What an engine asks of a namespace: who gets its firings, and how many of them at once. */
export interface NamespaceFlow {
  readonly deliver: Deliver
  readonly concurrencyOf: (kind: string) => number
  readonly rateOf: (kind: string) => number | undefined
  /** The kinds that may have firings now. */
  readonly kinds: () => readonly KindName[]
  /** Tells every handler under way to end. */
  readonly abortAll: (reason: Error) => void
  /** Answers workers who wait for firings: there will be none. */
  readonly stopWaiting: () => void
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

/** One engine and the namespaces it fires for. Timers of a namespace that nobody opened here wait. */
export class SharedEngine {
  readonly engine: TimerEngine
  readonly allowance = { left: Infinity }
  readonly #flows = new Map<string, NamespaceFlow>()

  constructor(parts: SharedEngineParts) {
    const { history, tracing, ...engineParts } = parts
    const deliver = (firings: readonly Firing[]): void => this.#deliver(firings)
    this.engine = makeEngine({
      ...engineParts,
      deliver: tracing === undefined ? deliver : (firings) => tracing.delivering(firings, deliver),
      flow: {
        concurrencyOf: (namespace, kind) => this.#flows.get(namespace)?.concurrencyOf(kind) ?? 0,
        rateOf: (namespace, kind) => this.#flows.get(namespace)?.rateOf(kind),
        kinds: () => [...this.#flows.values()].flatMap((flow) => flow.kinds()),
        allowance: this.allowance,
        notesOf: (firing, ending) => notesOfAttempt(history, firing, ending),
      },
    })
  }

  add(namespace: string, flow: NamespaceFlow): void {
    this.#flows.set(namespace, flow)
  }

  /** Firings of this namespace wait from now on. */
  remove(namespace: string): void {
    this.#flows.delete(namespace)
    this.engine.refresh()
  }

  /** Tells every handler under way to end, whatever its namespace. */
  abortAll(reason: Error): void {
    for (const flow of this.#flows.values()) flow.abortAll(reason)
  }

  stopWaiting(): void {
    for (const flow of this.#flows.values()) flow.stopWaiting()
  }

  // They come from one lane, so all of them are of one namespace and one kind.
  #deliver(firings: readonly Firing[]): void {
    const flow = this.#flows.get(firings[0]!.row.namespace)
    if (flow === undefined) throw new Error('a namespace that nobody opened has no lane')
    flow.deliver(firings)
  }
}
