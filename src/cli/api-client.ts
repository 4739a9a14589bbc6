import { type CarillonError, type ErrorCode, RequestError } from '../error/index.js'
import { type Arguments, exitCodes, flagOption, stringOption, type Terminal } from './command.js'
import { DEFAULT_URL } from './defaults.js'

/** The options of every command that calls a server. */
export const apiOptions = Object.freeze({
  url: stringOption,
  key: stringOption,
  namespace: stringOption,
  store: stringOption,
  json: flagOption,
})

export const apiHelp: readonly (readonly [string, string])[] = Object.freeze([
  ['--url', `the server (CARILLON_URL, or ${DEFAULT_URL})`],
  ['--key', 'the API key; better CARILLON_KEY, which other users of this machine cannot see'],
  ['--namespace', 'the namespace, for keys that open all of them (CARILLON_NAMESPACE)'],
  ['--store', 'use this store directly, without a server; no timer fires meanwhile'],
  ['--json', 'print JSON, one line for each item'],
])

/** Sends a request and returns its response. */
export type SendRequest = (path: string, init: RequestInit) => Promise<Response>

/** A failed request, with the exit code for it. */
export class ApiCallError extends RequestError {
  readonly exitCode: number

  constructor(code: ErrorCode, message: string, exitCode: number) {
    super(code, message)
    this.exitCode = exitCode
  }
}

/** Calls the HTTP API, over the network or in this process. */
export class ApiClient {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #send: SendRequest

  /** `send` replaces the network. */
  constructor({ values }: Arguments, { environment }: Terminal, ask?: SendRequest) {
    const setting = (name: string): string | undefined => {
      const given = values[name] ?? environment[`CARILLON_${name.toUpperCase()}`]
      return typeof given === 'string' && given !== '' ? given : undefined
    }
    const key = setting('key')
    const namespace = setting('namespace')
    this.#url = (setting('url') ?? DEFAULT_URL).replace(/\/+$/, '')
    this.#headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(namespace !== undefined && { 'carillon-namespace': encodeURIComponent(namespace) }),
    }
    this.#send = ask ?? ((path, init) => this.#fetch(path, init))
  }

  /** The server's URL. */
  get url(): string {
    return this.#url
  }

  /** Sends a request and returns the parsed answer. Throws an `ApiCallError` for an error status. */
  async call<Answer>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const response = await this.#send(path, {
      method,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.ok) return JSON.parse(text) as Answer
    throw problemOf(response.status, text)
  }

  /** What is wrong with the server. Empty if it is ready. */
  async faults(): Promise<readonly string[]> {
    const response = await this.#send('/readyz', { headers: this.#headers })
    const { faults = [] } = (await response.json()) as { faults?: readonly string[] }
    return faults
  }

  /** The items of a list, read page by page, at most `most`. */
  async *pages<Item>(
    path: string,
    query: Readonly<Record<string, unknown>>,
    most: number,
  ): AsyncGenerator<Item> {
    let cursor: string | undefined
    let left = most
    do {
      const search = searchOf({ ...query, limit: Math.min(left, 1000), cursor })
      const page = await this.call<{ items: Item[]; cursor?: string }>('GET', path + search)
      yield* page.items.slice(0, left)
      left -= page.items.length
      cursor = page.cursor
    } while (cursor !== undefined && left > 0)
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.#url + path, init)
    } catch (error) {
      const cause = (error as { cause?: { message?: string; code?: string } }).cause
      const why = cause?.code ?? cause?.message ?? (error as Error).message
      throw new ApiCallError(
        'store-unavailable',
        `no server answers at ${this.#url} (${why}): start one with carillon serve, or pass --url`,
        exitCodes.unreachable,
      )
    }
  }
}

/** The query string of the strings and numbers in `query`. Empty if there are none. */
export function searchOf(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'string' || typeof value === 'number') search.set(name, String(value))
  }
  return search.size === 0 ? '' : `?${search.toString()}`
}

export function pathOf(kind: string, key: string): string {
  return `/v1/timers/${encodeURIComponent(kind)}/${encodeURIComponent(key)}`
}

const refusedStatuses = new Set([404, 409, 410, 412])
const unreachableStatuses = new Set([401, 403, 429])

function problemOf(status: number, text: string): CarillonError {
  const exitCode = refusedStatuses.has(status)
    ? exitCodes.refused
    : unreachableStatuses.has(status)
      ? exitCodes.unreachable
      : exitCodes.failed
  try {
    const { code, detail } = JSON.parse(text) as { code: ErrorCode; detail: string }
    return new ApiCallError(code, detail, code === 'quota-exceeded' ? exitCodes.failed : exitCode)
  } catch {
    return new ApiCallError(
      'internal',
      `status ${status} without a problem: the URL may not be that of a Carillon server`,
      exitCode,
    )
  }
}
