import type { Clock } from '../time/index.js'
import type { Flow } from './flow.js'
import { Throttle } from './throttle.js'

/** The throttle of each kind in an instance: its shards share them. */
export class Throttles {
  readonly #clock: Clock
  readonly #flow: Flow
  readonly #byNamespace = new Map<string, Map<string, Throttle>>()

  constructor(clock: Clock, flow: Flow) {
    this.#clock = clock
    this.#flow = flow
  }

  of(namespace: string, kind: string): Throttle {
    let kinds = this.#byNamespace.get(namespace)
    if (kinds === undefined) this.#byNamespace.set(namespace, (kinds = new Map()))
    let throttle = kinds.get(kind)
    if (throttle === undefined) {
      const perSecond = this.#flow.rateOf(namespace, kind)
      throttle = new Throttle(this.#clock, this.#flow.concurrencyOf(namespace, kind), perSecond)
      kinds.set(kind, throttle)
    }
    return throttle
  }

  /** Asks again what is allowed of one kind, and lets those start that wait for it. */
  refreshKind(namespace: string, kind: string): void {
    const throttle = this.#byNamespace.get(namespace)?.get(kind)
    if (throttle === undefined) return
    throttle.change(this.#flow.concurrencyOf(namespace, kind), this.#flow.rateOf(namespace, kind))
    throttle.wake()
  }

  /** A handler came or went, or something was paused: asks again what is allowed. */
  refresh(): void {
    for (const [namespace, kinds] of this.#byNamespace) {
      for (const [kind, throttle] of kinds) {
        throttle.change(this.#flow.concurrencyOf(namespace, kind), this.#flow.rateOf(namespace, kind))
      }
    }
  }
}
