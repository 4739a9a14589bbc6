import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidInputError, RequestError, shown } from '../error/index.js'
import type { Store } from '../store/index.js'
import { type Clock, type Duration, parseDuration } from '../time/index.js'
import { checkNamespace } from '../timer/index.js'
import { MAX_ACTIVE_KEYS_PER_NAME, UNKNOWN_KEY_REFRESH_MS } from './defaults.js'

/** What a key allows. Each scope includes those before it. */
export const scopes = ['read', 'write', 'admin'] as const
/** What a key may do. */
export type Scope = (typeof scopes)[number]

/** A key without its secret and without its hash. */
export interface ApiKey {
  readonly id: string
  /** The purpose. Two keys of one name and namespace may be active at a time, for rotation. */
  readonly name: string
  readonly scope: Scope
  /** The namespace it is bound to. Undefined for all namespaces. */
  readonly namespace?: string
  readonly createdAt: number
  readonly expiresAt?: number
}

/** A key to create: its name, scopes and namespaces. */
export interface NewApiKey {
  readonly name: string
  readonly scope: Scope
  readonly namespace?: string
  readonly expiresIn?: Duration
  /** The key with which it is made. The new key does not outlive it, or a stolen key could outlive itself. */
  readonly madeBy?: ApiKey
}

interface StoredKey extends ApiKey {
  readonly hash: string
}

const PREFIX = 'api-key/'
/** The id of the key that a server makes for a store without keys. One id, so that only one server can make it. */
const FIRST_ID = '0'.repeat(12)
const NAME = /^[\w.@ -]{1,64}$/

/**
 * The API keys of a server. The store's settings hold only their hashes, so reading the store does not give access.
 * The token itself is returned once, by `create`.
 *
 * Proven by test/server/keys.test.ts.
 */
export class ApiKeys {
  readonly #store: Store
  readonly #clock: Clock
  #byId: ReadonlyMap<string, StoredKey> = new Map()
  // Tokens that matched their hash since the last refresh, so that each is hashed only once.
  #verified = new Map<string, StoredKey>()
  #refreshedAt = -Infinity
  #refreshing: Promise<void> | undefined
  #lastCreate: Promise<unknown> = Promise.resolve()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** All keys, including expired ones that are not removed yet. */
  get all(): readonly ApiKey[] {
    return [...this.#byId.values()].map(withoutHash)
  }

  get hasActive(): boolean {
    return [...this.#byId.values()].some((key) => this.#isActive(key))
  }

  /** Reads the keys from the store again: another instance may have made or revoked some. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#readStore().finally(() => (this.#refreshing = undefined))
    return this.#refreshing
  }

  /** The active key of a token, if there is one. */
  async find(token: string): Promise<ApiKey | undefined> {
    const id = idOf(token)
    if (id === undefined) return undefined
    // Another instance may just have made this key. The limit keeps guesses from loading the store.
    if (!this.#byId.has(id) && this.#clock.monotonic() - this.#refreshedAt > UNKNOWN_KEY_REFRESH_MS)
      await this.refresh()
    return this.findCached(token)
  }

  /** Whether a key that was found before still counts: it was neither revoked nor has it expired. */
  isActive({ id }: ApiKey): boolean {
    const key = this.#byId.get(id)
    return key !== undefined && this.#isActive(key)
  }

  /** Like `find`, but without reading the store. */
  findCached(token: string): ApiKey | undefined {
    const verified = this.#verified.get(token)
    const key = verified ?? this.#byId.get(idOf(token) ?? '')
    if (key === undefined || !this.#isActive(key)) return undefined
    if (verified === undefined) {
      if (!isHashOf(token, key.hash)) return undefined
      this.#verified.set(token, key)
    }
    return key
  }

  /**
   * Makes a key. The token is not stored: this is the only time it is returned. `beforeWrite` is called before each
   * change of the store, and may throw.
   */
  async create(
    wanted: NewApiKey,
    beforeWrite = always,
  ): Promise<{ readonly key: ApiKey; readonly token: string }> {
    // One after the other, so that two calls cannot both pass the limit.
    const creating = this.#lastCreate.then(() => this.#create(wanted, beforeWrite))
    this.#lastCreate = creating.catch(() => undefined)
    return await creating
  }

  /**
   * Makes a key with the scope admin if the store has no active key. Undefined if it has one, or if another instance
   * makes one at the same time: the store accepts only one of them.
   */
  async createFirst(): Promise<string | undefined> {
    await this.refresh()
    if (this.hasActive) return undefined
    const { stored, token } = this.#newKey(FIRST_ID, { name: 'first', scope: 'admin' })
    const version = await this.#store.putSetting(PREFIX + FIRST_ID, JSON.stringify(stored), 0)
    await this.#refreshAfterWrite()
    return version === undefined ? undefined : token
  }

  async revoke(id: string, beforeWrite = always): Promise<void> {
    await this.refresh()
    if (!this.#byId.has(id)) throw new RequestError('key-unknown', `no key with id ${shown(id)}`)
    beforeWrite()
    await this.#store.putSetting(PREFIX + id, undefined)
    await this.#refreshAfterWrite()
  }

  async #create(wanted: NewApiKey, beforeWrite: () => void) {
    const { name, scope, namespace } = wanted
    if (!NAME.test(name)) {
      throw new InvalidInputError(
        'invalid-option',
        `a key's name must have 1 to 64 characters: letters, digits, spaces or . _ @ -, got ${shown(name)}`,
      )
    }
    if (!scopes.includes(scope)) {
      throw new InvalidInputError(
        'invalid-option',
        `scope must be one of ${scopes.join(', ')}, got ${shown(scope)}`,
      )
    }
    if (namespace !== undefined) checkNamespace(namespace)
    await this.refresh()
    await this.#checkLimit(name, namespace, beforeWrite)
    const { stored, token } = this.#newKey(randomBytes(6).toString('hex'), wanted)
    beforeWrite()
    await this.#store.putSetting(PREFIX + stored.id, JSON.stringify(stored), 0)
    await this.#refreshAfterWrite()
    return { key: withoutHash(stored), token }
  }

  #newKey(id: string, { name, scope, namespace, expiresIn, madeBy }: NewApiKey) {
    const token = `ck_${id}_${randomBytes(32).toString('base64url')}`
    const createdAt = this.#clock.now()
    const stored: StoredKey = {
      id,
      name,
      scope,
      ...(namespace !== undefined && { namespace }),
      createdAt,
      ...expiryOf(expiresIn, madeBy, createdAt),
      hash: hash('sha256', token, 'hex'),
    }
    return { stored, token }
  }

  /** Refuses a third active key of a name, and removes its expired keys. */
  async #checkLimit(name: string, namespace: string | undefined, beforeWrite: () => void): Promise<void> {
    const ofName = [...this.#byId.values()].filter((key) => key.name === name && key.namespace === namespace)
    const active = ofName.filter((key) => this.#isActive(key))
    if (active.length >= MAX_ACTIVE_KEYS_PER_NAME) {
      throw new RequestError(
        'key-limit',
        `${active.length} keys named ${shown(name)} are active: ${active.map(({ id }) => id).join(', ')}; a name may have ${MAX_ACTIVE_KEYS_PER_NAME}: revoke one first`,
      )
    }
    for (const key of ofName) {
      if (this.#isActive(key)) continue
      beforeWrite()
      await this.#store.putSetting(PREFIX + key.id, undefined)
    }
  }

  /** A refresh that is already running may have read the store before the last change, so this starts another. */
  async #refreshAfterWrite(): Promise<void> {
    await this.#refreshing?.catch(() => undefined)
    await this.refresh()
  }

  async #readStore(): Promise<void> {
    const settings = await this.#store.settings(PREFIX)
    const keys = settings.map(({ value }) => JSON.parse(value) as StoredKey)
    this.#byId = new Map(keys.map((key) => [key.id, key]))
    this.#verified = new Map()
    this.#refreshedAt = this.#clock.monotonic()
  }

  #isActive({ expiresAt }: ApiKey): boolean {
    return expiresAt === undefined || this.#clock.now() < expiresAt
  }
}

const always = (): void => undefined

function idOf(token: string): string | undefined {
  return /^ck_([0-9a-f]{12})_[\w-]{43}$/.exec(token)?.[1]
}

function isHashOf(token: string, wanted: string): boolean {
  return timingSafeEqual(Buffer.from(hash('sha256', token, 'hex')), Buffer.from(wanted))
}

function withoutHash(stored: StoredKey): ApiKey {
  const { hash: _, ...key } = stored
  return key
}

function expiryOf(
  expiresIn: Duration | undefined,
  madeBy: ApiKey | undefined,
  now: number,
): { readonly expiresAt?: number } {
  const asked = expiresIn === undefined ? undefined : now + parseDuration(expiresIn)
  const latest = madeBy?.expiresAt
  if (latest !== undefined && asked !== undefined && asked > latest)
    throw new InvalidInputError(
      'invalid-option',
      `a key cannot outlive the key that makes it, which expires at ${new Date(latest).toISOString()}: pass a shorter expiresIn`,
    )
  const expiresAt = asked ?? latest
  return expiresAt === undefined ? {} : { expiresAt }
}
