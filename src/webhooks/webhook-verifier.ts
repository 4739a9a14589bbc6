import { checkOptions, WebhookError } from '../error/index.js'
import { type Clock, type Duration, parseDuration, systemClock } from '../time/index.js'
import { parseSecrets, type Secret } from './secret.js'
import { isSigned } from './signature.js'

/** The options of a `WebhookVerifier`. */
export interface VerifierOptions {
  /**
   * The maximum age of a message. Also how far its timestamp may be ahead of our clock. Default: 5 minutes.
   */
  readonly tolerance?: Duration
  readonly clock?: Clock
}

/** A message with a valid signature. */
export interface VerifiedWebhook {
  /** The same for every attempt. Remember the ids that you have handled, and handle each once. */
  readonly id: string
  /** When this attempt was sent. */
  readonly sentAt: Date
  /** The body, parsed as JSON. */
  readonly message: unknown
}

/** Headers as Node, undici, fetch and most frameworks provide them. */
export type WebhookHeaders =
  Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null }

const DEFAULT_TOLERANCE_MS = 300_000

/**
 * Accepts genuine messages and refuses forged and replayed ones, by the rules of Standard Webhooks. Pass the
 * body exactly as received: a body that was parsed and serialized again has another signature.
 *
 * Proven by test/webhooks/webhook-verifier.test.ts.
 */
export class WebhookVerifier {
  readonly #secrets: readonly Secret[]
  readonly #toleranceMs: number
  readonly #clock: Clock

  /** All of several secrets are accepted, so a secret can be replaced without an interruption. */
  constructor(secret: string | readonly string[], options: VerifierOptions = {}) {
    checkOptions('WebhookVerifier', options, ['tolerance', 'clock'])
    this.#secrets = parseSecrets(secret)
    this.#toleranceMs = parseDuration(options.tolerance ?? DEFAULT_TOLERANCE_MS)
    this.#clock = options.clock ?? systemClock
  }

  /** Returns the message, or throws a `WebhookError` that says why it must not be trusted. */
  verify(body: string | Uint8Array, headers: WebhookHeaders): VerifiedWebhook {
    const id = headerOf(headers, 'webhook-id')
    const timestamp = headerOf(headers, 'webhook-timestamp')
    const signature = headerOf(headers, 'webhook-signature')
    if (id === '' || signature === '' || !/^\d{1,12}$/.test(timestamp)) {
      throw new WebhookError(
        'webhook-unsigned',
        'missing header: a signed message has webhook-id, webhook-timestamp (in seconds) and webhook-signature',
      )
    }
    const sentAt = Number(timestamp) * 1000
    const ageMs = this.#clock.now() - sentAt
    if (Math.abs(ageMs) > this.#toleranceMs) {
      throw new WebhookError(
        'webhook-expired',
        `the message is dated ${Math.round(Math.abs(ageMs) / 1000)} s in the ${ageMs > 0 ? 'past' : 'future'}: ` +
          `at most ${this.#toleranceMs / 1000} s are allowed`,
      )
    }
    if (!isSigned(this.#secrets, id, timestamp, body, signature))
      throw new WebhookError('webhook-forged', 'no signature of the message matches a known secret')
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
    throw new WebhookError('webhook-unreadable', 'the signature is valid, but the body is not JSON', {
      cause: error,
    })
  }
}
