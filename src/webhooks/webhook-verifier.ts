import { checkOptions, WebhookError } from '../error/index.js'
import { type Clock, type Duration, parseDuration, systemClock } from '../time/index.js'
import { parseSecrets, type Secret } from './secret.js'
import { isSigned } from './signature.js'

export interface VerifierOptions {
  /** How old, and by clocks that disagree how young, a message may be. Default 5 minutes. */
  readonly tolerance?: Duration
  readonly clock?: Clock
}

/** A message that is what its sender sent. */
export interface VerifiedWebhook {
  /** The same on every attempt: remember those you have dealt with, and deal with each once. */
  readonly id: string
  /** When this attempt was sent. */
  readonly sentAt: Date
  /** The body, read as JSON. */
  readonly message: unknown
}

/** Headers as Node, undici, fetch and most frameworks have them. */
export type WebhookHeaders =
  Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null }

const DEFAULT_TOLERANCE_MS = 300_000

/**
 * Tells real messages from forged and replayed ones, by the rules of Standard Webhooks. Give it the body as it came:
 * parsed and written anew it is another.
 */
export class WebhookVerifier {
  readonly #secrets: readonly Secret[]
  readonly #toleranceMs: number
  readonly #clock: Clock

  /** Several secrets are all accepted, so that one can be replaced without a gap. */
  constructor(secret: string | readonly string[], options: VerifierOptions = {}) {
    checkOptions('WebhookVerifier', options, ['tolerance', 'clock'])
    this.#secrets = parseSecrets(secret)
    this.#toleranceMs = parseDuration(options.tolerance ?? DEFAULT_TOLERANCE_MS)
    this.#clock = options.clock ?? systemClock
  }

  /** Gives the message, or throws a `WebhookError` that says why it is not to be believed. */
  verify(body: string | Uint8Array, headers: WebhookHeaders): VerifiedWebhook {
    const id = headerOf(headers, 'webhook-id')
    const timestamp = headerOf(headers, 'webhook-timestamp')
    const signature = headerOf(headers, 'webhook-signature')
    if (id === '' || signature === '' || !/^\d{1,12}$/.test(timestamp)) {
      throw new WebhookError(
        'webhook-unsigned',
        'the message lacks one of the headers webhook-id, webhook-timestamp (in seconds) and webhook-signature',
      )
    }
    const sentAt = Number(timestamp) * 1000
    const ageMs = this.#clock.now() - sentAt
    if (Math.abs(ageMs) > this.#toleranceMs) {
      throw new WebhookError(
        'webhook-expired',
        `the message was signed ${Math.round(Math.abs(ageMs) / 1000)} s ${ageMs > 0 ? 'ago' : 'ahead'}, ` +
          `and ${this.#toleranceMs / 1000} s are allowed`,
      )
    }
    if (!isSigned(this.#secrets, id, timestamp, body, signature))
      throw new WebhookError(
        'webhook-forged',
        'no signature of the message is by a secret that is known here',
      )
    return { id, sentAt: new Date(sentAt), message: messageOf(body) }
  }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? ''
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name]
  return typeof value === 'string' ? value : (value?.[0] ?? '')
}

function messageOf(body: string | Uint8Array): unknown {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new WebhookError('webhook-unreadable', 'the message is signed, and is not JSON', { cause: error })
  }
}
