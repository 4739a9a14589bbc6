import { randomUUID } from 'node:crypto'
import type { Clock } from '../../time/index.js'
import { type Secret, signatureOf } from '../../webhooks/index.js'
import { Dead, RetryAfter } from '../dead.js'
import { TimerFiring } from '../timer-firing.js'
import { type AnswerOutcome, outcomeOf, outcomesOf } from './answer-outcome.js'
import { Batches, type BatchItem } from './batches.js'
import { Breaker, type BreakerState } from './breaker.js'
import type { HttpSender, Message } from './http-sender.js'
import { batchBodyOf, bodyOf, messageIdOf } from './message-text.js'
import type { Webhook } from './webhook.js'

/** Receives changes of a target. */
export interface WebhookListener {
  /** The breaker has changed: more or fewer messages may be sent. */
  changed(state: BreakerState): void
  /** A message was answered with this status; undefined if there was no answer. */
  answered(status: number | undefined): void
  /** The target has answered that it is gone for good. */
  gone(): void
}

/**
 * Sends the firings of one kind to a URL, signed, and derives their outcomes from the answer. Every attempt at a firing
 * has the same id and body, but another timestamp.
 *
 * Proven by test/delivery/webhook.test.ts, test/delivery/batches.test.ts and test/delivery/fairness.test.ts.
 */
export class WebhookDelivery {
  readonly #webhook: Webhook
  readonly #clock: Clock
  readonly #random: () => number
  readonly #listener: WebhookListener
  // The HTTP client is imported only when there is a webhook.
  readonly #sender: Promise<HttpSender>
  readonly #breaker: Breaker | undefined
  readonly #batches: Batches | undefined
  // The sender once it is loaded.
  #ready: HttpSender | undefined
  #isRetired = false
  #underWay = 0
  #onIdle: (() => void) | undefined

  constructor(webhook: Webhook, parts: { clock: Clock; random: () => number; listener: WebhookListener }) {
    this.#webhook = webhook
    this.#clock = parts.clock
    this.#random = parts.random
    this.#listener = parts.listener
    this.#sender = this.#load()
    this.#batches =
      webhook.batch && new Batches(webhook.batch, parts.clock, (items) => void this.#sendBatch(items))
    this.#breaker =
      webhook.breaker &&
      new Breaker(webhook.breaker, parts.clock, (state) => {
        if (!this.#isRetired) parts.listener.changed(state)
      })
  }

  /** How many firings may be under way: none while the breaker is open, one as a trial. */
  get concurrency(): number {
    const { concurrency, batch } = this.#webhook
    switch (this.#breaker?.state ?? 'closed') {
      case 'closed':
        return concurrency * (batch?.most ?? 1)
      case 'trying':
        return 1
      case 'open':
        return 0
    }
  }

  readonly handle = async (firing: TimerFiring): Promise<void> => {
    this.#underWay++
    try {
      const outcome = await (this.#batches?.add(firing) ?? this.#sendOne(firing))
      if (outcome.type !== 'done') this.#follow(firing, outcome)
    } finally {
      if (--this.#underWay === 0) this.#onIdle?.()
    }
  }

  /** Another delivery replaces it. Messages under way go on, but the listener is no longer called. */
  async retire(): Promise<void> {
    this.#breaker?.stop()
    this.#isRetired = true
    // Also firings that wait for their batch, or have to be sent once more by themselves.
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await (await this.#sender).retire()
  }

  async stop(): Promise<void> {
    this.#breaker?.stop()
    await (await this.#sender).stop()
  }

  async #load(): Promise<HttpSender> {
    const { HttpSender } = await import('./http-sender.js')
    const { concurrency } = this.#webhook
    this.#ready = new HttpSender({ ...this.#webhook, connections: concurrency, clock: this.#clock })
    return this.#ready
  }

  /** Turns an outcome other than done into a call of `again` or `end`, or an error. */
  #follow(firing: TimerFiring, outcome: Exclude<AnswerOutcome, { readonly type: 'done' }>): void {
    switch (outcome.type) {
      case 'again':
        firing.again({ in: outcome.in })
        return
      case 'end':
        firing.end()
        return
      case 'retry':
        if (outcome.afterMs === undefined) throw new Error(outcome.reason)
        // All waiting firings got the same `Retry-After`. So that they do not come at once, each waits a bit longer.
        throw new RetryAfter(outcome.afterMs * (1 + this.#random() / 10), outcome.reason)
      case 'dead':
        if (outcome.isGone && !this.#isRetired) this.#listener.gone()
        throw new Dead(outcome.reason)
    }
  }

  async #sendOne(firing: TimerFiring): Promise<AnswerOutcome> {
    let outcome: AnswerOutcome
    try {
      const sender = this.#ready ?? (await this.#sender)
      const exchange = sender.send(
        this.#messageOf(messageIdOf(firing), bodyOf(firing), firing.attempt, firing.traceparent),
      )
      TimerFiring.onAbort(firing, exchange)
      const answer = await exchange.answer
      this.#listener.answered(answer.status)
      outcome = outcomeOf(answer, this.#clock.now())
    } catch (error) {
      this.#listener.answered(undefined)
      outcome = failure(error)
    }
    if (outcome.type === 'retry') this.#breaker?.failed()
    else this.#breaker?.succeeded()
    return outcome
  }

  async #sendBatch(items: readonly BatchItem[]): Promise<void> {
    const [first] = items
    const body = batchBodyOf(
      first!.firing.kind,
      items.map(({ text }) => text),
    )
    const ids = items.map(({ id }) => id)
    const firings = items.map(({ firing }) => firing)
    // A retry may be in another batch, so each message has a new id. The ids of its items stay the same.
    // Firings that travel together may belong to different traces.
    const trace = items.length === 1 ? first!.firing.traceparent : undefined
    const message = this.#messageOf(`msg_${randomUUID()}`, body, first!.firing.attempt, trace)
    let outcomes: AnswerOutcome[]
    try {
      const exchange = (this.#ready ?? (await this.#sender)).send(message)
      for (const firing of firings) TimerFiring.onAbort(firing, exchange)
      const answer = await exchange.answer
      this.#listener.answered(answer.status)
      outcomes = outcomesOf(answer, this.#clock.now(), ids)
    } catch (error) {
      this.#listener.answered(undefined)
      const outcome = failure(error)
      outcomes = firings.map(() => outcome)
    }
    // Only a message in which every firing failed counts against the target.
    if (outcomes.every(({ type }) => type === 'retry')) this.#breaker?.failed()
    else this.#breaker?.succeeded()
    const [all] = outcomes
    if (items.length > 1 && isRefusal(all) && outcomes.every((outcome) => outcome === all)) {
      // The target may refuse only one of them. The others must not become dead letters with it.
      await Promise.all(items.map((item) => this.#sendBatch([item])))
      return
    }
    for (const [index, { resolve }] of items.entries()) resolve(outcomes[index]!)
  }

  /** The secrets that sign: those of the target, and replaced ones whose grace is not over. */
  #secretsAt(now: number): readonly Secret[] {
    const { secrets, earlier = [] } = this.#webhook
    if (earlier.length === 0) return secrets
    return [...secrets, ...earlier.filter(({ until }) => now < until).map(({ secret }) => secret)]
  }

  #messageOf(id: string, body: string, attempt: number, trace: string | undefined): Message {
    const { headers } = this.#webhook
    const now = this.#clock.now()
    const secrets = this.#secretsAt(now)
    const timestamp = Math.floor(now / 1000)
    return {
      headers: {
        ...headers,
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureOf(secrets, id, timestamp, body),
        'carillon-attempt': String(attempt),
        ...(trace !== undefined && { traceparent: trace }),
      },
      body,
    }
  }
}

function isRefusal(outcome: AnswerOutcome | undefined): boolean {
  return outcome?.type === 'dead' && !outcome.isGone
}

function failure(error: unknown): AnswerOutcome {
  const reason = error instanceof Error ? error.message : String(error)
  return { type: 'retry', reason, afterMs: undefined }
}
