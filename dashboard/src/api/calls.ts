import { type CallRequest, HttpCalls } from '../../../src/client/http-calls.js'
import { clientOptions } from '../../../src/client/client-options.js'
import { parseExactly } from './exact-json.ts'

/** Where the API is: beside the page, whatever prefix a proxy or a user's server puts before both. */
export const base = new URL('.', location.href.replace(/[?#].*$/, ''))

export interface Identity {
  /** Undefined if the server needs no key, or authenticates users itself. */
  readonly apiKey: string | undefined
  /** Undefined for the namespace of the key. */
  readonly namespace: string | undefined
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** The API as one user sees it, on the project's own client: it retries, gives up in time, and sends each change once. */
export class Api {
  readonly identity: Identity
  readonly #calls: HttpCalls

  constructor(identity: Identity) {
    this.identity = identity
    const options = clientOptions(base, {
      ...(identity.apiKey !== undefined && { apiKey: identity.apiKey }),
      ...(identity.namespace !== undefined && { namespace: identity.namespace }),
      timeout: '20s',
      retries: 2,
      fetch: (url, init) => fetch(url, { ...init, credentials: 'same-origin' }),
    })
    this.#calls = new HttpCalls({ ...options, parse: parseExactly })
  }

  async get<Answer>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
    return await this.#calls.send<Answer>({ method: 'GET', path, query: withoutEmpty(query), signal })
  }

  async send<Answer>(
    method: CallRequest['method'],
    path: string,
    body?: unknown,
    {
      query,
      headers,
      signal,
    }: { query?: Query; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<Answer> {
    return await this.#calls.send<Answer>({
      method,
      path,
      signal,
      ...(query !== undefined && { query: withoutEmpty(query) }),
      ...(body !== undefined && { body }),
      ...(headers !== undefined && { headers }),
    })
  }

  /** The live events, as a stream of bytes. */
  async events(headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const { apiKey, namespace } = this.identity
    return await fetch(new URL('v1/events', base), {
      signal,
      credentials: 'same-origin',
      headers: {
        ...headers,
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
        ...(namespace !== undefined && { 'carillon-namespace': encodeURIComponent(namespace) }),
      },
    })
  }
}

/** The path of a timer. */
export function timerPath(kind: string, key: string, action = ''): string {
  return `/v1/timers/${encodeURIComponent(kind)}/${encodeURIComponent(key)}${action}`
}

/** The code of an API error, or undefined if the error is another one. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function withoutEmpty(query: Query): Record<string, string | number | undefined> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      value === '' ? undefined : typeof value === 'boolean' ? String(value) : value,
    ]),
  )
}
