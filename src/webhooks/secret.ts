import { createHash, createHmac } from 'node:crypto'
import { InvalidInputError } from '../error/index.js'

const PREFIX = 'whsec_'
const LEAST_BYTES = 24
const MOST_BYTES = 64

/**
 * A secret that sender and receiver share, as Standard Webhooks writes it: `whsec_` and then 24 to 64 bytes in
 * base64. It signs, and it is never shown: not in errors, not in logs, not as JSON.
 */
export class Secret {
  readonly #key: Buffer

  private constructor(key: Buffer) {
    this.#key = key
  }

  static parse(text: unknown): Secret {
    const coded = typeof text === 'string' ? text.slice(PREFIX.length) : ''
    const isCoded = /^[A-Za-z0-9+/]+={0,2}$/.test(coded)
    const key = isCoded ? Buffer.from(coded, 'base64') : Buffer.alloc(0)
    const isRight =
      typeof text === 'string' &&
      text.startsWith(PREFIX) &&
      key.length >= LEAST_BYTES &&
      key.length <= MOST_BYTES
    if (isRight) return new Secret(key)
    // What was got stays unsaid: it may be a real one with a slip in it.
    throw new InvalidInputError(
      'invalid-secret',
      `a secret is '${PREFIX}' and ${LEAST_BYTES} to ${MOST_BYTES} random bytes in base64, ` +
        `for instance '${PREFIX}' + randomBytes(32).toString('base64')`,
    )
  }

  /** The HMAC with SHA-256 of a signed content. */
  sign(...parts: readonly (string | Uint8Array)[]): Buffer {
    const hmac = createHmac('sha256', this.#key)
    for (const part of parts) hmac.update(part)
    return hmac.digest()
  }

  /** Tells one secret from another without saying anything of it. */
  get id(): string {
    return createHash('sha256').update('carillon secret id').update(this.#key).digest('hex').slice(0, 8)
  }

  toJSON(): string {
    return '[secret]'
  }
}

/** One secret or several: the first signs and all are accepted, so that one can be replaced without a gap. */
export function parseSecrets(secrets: string | readonly string[]): readonly [Secret, ...Secret[]] {
  const [first, ...others] = Array.isArray(secrets) ? (secrets as readonly string[]) : [secrets as string]
  return [Secret.parse(first), ...others.map((each) => Secret.parse(each))]
}
