import {
  type BreakerState,
  type Handler,
  type LeaseDesk,
  type LeaseTarget,
  type Webhook,
  WebhookDelivery,
} from '../delivery/index.js'
import type { Clock } from '../time/index.js'

/** What becomes of a target. */
export interface TargetEvent {
  readonly type: 'target'
  readonly kind: string
  /** 'open': it failed too often and is left alone. 'trying': one is sent, to see. 'gone': its kind was paused. */
  readonly state: BreakerState | 'gone'
}

/** Where the timers of a kind go, instead of to a function. */
export type Target = Webhook | LeaseTarget

/** Where kinds are sent to that are not handled here. */
export class Targets {
  readonly #parts: { readonly clock: Clock; readonly random: () => number }
  readonly #desk: LeaseDesk
  readonly #onChange: (event: TargetEvent) => void
  readonly #deliveries: WebhookDelivery[] = []

  constructor(parts: {
    clock: Clock
    random: () => number
    desk: LeaseDesk
    onChange: (event: TargetEvent) => void
  }) {
    this.#parts = parts
    this.#desk = parts.desk
    this.#onChange = parts.onChange
  }

  /** The handler that takes to a target what `base` would get. */
  handlerOf(base: Omit<Handler, 'one' | 'many'>, target: Target): Handler {
    switch (target.type) {
      case 'webhook':
        return this.#webhookHandler(base, target)
      case 'lease':
        return this.#desk.handlerOf(base, target)
    }
  }

  #webhookHandler(base: Omit<Handler, 'one' | 'many'>, webhook: Webhook): Handler {
    const tell = (state: TargetEvent['state']): void =>
      this.#onChange({ type: 'target', kind: base.kind, state })
    const delivery = new WebhookDelivery(webhook, {
      ...this.#parts,
      listener: { changed: tell, gone: () => tell('gone') },
    })
    this.#deliveries.push(delivery)
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

  async stop(): Promise<void> {
    await Promise.all(this.#deliveries.map((delivery) => delivery.stop()))
  }
}
