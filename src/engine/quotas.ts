import type { Clock } from '../time/index.js'
import type { Flow } from './flow.js'
import { Quota } from './quota.js'

/** The quota of each kind in an instance: its shards share them. */
export class Quotas {
  readonly #clock: Clock
  readonly #flow: Flow
  readonly #byNamespace = new Map<string, Map<string, Quota>>()

  constructor(clock: Clock, flow: Flow) {
    this.#clock = clock
    this.#flow = flow
  }

  of(namespace: string, kind: string): Quota {
    let kinds = this.#byNamespace.get(namespace)
    if (kinds === undefined) this.#byNamespace.set(namespace, (kinds = new Map()))
    let quota = kinds.get(kind)
    if (quota === undefined) {
      const perSecond = this.#flow.rateOf(namespace, kind)
      quota = new Quota(this.#clock, this.#flow.concurrencyOf(namespace, kind), perSecond)
      kinds.set(kind, quota)
    }
    return quota
  }

  /** Asks again what is allowed of one kind, and lets those start that wait for it. */
  refreshKind(namespace: string, kind: string): void {
    const quota = this.#byNamespace.get(namespace)?.get(kind)
    if (quota === undefined) return
    quota.change(this.#flow.concurrencyOf(namespace, kind), this.#flow.rateOf(namespace, kind))
    quota.wake()
  }

  /** A handler came or went, or something was paused: asks again what is allowed. */
  refresh(): void {
    for (const [namespace, kinds] of this.#byNamespace) {
      for (const [kind, quota] of kinds) {
        quota.change(this.#flow.concurrencyOf(namespace, kind), this.#flow.rateOf(namespace, kind))
      }
    }
  }
}
