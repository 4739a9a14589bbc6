import { type CarillonError, type ErrorCode, RequestError } from '../error/index.js'
import { type Arguments, exitCodes, type Terminal } from './command.js'

const DEFAULT_URL = 'http://127.0.0.1:7750'

/** The options of every command that asks a server. */
export const apiOptions = Object.freeze({
  url: { type: 'string' as const },
  key: { type: 'string' as const },
  namespace: { type: 'string' as const },
  store: { type: 'string' as const },
  json: { type: 'boolean' as const },
})

export const apiHelp: readonly (readonly [string, string])[] = Object.freeze([
  ['--url', `the server (CARILLON_URL, else ${DEFAULT_URL})`],
  ['--key', 'the key (CARILLON_KEY, which other users of this machine cannot see)'],
  ['--namespace', 'which namespace, for keys that open several (CARILLON_NAMESPACE)'],
  ['--store', 'a store that no server has open, instead of a server: nothing fires meanwhile'],
  ['--json', 'answer in JSON, a line for each item'],
])

/** How requests get to where they are answered. */
export type Ask = (path: string, init: RequestInit) => Promise<Response>

/** What a server did not do, and what the command line ends with because of it. */
export class ApiError extends RequestError {
  readonly exitCode: number

  constructor(code: ErrorCode, message: string, exitCode: number) {
    super(code, message)
    this.exitCode = exitCode
  }
}

/** A server, as the command line sees it. */
export class Api {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #ask: Ask

  /** Over the network, unless told another way. */
  constructor({ values }: Arguments, { environment }: Terminal, ask?: Ask) {
    const text = (name: string): string | undefined => {
      const given = values[name] ?? environment[`CARILLON_${name.toUpperCase()}`]
      return typeof given === 'string' && given !== '' ? given : undefined
    }
    const key = text('key')
    const namespace = text('namespace')
    this.#url = (text('url') ?? DEFAULT_URL).replace(/\/+$/, '')
    this.#headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(namespace !== undefined && { 'carillon-namespace': encodeURIComponent(namespace) }),
    }
    this.#ask = ask ?? ((path, init) => this.#fetch(path, init))
  }

  /** Where it asks. */
  get url(): string {
    return this.#url
  }

  /** Asks, and answers what came; what was not done is thrown. */
  async call<Answer>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const response = await this.#ask(path, {
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

  /** What is wrong with the server; nothing when it is ready. */
  async faults(): Promise<readonly string[]> {
    const response = await this.#ask('/readyz', { headers: this.#headers })
    const { faults = [] } = (await response.json()) as { faults?: readonly string[] }
    return faults
  }

  /** All items of a list, page by page, up to `most`. */
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
      throw new ApiError(
        'store-unavailable',
        `no server answers at ${this.#url} (${why}): start one with carillon serve, or give --url`,
        exitCodes.unreachable,
      )
    }
  }
}

/** `?a=1&b=2` of what is given. */
export function searchOf(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'string' || typeof value === 'number') search.set(name, String(value))
  }
  return search.size === 0 ? '' : `?${search.toString()}`
}

/** The path of a timer. */
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
    return new ApiError(code, detail, code === 'quota-exceeded' ? exitCodes.failed : exitCode)
  } catch {
    return new ApiError('internal', `the answer ${status} is not Carillon's: is that its URL?`, exitCode)
  }
}
