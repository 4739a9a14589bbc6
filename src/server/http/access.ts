import type { FastifyRequest } from 'fastify'
import { RequestError, shown } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import { checkNamespace } from '../../timer/index.js'
import { type ApiKey, type ApiKeys, type Scope, scopes } from '../api-keys.js'
import { WRONG_KEYS_PER_SECOND } from '../defaults.js'
import type { CompleteServerOptions } from '../server-options.js'
import { RateLimit } from './rate-limit.js'

/** The caller's key, and the namespace of the request. */
export interface Admission {
  readonly key: ApiKey
  readonly namespace: string
}

/** What a route requires of a key. */
interface Requirements {
  readonly scope: Scope
  readonly spansNamespaces?: true
}

interface AccessParts {
  readonly keys: ApiKeys
  readonly clock: Clock
  readonly needsKey: boolean
  /** Web pages of these origins may call. */
  readonly origins: readonly string[]
  readonly ratePerSecond: number
  /** Says who sends a request, by means of the program's own. */
  readonly authenticate: CompleteServerOptions['authenticate']
  /** Runs a call to the store within its time limit. */
  readonly bounded: <Answer>(call: () => Promise<Answer>) => Promise<Answer>
}

/** Stands in for a key when keys are off. */
const noKey: ApiKey = Object.freeze({
  id: 'none',
  name: 'nobody in particular',
  scope: 'admin',
  createdAt: 0,
})

/**
 * Authenticates and admits each request, before its body is read. The key must be active, have the route's scope,
 * fit the namespace, and be within its rate. When keys are off, only requests to a loopback `Host` are admitted.
 *
 * Proven by test/server/keys.test.ts.
 */
export class AccessCheck {
  readonly #keys: ApiKeys
  readonly #needsKey: boolean
  readonly #origins: readonly string[]
  readonly #requestRate: RateLimit
  readonly #wrongKeyRate: RateLimit
  readonly #bounded: AccessParts['bounded']
  readonly #authenticate: AccessParts['authenticate']

  constructor(parts: AccessParts) {
    this.#bounded = parts.bounded
    this.#authenticate = parts.authenticate
    this.#origins = parts.origins
    this.#keys = parts.keys
    this.#needsKey = parts.needsKey
    this.#requestRate = new RateLimit(parts.clock, parts.ratePerSecond)
    this.#wrongKeyRate = new RateLimit(parts.clock, WRONG_KEYS_PER_SECOND)
  }

  /** Admits a request or throws. Synchronous when the key is cached: that is nearly always. */
  admit(request: FastifyRequest, requirements: Requirements): Admission | Promise<Admission> {
    if (this.#authenticate !== undefined && request.headers.authorization === undefined)
      return this.#admitCaller(request, requirements)
    return this.#admitKey(request, requirements)
  }

  async #admitCaller(request: FastifyRequest, requirements: Requirements): Promise<Admission> {
    const caller = await this.#authenticate?.(request.raw)
    if (caller === undefined) return await this.#admitKey(request, requirements)
    if (request.method !== 'GET') checkOwnSite(request.headers)
    const { name, scope, namespace } = caller
    const id = `user ${name}`
    const key = { id, name, scope, createdAt: 0, ...(namespace !== undefined && { namespace }) }
    return this.#authorize(request, key, requirements)
  }

  #admitKey(request: FastifyRequest, requirements: Requirements): Admission | Promise<Admission> {
    if (!this.#needsKey) {
      checkHost(request.headers.host)
      this.#checkSite(request.headers)
      return this.#authorize(request, noKey, requirements)
    }
    const token = tokenOf(request)
    const key = this.#keys.findCached(token)
    if (key !== undefined) return this.#authorize(request, key, requirements)
    return this.#admitUnknownKey(request, token, requirements)
  }

  async #admitUnknownKey(
    request: FastifyRequest,
    token: string,
    requirements: Requirements,
  ): Promise<Admission> {
    const key = await this.#bounded(() => this.#keys.find(token))
    if (key !== undefined) return this.#authorize(request, key, requirements)
    const waitMs = this.#wrongKeyRate.take(request.ip)
    if (waitMs > 0) throw new RequestError('rate-limited', 'this address has sent too many wrong keys')
    throw new RequestError('unauthorized', 'this key does not exist, was revoked or has expired')
  }

  /**
   * Refuses requests that a web page of another site has made: a browser sends simple POSTs without asking, and without
   * keys nothing else would stop them.
   */
  #checkSite({ origin, host, 'sec-fetch-site': site }: FastifyRequest['headers']): void {
    const isOwn = origin === undefined || origin === `http://${host}` || this.#origins.includes(origin)
    const isOtherSite = (site === 'cross-site' || site === 'same-site') && origin === undefined
    if (isOwn && !isOtherSite) return
    throw new RequestError(
      'forbidden',
      `a server without keys answers no web pages of other sites, got Origin ${shown(origin)}: name it in corsOrigins`,
    )
  }

  #authorize(request: FastifyRequest, key: ApiKey, requirements: Requirements): Admission {
    if (this.#requestRate.take(key.id) > 0)
      throw new RequestError('rate-limited', `key ${key.id} has used up its requests for this second`)
    const { scope, spansNamespaces } = requirements
    if (scopes.indexOf(key.scope) < scopes.indexOf(scope)) {
      throw new RequestError('forbidden', `this route needs the scope ${scope}, but the key has ${key.scope}`)
    }
    if (spansNamespaces === true && key.namespace !== undefined) {
      throw new RequestError(
        'forbidden',
        `this route covers all namespaces, but the key is bound to ${shown(key.namespace)}`,
      )
    }
    const header = request.headers['carillon-namespace']
    if (header === undefined) return { key, namespace: key.namespace ?? 'default' }
    const namespace = namespaceOf(header)
    if (key.namespace !== undefined && key.namespace !== namespace) {
      throw new RequestError('forbidden', `this key is not for namespace ${shown(namespace)}`)
    }
    return { key, namespace }
  }
}

/**
 * Refuses changes that a page of another site has made. A user whom the program knows by a cookie is known on those
 * requests, too.
 */
function checkOwnSite({ origin, host, 'sec-fetch-site': site }: FastifyRequest['headers']): void {
  const isOwn =
    site === undefined
      ? origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)
      : site === 'same-origin' || site === 'none'
  if (isOwn) return
  throw new RequestError('forbidden', `this request comes from a page of another site, ${shown(origin)}`)
}

function tokenOf(request: FastifyRequest): string {
  const given = request.headers.authorization
  const token = given === undefined ? undefined : /^bearer +(\S+)$/i.exec(given)?.[1]
  if (token !== undefined) return token
  throw new RequestError('unauthorized', 'missing key: send Authorization: Bearer ck_…')
}

/** Header values are Latin-1, so other names arrive percent-encoded. */
function namespaceOf(header: string | string[]): string {
  try {
    const namespace = decodeURIComponent(String(header))
    checkNamespace(namespace)
    return namespace
  } catch {
    throw new RequestError(
      'invalid-body',
      'Carillon-Namespace must be a namespace; percent-encode characters that are not ASCII',
    )
  }
}

/** Guards against DNS rebinding: a web page can make its own host name resolve to this machine. */
function checkHost(host: string | undefined): void {
  const name = host?.replace(/:\d+$/, '')
  if (name === undefined || name === 'localhost' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name))
    return
  throw new RequestError(
    'forbidden',
    `a server without keys answers only to localhost and loopback addresses, got Host ${shown(host)}`,
  )
}
