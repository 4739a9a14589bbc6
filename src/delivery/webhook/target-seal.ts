import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { InvalidInputError, StateError } from '../../error/index.js'

const MARK = 'sealed-1:'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

interface SealKey {
  readonly id: string
  readonly bytes: Buffer
}

/** A new key for `TargetSeal`, as text. */
export function newSealKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

/**
 * Encrypts the targets in a store, which hold the secrets and headers of webhooks, with a key that is not in the store
 * (AES-256-GCM). A sealed text can be opened only under the name for which it was sealed, so nobody can put the target of
 * one kind in the place of another. The first key seals; every key opens, so that a key can be replaced.
 *
 * Proven by test/delivery/target-seal.test.ts.
 */
export class TargetSeal {
  readonly #keys: readonly [SealKey, ...SealKey[]]

  private constructor(keys: readonly [SealKey, ...SealKey[]]) {
    this.#keys = keys
  }

  /** Keys of 32 bytes in base64 or hexadecimal digits, separated by commas. */
  static parse(text: string): TargetSeal {
    const [first, ...others] = text.split(',').map((each) => parseKey(each.trim()))
    return new TargetSeal([first!, ...others])
  }

  /** Whether a text is sealed. */
  static isSealed(text: string): boolean {
    return text.startsWith(MARK)
  }

  /** Whether a text is sealed with the key that seals now. */
  isCurrent(text: string): boolean {
    return text.startsWith(`${MARK}${this.#keys[0].id}:`)
  }

  seal(name: string, text: string): string {
    const [{ id, bytes }] = this.#keys
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', bytes, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(Buffer.from(name))
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${MARK}${id}:${sealed.toString('base64')}`
  }

  open(name: string, sealed: string): string {
    const [id, coded = ''] = sealed.slice(MARK.length).split(':')
    const key = this.#keys.find((each) => each.id === id)
    if (key === undefined) throw keyMissing(`it was sealed with the key ${id}`)
    const bytes = Buffer.from(coded, 'base64')
    const end = bytes.length - TAG_BYTES
    try {
      const cipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      cipher.setAAD(Buffer.from(name))
      cipher.setAuthTag(bytes.subarray(end))
      return Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES, end)), cipher.final()]).toString()
    } catch (error) {
      throw keyMissing('it was changed, or sealed for another kind', { cause: error })
    }
  }
}

/** The error of a sealed target that cannot be opened here. */
export function keyMissing(why: string, options?: ErrorOptions): StateError {
  return new StateError('secret-key-missing', `a target in the store cannot be read: ${why}`, options)
}

function parseKey(text: string): SealKey {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64')
  if (bytes.length !== KEY_BYTES || !/^[0-9a-zA-Z+/=_-]+$/.test(text)) {
    // The value is not shown: it may be a real key with a typo.
    throw new InvalidInputError(
      'invalid-option',
      `a secret key must have ${KEY_BYTES} bytes in base64 or hexadecimal digits, such as the output of: openssl rand -base64 32`,
    )
  }
  return {
    id: createHash('sha256').update('carillon seal key').update(bytes).digest('hex').slice(0, 8),
    bytes,
  }
}
