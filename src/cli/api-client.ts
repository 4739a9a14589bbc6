import { type ErrorCode, InvalidInputError, RequestError, shown, shownUrl } from '../error/index.js'
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
    const namespace = setting('namespace')
    const { url, password } = serverUrlOf(setting('url') ?? DEFAULT_URL)
    const key = setting('key') ?? password
    this.#url = url
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
    const text = await this.#textOf(response)
    if (!response.ok) throw this.#problemOf(response.status, text)
    return this.#parsed(response.status, text) as Answer
  }

  /** The lines of an answer, as they come. */
  async *stream(path: string): AsyncGenerator<string> {
    const response = await this.#send(path, { headers: this.#headers })
    if (!response.ok || response.body === null)
      throw this.#problemOf(response.status, await this.#textOf(response))
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const chunk of response.body) {
        rest += decoder.decode(chunk as Uint8Array, { stream: true })
        const lines = rest.split('\n')
        rest = lines.pop()!
        yield* lines
      }
    } catch (error) {
      throw error instanceof TypeError ? this.#cutError(error) : error
    }
  }

  /** What is wrong with the server. Empty if it is ready. */
  async faults(): Promise<readonly string[]> {
    const response = await this.#send('/readyz', { headers: this.#headers })
    const text = await this.#textOf(response)
    const { faults = [] } = this.#parsed(response.status, text) as { faults?: readonly string[] }
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
      throw unreachable(
        `no server answers at ${this.#url} (${causeOf(error)}): start one with carillon serve, or pass --url`,
      )
    }
  }

  async #textOf(response: Response): Promise<string> {
    try {
      return await response.text()
    } catch (error) {
      throw this.#cutError(error)
    }
  }

  #cutError(error: unknown): ApiCallError {
    return unreachable(
      `the answer of ${this.#url} ended too early (${causeOf(error)}): the change may have been made`,
    )
  }

  #parsed(status: number, text: string): object {
    try {
      const value: unknown = JSON.parse(text)
      if (typeof value === 'object' && value !== null) return value
    } catch {
      // Reported below.
    }
    throw this.#foreignAnswer(status, text)
  }

  #problemOf(status: number, text: string): ApiCallError {
    const { code, detail } = this.#parsed(status, text) as { code?: unknown; detail?: unknown }
    if (typeof code !== 'string' || typeof detail !== 'string') return this.#foreignAnswer(status, text)
    return new ApiCallError(code as ErrorCode, detail, exitCodeOf(status, code))
  }

  /** Something answered that is no Carillon server: a proxy's error page, or another program. */
  #foreignAnswer(status: number, text: string): ApiCallError {
    return unreachable(
      `${this.#url} answered ${status} with ${text === '' ? 'nothing' : shown(text)} instead of JSON: it may not be a Carillon server; check --url`,
    )
  }
}

function unreachable(message: string): ApiCallError {
  return new ApiCallError('server-unreachable', message, exitCodes.unreachable)
}

function causeOf(error: unknown): string {
  const cause = (error as { cause?: { message?: string; code?: string } }).cause
  return cause?.code ?? cause?.message ?? (error as Error).message
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

function exitCodeOf(status: number, code: string): number {
  if (refusedStatuses.has(status)) return exitCodes.refused
  return unreachableStatuses.has(status) && code !== 'quota-exceeded'
    ? exitCodes.unreachable
    : exitCodes.failed
}

/** The URL of a server without the key that may be its password. It appears in messages, and fetch refuses it. */
function serverUrlOf(given: string): { readonly url: string; readonly password: string | undefined } {
  const url = given.replace(/\/+$/, '')
  if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url))
    throw new InvalidInputError(
      'invalid-option',
      `--url must be the URL of a server, such as ${DEFAULT_URL}, got ${shownUrl(url)}`,
    )
  const { username, password } = new URL(url)
  if (username === '' && password === '') return { url, password: undefined }
  const plain = new URL(url)
  plain.username = plain.password = ''
  return { url: plain.href.replace(/\/+$/, ''), password: decodeURIComponent(password || username) }
}
