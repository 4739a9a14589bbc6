import type { Clock } from '../../time/index.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import { Throttle } from './throttle.js'

/** The throttle of each kind in an instance. Its shards share them. */
export class Throttles {
  readonly #clock: Clock
  readonly #policy: DeliveryPolicy
  readonly #byNamespace = new Map<string, Map<string, Throttle>>()

  constructor(clock: Clock, policy: DeliveryPolicy) {
    this.#clock = clock
    this.#policy = policy
  }

  of(namespace: string, kind: string): Throttle {
    let kinds = this.#byNamespace.get(namespace)
    if (kinds === undefined) this.#byNamespace.set(namespace, (kinds = new Map()))
    let throttle = kinds.get(kind)
    if (throttle === undefined) {
      const perSecond = this.#policy.rateOf(namespace, kind)
      throttle = new Throttle(this.#clock, this.#policy.concurrencyOf(namespace, kind), perSecond)
      kinds.set(kind, throttle)
    }
    return throttle
  }

  *[Symbol.iterator](): Generator<{ namespace: string; kind: string; throttle: Throttle }> {
    for (const [namespace, kinds] of this.#byNamespace)
      for (const [kind, throttle] of kinds) yield { namespace, kind, throttle }
  }

  /** Reads the limits of one kind again, and starts timers that wait for it. */
  refreshKind(namespace: string, kind: string): void {
    const throttle = this.#byNamespace.get(namespace)?.get(kind)
    if (throttle === undefined) return
    throttle.change(this.#policy.concurrencyOf(namespace, kind), this.#policy.rateOf(namespace, kind))
    throttle.wake()
  }

  /** A handler was added or removed, or a kind was paused: reads all limits again. */
  refresh(): void {
    for (const [namespace, kinds] of this.#byNamespace) {
      for (const [kind, throttle] of kinds) {
        throttle.change(this.#policy.concurrencyOf(namespace, kind), this.#policy.rateOf(namespace, kind))
      }
    }
  }
}
