import { createHash, hash } from 'node:crypto'
import { InvalidInputError } from '../error/index.js'

const PREFIX = 'whsec_'
const LEAST_BYTES = 24
const MOST_BYTES = 64

// Of SHA-256. A secret is never longer than a block, so it is its own key.
const BLOCK_BYTES = 64
const HASH_BYTES = 32

// What is hashed is put together here; longer messages get a buffer of their own.
const scratch = Buffer.allocUnsafeSlow(16_384)

/**
 * A secret that sender and receiver share, as Standard Webhooks writes it: `whsec_` and then 24 to 64 bytes in
 * base64. It signs, and it is never shown: not in errors, not in logs, not as JSON.
 */
export class Secret {
  readonly #key: Buffer
  // The key as both hashes of HMAC begin with it; the second has room for the first hash.
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

  /**
   * The HMAC with SHA-256 of a signed content, in base64. By two hashes: an object of `createHmac` for each message
   * costs more than the hashing, and more again when it is collected.
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
