import {
  type BreakerState,
  type Guard,
  guarded,
  type Handler,
  type LeaseBroker,
  type Target,
  type TimerFiring,
  type Webhook,
  WebhookDelivery,
} from '../../delivery/index.js'
import type { Clock } from '../../time/index.js'
import { handlerOf } from './handler-of.js'
import { timer, type UnknownKind } from '../kind/kind.js'
import { AnswerCounts } from './delivery-report.js'
import type { StoredTarget } from './stored-targets.js'

/** The state of a target has changed. */
export interface TargetEvent {
  readonly type: 'target'
  readonly kind: string
  /**
   * 'open': it failed too often, and gets nothing for a while. 'trying': it gets one firing as a test. 'closed': it
   * works again. 'gone': its kind was paused. 'set', 'removed': the stored target has changed, or was removed.
   * 'refused': this instance cannot use the stored target.
   */
  readonly state: BreakerState | 'gone' | 'set' | 'removed' | 'refused'
}

/** A timer whose target is the log has fired. */
export interface LoggedEvent {
  readonly type: 'logged'
  readonly firing: TimerFiring
}

/** Makes handlers that take firings to targets: webhooks, workers or the log. Proven by test/front/targets.test.ts. */
export class Targets {
  readonly #parts: { readonly clock: Clock; readonly random: () => number }
  readonly #guard: Guard | undefined
  readonly #broker: LeaseBroker
  readonly #onEvent: (event: TargetEvent | LoggedEvent) => void
  readonly #deliveries = new Set<WebhookDelivery>()
  readonly #stored = new Map<string, WebhookDelivery>()
  readonly answers = new AnswerCounts()

  constructor(parts: {
    clock: Clock
    random: () => number
    /** For webhooks without their own guard. */
    guard: Guard | undefined
    broker: LeaseBroker
    onEvent: (event: TargetEvent | LoggedEvent) => void
  }) {
    this.#parts = parts
    this.#guard = parts.guard
    this.#broker = parts.broker
    this.#onEvent = parts.onEvent
  }

  /** The handler that takes the firings of a kind to a target. */
  handlerOf(kind: UnknownKind, target: Target): Handler {
    return this.#handlerOf(kind, target, (delivery) => this.#deliveries.add(delivery))
  }

  /** The same for a stored target. It replaces the kind's previous one, whose running deliveries go on. */
  storedHandlerOf(kind: string, stored: StoredTarget): Handler | undefined {
    const before = this.#stored.get(kind)
    this.#stored.delete(kind)
    if (before !== undefined) void this.#retire(before)
    if (stored === undefined) return undefined
    if (stored === 'refused' || stored === 'sealed')
      return {
        ...handlerOf(timer(kind), 1),
        concurrency: 0,
        isRefused: true,
        one: () => undefined,
        many: undefined,
      }
    const { target, retry } = stored
    return this.#handlerOf(timer(kind, retry && { retry }), target, (delivery) => {
      this.#deliveries.add(delivery)
      this.#stored.set(kind, delivery)
    })
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#deliveries].map((delivery) => delivery.stop()))
  }

  #handlerOf(kind: UnknownKind, target: Target, keep: (delivery: WebhookDelivery) => void): Handler {
    switch (target.type) {
      case 'webhook': {
        const delivery = this.#deliveryOf(kind.name, target)
        keep(delivery)
        return webhookHandler(handlerOf(kind, Infinity), target, delivery)
      }
      case 'lease':
        return this.#broker.handlerOf(handlerOf(kind, target.concurrency), target)
      case 'log': {
        const one = (firing: TimerFiring): void => this.#onEvent({ type: 'logged', firing })
        return { ...handlerOf(kind), one, many: undefined }
      }
    }
  }

  #deliveryOf(kind: string, target: Webhook): WebhookDelivery {
    const emit = (state: TargetEvent['state']): void => this.#onEvent({ type: 'target', kind, state })
    const webhook = this.#guard === undefined ? target : guarded(target, this.#guard)
    return new WebhookDelivery(webhook, {
      ...this.#parts,
      listener: {
        changed: emit,
        answered: (status) => this.answers.add(kind, status),
        gone: () => emit('gone'),
      },
    })
  }

  async #retire(delivery: WebhookDelivery): Promise<void> {
    try {
      await delivery.retire()
    } catch {
      // `stop` has stopped it meanwhile.
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
