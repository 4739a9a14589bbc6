import {
  type BreakerState,
  type Guard,
  guarded,
  type Handler,
  type LeaseDesk,
  type Target,
  type TimerFiring,
  type Webhook,
  WebhookDelivery,
} from '../delivery/index.js'
import type { Clock } from '../time/index.js'
import { handlerOf } from './handler-of.js'
import { timer, type TimerKind } from './kind.js'
import type { StoredTarget } from './stored-targets.js'

/** What becomes of a target. */
export interface TargetEvent {
  readonly type: 'target'
  readonly kind: string
  /**
   * 'open': it failed too often and is left alone. 'trying': one is sent, to see. 'gone': its kind was paused.
   * 'set' and 'removed': the store has another one, or none. 'refused': the one in the store cannot be used here.
   */
  readonly state: BreakerState | 'gone' | 'set' | 'removed' | 'refused'
}

/** A timer went to the log. */
export interface LoggedEvent {
  readonly type: 'logged'
  readonly firing: TimerFiring
}

/** Where kinds are sent to that are not handled here. */
export class Targets {
  readonly #parts: { readonly clock: Clock; readonly random: () => number }
  readonly #guard: Guard | undefined
  readonly #desk: LeaseDesk
  readonly #onEvent: (event: TargetEvent | LoggedEvent) => void
  readonly #deliveries = new Set<WebhookDelivery>()
  readonly #stored = new Map<string, WebhookDelivery>()

  constructor(parts: {
    clock: Clock
    random: () => number
    /** Over webhooks that have none of their own. */
    guard: Guard | undefined
    desk: LeaseDesk
    onEvent: (event: TargetEvent | LoggedEvent) => void
  }) {
    this.#parts = parts
    this.#guard = parts.guard
    this.#desk = parts.desk
    this.#onEvent = parts.onEvent
  }

  /** The handler that takes timers of a kind to a target. */
  handlerOf(kind: TimerKind<never> | TimerKind<unknown>, target: Target): Handler {
    return this.#handlerOf(kind, target, (delivery) => this.#deliveries.add(delivery))
  }

  /** The same for what the store has for a kind, in place of what it had before; what is under way goes on. */
  storedHandlerOf(kind: string, stored: StoredTarget): Handler | undefined {
    const before = this.#stored.get(kind)
    this.#stored.delete(kind)
    if (before !== undefined) void this.#retire(before)
    if (stored === undefined) return undefined
    if (stored === 'refused')
      return { ...handlerOf(timer(kind), 1), concurrency: 0, one: () => undefined, many: undefined }
    const { target, retry } = stored
    return this.#handlerOf(timer(kind, retry && { retry }), target, (delivery) => {
      this.#deliveries.add(delivery)
      this.#stored.set(kind, delivery)
    })
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#deliveries].map((delivery) => delivery.stop()))
  }

  #handlerOf(
    kind: TimerKind<never> | TimerKind<unknown>,
    target: Target,
    keep: (delivery: WebhookDelivery) => void,
  ): Handler {
    switch (target.type) {
      case 'webhook': {
        const delivery = this.#deliveryOf(kind.name, target)
        keep(delivery)
        return webhookHandler(handlerOf(kind, Infinity), target, delivery)
      }
      case 'lease':
        return this.#desk.handlerOf(handlerOf(kind, target.concurrency), target)
      case 'log': {
        const one = (firing: TimerFiring): void => this.#onEvent({ type: 'logged', firing })
        return { ...handlerOf(kind, 1000), one, many: undefined }
      }
    }
  }

  #deliveryOf(kind: string, target: Webhook): WebhookDelivery {
    const tell = (state: TargetEvent['state']): void => this.#onEvent({ type: 'target', kind, state })
    const webhook = this.#guard === undefined ? target : guarded(target, this.#guard)
    return new WebhookDelivery(webhook, {
      ...this.#parts,
      listener: { changed: tell, gone: () => tell('gone') },
    })
  }

  async #retire(delivery: WebhookDelivery): Promise<void> {
    try {
      await delivery.retire()
    } catch {
      // All were stopped meanwhile.
    }
    this.#deliveries.delete(delivery)
  }
}

function webhookHandler(
  base: Omit<Handler, 'one' | 'many'>,
  webhook: Webhook,
  delivery: WebhookDelivery,
): Handler {
  return {
    ...base,
    one: delivery.handle,
    many: undefined,
    rate: webhook.rate ?? base.rate,
    get concurrency() {
      return Math.min(base.concurrency, delivery.concurrency)
    },
  }
}
