import { WebhookError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import { signatureOf } from '../../webhooks/index.js'
import { Dead, RetryAfter } from '../dead.js'
import { TimerFiring } from '../timer-firing.js'
import { outcomeOf } from './answer-outcome.js'
import { Breaker, type BreakerState } from './breaker.js'
import type { HttpSender } from './http-sender.js'
import type { Webhook } from './webhook.js'

/** What others want to know of a target. */
export interface WebhookListener {
  /** The breaker changed: more or fewer may be sent. */
  changed(state: BreakerState): void
  /** The target said that it is gone for good. */
  gone(): void
}

/**
 * Takes the firings of one kind to a URL, signed, and tells from the answer what becomes of each. What the target gets
 * twice has the same id: the body is the same on every attempt, the time of signing is not.
 */
export class WebhookDelivery {
  readonly #webhook: Webhook
  readonly #clock: Clock
  readonly #random: () => number
  readonly #listener: WebhookListener
  // What it needs is loaded only when there is a webhook.
  readonly #sender: Promise<HttpSender>
  readonly #breaker: Breaker | undefined
  #isRetired = false

  constructor(webhook: Webhook, parts: { clock: Clock; random: () => number; listener: WebhookListener }) {
    this.#webhook = webhook
    this.#clock = parts.clock
    this.#random = parts.random
    this.#listener = parts.listener
    this.#sender = senderFor(webhook, parts.clock)
    this.#breaker =
      webhook.breaker &&
      new Breaker(webhook.breaker, parts.clock, (state) => {
        if (!this.#isRetired) parts.listener.changed(state)
      })
  }

  /** How many may be under way: none while the target is left alone, one to see whether it is back. */
  get concurrency(): number {
    const { concurrency } = this.#webhook
    switch (this.#breaker?.state ?? 'closed') {
      case 'closed':
        return concurrency
      case 'trying':
        return 1
      case 'open':
        return 0
    }
  }

  readonly handle = async (firing: TimerFiring): Promise<void> => {
    const outcome = await this.#send(firing)
    if (outcome.type === 'retry') this.#breaker?.failed()
    else this.#breaker?.succeeded()
    switch (outcome.type) {
      case 'done':
        return
      case 'again':
        firing.again({ in: outcome.in })
        return
      case 'retry':
        if (outcome.afterMs === undefined) throw new Error(outcome.reason)
        // A little later than asked for, each at another time: all that wait for this were told the same.
        throw new RetryAfter(outcome.afterMs * (1 + this.#random() / 10), outcome.reason)
      case 'dead':
        if (outcome.isGone && !this.#isRetired) this.#listener.gone()
        throw new Dead(outcome.reason)
    }
  }

  /** Another takes its place: what is under way goes on, and nobody is told of it any more. */
  async retire(): Promise<void> {
    this.#breaker?.stop()
    this.#isRetired = true
    await (await this.#sender).retire()
  }

  async stop(): Promise<void> {
    this.#breaker?.stop()
    await (await this.#sender).stop()
  }

  async #send(firing: TimerFiring): Promise<ReturnType<typeof outcomeOf>> {
    const { origin, path, secrets, headers } = this.#webhook
    const id = messageIdOf(firing)
    const timestamp = Math.floor(this.#clock.now() / 1000)
    const body = bodyOf(firing)
    try {
      const sender = await this.#sender
      const answer = await sender.send(
        {
          origin,
          path,
          headers: {
            ...headers,
            'content-type': 'application/json',
            'webhook-id': id,
            'webhook-timestamp': String(timestamp),
            'webhook-signature': signatureOf(secrets, id, timestamp, body),
            'carillon-attempt': String(firing.attempt),
          },
          body,
        },
        (abort) => TimerFiring.onAbort(firing, abort),
      )
      return outcomeOf(answer, this.#clock.now())
    } catch (error) {
      if (error instanceof WebhookError && error.code === 'webhook-refused')
        return { type: 'dead', reason: error.message, isGone: false }
      return {
        type: 'retry',
        reason: error instanceof Error ? error.message : String(error),
        afterMs: undefined,
      }
    }
  }
}

async function senderFor(webhook: Webhook, clock: Clock): Promise<HttpSender> {
  const { HttpSender } = await import('./http-sender.js')
  return new HttpSender({ ...webhook, connections: webhook.concurrency, clock })
}

/** The same on every attempt at an occurrence, in characters that any header and any receiver takes. */
function messageIdOf(firing: TimerFiring): string {
  const { id } = TimerFiring.firingOf(firing)
  // Two timers may share an identity by chance: their names tell them apart.
  return `msg_${id}-${nameHash(`${firing.namespace}\0${firing.kind}\0${firing.key}`)}`
}

/** FNV-1a. */
function nameHash(text: string): string {
  let hash = 0x811c_9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193)
  return (hash >>> 0).toString(36)
}

function bodyOf(firing: TimerFiring): string {
  const { kind, key, occurrence, payload } = firing
  return JSON.stringify({
    type: kind,
    timestamp: new Date(firing.dueAt).toISOString(),
    key,
    occurrence,
    data: payload,
  })
}
