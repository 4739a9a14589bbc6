import type { FastifyRequest } from 'fastify'
import { RequestError, shown } from '../error/index.js'
import type { Clock } from '../time/index.js'
import { checkNamespace } from '../timer/index.js'
import { type ApiKey, type ApiKeys, type Scope, scopes } from './api-keys.js'
import { RateLimit } from './rate-limit.js'

/** Who asks, and in which namespace. */
export interface Admission {
  readonly key: ApiKey
  readonly namespace: string
}

/** What a route asks of a key. */
interface Needs {
  readonly scope: Scope
  readonly spansNamespaces?: true
}

/** Who asks where nobody has to show a key. */
const anybody: ApiKey = Object.freeze({
  id: 'none',
  name: 'nobody in particular',
  scope: 'admin',
  createdAt: 0,
})

// Wrong keys from one address, per second: enough for a mistake, too few for guessing.
const WRONG_PER_SECOND = 20

/**
 * Stands before every route: no request gets past it without a key that is alive, has the scope, is meant for the
 * namespace and has requests left. Where keys are off, it lets in only what was addressed to this machine by name.
 */
export class Gate {
  readonly #keys: ApiKeys
  readonly #needsKey: boolean
  readonly #rates: RateLimit
  readonly #wrong: RateLimit

  constructor(parts: { keys: ApiKeys; clock: Clock; needsKey: boolean; ratePerSecond: number }) {
    this.#keys = parts.keys
    this.#needsKey = parts.needsKey
    this.#rates = new RateLimit(parts.clock, parts.ratePerSecond)
    this.#wrong = new RateLimit(parts.clock, WRONG_PER_SECOND)
  }

  /** Admits a request or throws. At once where the key is known. */
  admit(request: FastifyRequest, needs: Needs): Admission | Promise<Admission> {
    if (!this.#needsKey) {
      checkHost(request.headers.host)
      return this.#admission(request, anybody, needs)
    }
    const token = tokenOf(request)
    const key = this.#keys.known(token)
    if (key !== undefined) return this.#admission(request, key, needs)
    return this.#admitAfterLook(request, token, needs)
  }

  async #admitAfterLook(request: FastifyRequest, token: string, needs: Needs): Promise<Admission> {
    const key = await this.#keys.find(token)
    if (key !== undefined) return this.#admission(request, key, needs)
    const waitMs = this.#wrong.take(request.ip)
    if (waitMs > 0) throw new RequestError('rate-limited', 'too many wrong keys came from this address')
    throw new RequestError('unauthorized', 'this key does not exist, was revoked or has expired')
  }

  #admission(request: FastifyRequest, key: ApiKey, needs: Needs): Admission {
    if (this.#rates.take(key.id) > 0)
      throw new RequestError('rate-limited', `the key ${key.id} has used up its requests of this second`)
    const { scope, spansNamespaces } = needs
    if (scopes.indexOf(key.scope) < scopes.indexOf(scope)) {
      throw new RequestError('forbidden', `this needs the scope ${scope}, the key has ${key.scope}`)
    }
    if (spansNamespaces === true && key.namespace !== undefined)
      throw new RequestError('forbidden', 'this tells of all namespaces, and the key is bound to one')
    const asked = request.headers['carillon-namespace']
    if (asked === undefined) return { key, namespace: key.namespace ?? 'default' }
    const namespace = namespaceOf(asked)
    if (key.namespace !== undefined && key.namespace !== namespace) {
      throw new RequestError('forbidden', `this key is not for the namespace ${shown(namespace)}`)
    }
    return { key, namespace }
  }
}

function tokenOf(request: FastifyRequest): string {
  const given = request.headers.authorization
  const token = given === undefined ? undefined : /^bearer +(\S+)$/i.exec(given)?.[1]
  if (token !== undefined) return token
  throw new RequestError('unauthorized', 'no key came with the request: send Authorization: Bearer ck_…')
}

/** A header is Latin-1: other names come percent-encoded. */
function namespaceOf(header: string | string[]): string {
  try {
    const namespace = decodeURIComponent(String(header))
    checkNamespace(namespace)
    return namespace
  } catch {
    throw new RequestError(
      'invalid-body',
      'Carillon-Namespace must be a namespace, percent-encoded where it is not ASCII',
    )
  }
}

/** A page that a browser loaded from elsewhere can have its own name resolved to this machine. */
function checkHost(host: string | undefined): void {
  const name = host?.replace(/:\d+$/, '')
  if (name === undefined || name === 'localhost' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name))
    return
  throw new RequestError(
    'forbidden',
    `without keys this server answers only to localhost, not to ${shown(host)}`,
  )
}
