import { type BreakerState, type Handler, type Webhook, WebhookDelivery } from '../delivery/index.js'
import type { Clock } from '../time/index.js'

/** What becomes of a target. */
export interface TargetEvent {
  readonly type: 'target'
  readonly kind: string
  /** 'open': it failed too often and is left alone. 'trying': one is sent, to see. 'gone': its kind was paused. */
  readonly state: BreakerState | 'gone'
}

/** Where kinds are sent to that are not handled here. */
export class Targets {
  readonly #parts: { readonly clock: Clock; readonly random: () => number }
  readonly #onChange: (event: TargetEvent) => void
  readonly #deliveries: WebhookDelivery[] = []

  constructor(parts: { clock: Clock; random: () => number; onChange: (event: TargetEvent) => void }) {
    this.#parts = parts
    this.#onChange = parts.onChange
  }

  /** The handler that sends to a webhook what `base` would get. */
  handlerOf(base: Omit<Handler, 'one' | 'many'>, webhook: Webhook): Handler {
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
