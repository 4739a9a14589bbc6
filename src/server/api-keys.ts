import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidInputError, RequestError, shown } from '../error/index.js'
import type { Store } from '../store/index.js'
import { type Clock, type Duration, parseDuration } from '../time/index.js'
import { checkNamespace } from '../timer/index.js'

/** What a key allows: each scope includes those before it. */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** A key as it may be shown: never the secret, nor its hash. */
export interface ApiKey {
  readonly id: string
  /** Keys of one name and namespace do one job; two of them may be alive, so that one can follow the other. */
  readonly name: string
  readonly scope: Scope
  /** The namespace it is bound to; undefined for all. */
  readonly namespace?: string
  readonly createdAt: number
  readonly expiresAt?: number
}

export interface NewApiKey {
  readonly name: string
  readonly scope: Scope
  readonly namespace?: string
  readonly expiresIn?: Duration
}

interface StoredKey extends ApiKey {
  readonly hash: string
}

const PREFIX = 'api-key/'
const MOST_ALIVE = 2
const LOOK_AGAIN_MS = 1000
const NAME = /^[\w.@ -]{1,64}$/

/**
 * The keys that open a server, kept in the settings of its store: only the hash of each, so that whoever reads the
 * store cannot use them. A key is shown once, when it is made.
 */
export class ApiKeys {
  readonly #store: Store
  readonly #clock: Clock
  #byId: ReadonlyMap<string, StoredKey> = new Map()
  // Texts that were found right since the last look: hashing each once is enough.
  #seen = new Map<string, StoredKey>()
  #lookedAt = -Infinity
  #looking: Promise<void> | undefined
  #making: Promise<unknown> = Promise.resolve()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** All keys, those that expired included until they are swept away. */
  get all(): readonly ApiKey[] {
    return [...this.#byId.values()].map(shownKey)
  }

  get hasAlive(): boolean {
    return [...this.#byId.values()].some((key) => this.#isAlive(key))
  }

  /** Looks at the store again: another instance may have made or revoked some. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  /** The key that a text is, if it is one and alive. */
  async find(token: string): Promise<ApiKey | undefined> {
    const id = idOf(token)
    if (id === undefined) return undefined
    // Made by another instance a moment ago, perhaps; guesses do not make the store work.
    if (!this.#byId.has(id) && this.#clock.monotonic() - this.#lookedAt > LOOK_AGAIN_MS) await this.look()
    return this.known(token)
  }

  /** As `find`, without asking the store. */
  known(token: string): ApiKey | undefined {
    const seen = this.#seen.get(token)
    const key = seen ?? this.#byId.get(idOf(token) ?? '')
    if (key === undefined || !this.#isAlive(key)) return undefined
    if (seen === undefined) {
      if (!isHashOf(token, key.hash)) return undefined
      this.#seen.set(token, key)
    }
    return key
  }

  /** Makes a key. The text is not kept: this is the only time it is seen. */
  async create(wanted: NewApiKey): Promise<{ readonly key: ApiKey; readonly token: string }> {
    const making = this.#making.then(() => this.#create(wanted))
    this.#making = making.catch(() => undefined)
    return await making
  }

  async revoke(id: string): Promise<void> {
    await this.look()
    if (!this.#byId.has(id)) throw new RequestError('key-unknown', `there is no key of the id ${shown(id)}`)
    await this.#store.putSetting(PREFIX + id, undefined)
    await this.#lookAnew()
  }

  async #create({ name, scope, namespace, expiresIn }: NewApiKey) {
    if (!NAME.test(name)) {
      throw new InvalidInputError(
        'invalid-option',
        `a key's name has 1 to 64 letters, digits, spaces and . _ @ -, got ${shown(name)}`,
      )
    }
    if (!scopes.includes(scope)) {
      throw new InvalidInputError(
        'invalid-option',
        `scope must be one of ${scopes.join(', ')}, got ${shown(scope)}`,
      )
    }
    if (namespace !== undefined) checkNamespace(namespace)
    await this.look()
    await this.#makeRoom(name, namespace)
    const id = randomBytes(6).toString('hex')
    const token = `ck_${id}_${randomBytes(32).toString('base64url')}`
    const createdAt = this.#clock.now()
    const stored: StoredKey = {
      id,
      name,
      scope,
      ...(namespace !== undefined && { namespace }),
      createdAt,
      ...(expiresIn !== undefined && { expiresAt: createdAt + parseDuration(expiresIn) }),
      hash: hash('sha256', token, 'hex'),
    }
    await this.#store.putSetting(PREFIX + id, JSON.stringify(stored), 0)
    await this.#lookAnew()
    return { key: shownKey(stored), token }
  }

  /** Sweeps away what has expired of a name, and refuses a third that is alive. */
  async #makeRoom(name: string, namespace: string | undefined): Promise<void> {
    const ofName = [...this.#byId.values()].filter((key) => key.name === name && key.namespace === namespace)
    const alive = ofName.filter((key) => this.#isAlive(key))
    if (alive.length >= MOST_ALIVE) {
      throw new RequestError(
        'key-limit',
        `${alive.length} keys of the name ${shown(name)} are alive: ${alive.map(({ id }) => id).join(', ')}`,
      )
    }
    for (const key of ofName)
      if (!this.#isAlive(key)) await this.#store.putSetting(PREFIX + key.id, undefined)
  }

  /** A look that is under way may have begun before the last change. */
  async #lookAnew(): Promise<void> {
    await this.#looking?.catch(() => undefined)
    await this.look()
  }

  async #look(): Promise<void> {
    const settings = await this.#store.settings(PREFIX)
    const keys = settings.map(({ value }) => JSON.parse(value) as StoredKey)
    this.#byId = new Map(keys.map((key) => [key.id, key]))
    this.#seen = new Map()
    this.#lookedAt = this.#clock.monotonic()
  }

  #isAlive({ expiresAt }: ApiKey): boolean {
    return expiresAt === undefined || this.#clock.now() < expiresAt
  }
}

function idOf(token: string): string | undefined {
  return /^ck_([0-9a-f]{12})_[\w-]{43}$/.exec(token)?.[1]
}

function isHashOf(token: string, wanted: string): boolean {
  return timingSafeEqual(Buffer.from(hash('sha256', token, 'hex')), Buffer.from(wanted))
}

function shownKey(stored: StoredKey): ApiKey {
  const { hash: _, ...key } = stored
  return key
}
