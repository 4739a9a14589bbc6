import { createHash, hash } from 'node:crypto'
import { InvalidInputError } from '../error/index.js'

const PREFIX = 'whsec_'
const MIN_BYTES = 24
const MAX_BYTES = 64

// The sizes of SHA-256. A secret is never longer than a block, so HMAC uses it as it is.
const BLOCK_BYTES = 64
const HASH_BYTES = 32

// Messages are assembled here for hashing. Longer messages get a buffer of their own.
const scratch = Buffer.allocUnsafeSlow(16_384)

/**
 * A secret shared by sender and receiver, in the format of Standard Webhooks: `whsec_` and then 24 to 64
 * bytes in base64. It signs messages. It is never shown in errors, logs or JSON.
 *
 * Proven by test/webhooks/secret.test.ts and test/webhooks/webhook-verifier.test.ts.
 */
export class Secret {
  readonly #key: Buffer
  // The padded keys with which the two hashes of HMAC begin. The outer one has space for the inner hash.
  readonly #inner = Buffer.alloc(BLOCK_BYTES, 0x36)
  readonly #outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x5c)

  private constructor(key: Buffer) {
    this.#key = key
    for (const [index, byte] of key.entries()) {
      this.#inner[index]! ^= byte
      this.#outer[index]! ^= byte
    }
  }

  static parse(text: unknown): Secret {
    const coded = typeof text === 'string' ? text.slice(PREFIX.length) : ''
    const isCoded = /^[A-Za-z0-9+/]+={0,2}$/.test(coded)
    const key = isCoded ? Buffer.from(coded, 'base64') : Buffer.alloc(0)
    const isRight =
      typeof text === 'string' &&
      text.startsWith(PREFIX) &&
      key.length >= MIN_BYTES &&
      key.length <= MAX_BYTES
    if (isRight) return new Secret(key)
    // Do not show the value: it may be a real secret with a typo.
    throw new InvalidInputError(
      'invalid-secret',
      `a secret must be '${PREFIX}' followed by ${MIN_BYTES} to ${MAX_BYTES} random bytes in base64, ` +
        `for example '${PREFIX}' + randomBytes(32).toString('base64')`,
    )
  }

  /**
   * Returns the HMAC-SHA256 of a signed content, in base64. It calls the hash function twice, because a
   * `createHmac` object per message costs more than the hashing, and garbage collection on top.
   */
  sign(head: string, body: string | Uint8Array): string {
    const mostBytes = BLOCK_BYTES + 3 * head.length + (typeof body === 'string' ? 3 : 1) * body.length
    const content = mostBytes <= scratch.length ? scratch : Buffer.allocUnsafe(mostBytes)
    content.set(this.#inner)
    let end = BLOCK_BYTES
    end += content.write(head, end)
    if (typeof body === 'string') end += content.write(body, end)
    else {
      content.set(body, end)
      end += body.length
    }
    this.#outer.write(hash('sha256', content.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1')
    return hash('sha256', this.#outer, 'base64')
  }

  /** Identifies a secret without revealing anything about it. */
  get id(): string {
    return createHash('sha256').update('carillon secret id').update(this.#key).digest('hex').slice(0, 8)
  }

  toJSON(): string {
    return '[secret]'
  }
}

/**
 * Parses one secret or several. A sender signs with each, and a receiver accepts each. So a secret can be replaced
 * without an interruption.
 */
export function parseSecrets(secrets: string | readonly string[]): readonly [Secret, ...Secret[]] {
  const [first, ...others] = Array.isArray(secrets) ? (secrets as readonly string[]) : [secrets as string]
  return [Secret.parse(first), ...others.map((each) => Secret.parse(each))]
}
