import { hash, randomBytes } from 'node:crypto'
import { RequestError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type { ApiKey, ApiKeys } from '../api-keys.js'
import { MAX_SIGN_IN_LINKS, SIGN_IN_KEY_TTL, SIGN_IN_LINK_MS, WRONG_KEYS_PER_SECOND } from '../defaults.js'
import { RateLimit } from '../http/rate-limit.js'

/** The name of the keys that sign-in links give. Like every name, it may have two active keys. */
const SIGN_IN_KEY_NAME = 'sign-in link'

/**
 * One-time links that sign a browser in. A link has a random code in its fragment, which no browser sends to a server
 * by itself. The page exchanges it for a key with the scope `admin`. A code works once, within ten minutes, on the
 * instance that made it. Only its hash stays in memory.
 *
 * Proven by test/page/sign-in.test.ts.
 */
export class SignInLinks {
  readonly #keys: ApiKeys
  readonly #clock: Clock
  readonly #wrongCodeRate: RateLimit
  /** When each code ends, by its hash, in the order of their making. */
  readonly #codes = new Map<string, number>()

  constructor(keys: ApiKeys, clock: Clock) {
    this.#keys = keys
    this.#clock = clock
    this.#wrongCodeRate = new RateLimit(clock, WRONG_KEYS_PER_SECOND)
  }

  /** The path of a new link, below the server's URL. */
  create(): string {
    const code = randomBytes(32).toString('base64url')
    const [oldest] = this.#codes.keys()
    if (this.#codes.size >= MAX_SIGN_IN_LINKS && oldest !== undefined) this.#codes.delete(oldest)
    this.#codes.set(hash('sha256', code, 'hex'), this.#clock.monotonic() + SIGN_IN_LINK_MS)
    return `/#/sign-in?code=${code}`
  }

  /** Exchanges a code for a new key. `address` is that of the caller: wrong codes from one address are limited. */
  async exchange(code: string, address: string): Promise<{ readonly key: ApiKey; readonly token: string }> {
    const hashed = hash('sha256', code, 'hex')
    const until = this.#codes.get(hashed)
    // Before anything is awaited: two exchanges of one code must not both succeed.
    this.#codes.delete(hashed)
    if (until === undefined || until <= this.#clock.monotonic()) {
      if (this.#wrongCodeRate.take(address) > 0)
        throw new RequestError('rate-limited', 'this address has sent too many wrong codes')
      throw new RequestError(
        'unauthorized',
        'this sign-in link was used, or it has expired: restart the server for another one, or sign in with a key',
      )
    }
    await this.#revokeOldest()
    return await this.#keys.create({ name: SIGN_IN_KEY_NAME, scope: 'admin', expiresIn: SIGN_IN_KEY_TTL })
  }

  /** A name may have two active keys. So the third sign-in ends the first one. */
  async #revokeOldest(): Promise<void> {
    await this.#keys.refresh()
    const active = this.#keys.all
      .filter(
        (key) => key.name === SIGN_IN_KEY_NAME && key.namespace === undefined && this.#keys.isActive(key),
      )
      .toSorted((a, b) => a.createdAt - b.createdAt)
    for (const key of active.slice(0, -1)) await this.#keys.revoke(key.id)
  }
}
