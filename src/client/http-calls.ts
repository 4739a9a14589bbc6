import { StoreError } from '../error/index.js'
import type { CompleteClientOptions } from './client-options.js'
import { errorOf, type Problem, problemIn } from './problem-error.js'
import { Turnstile } from './turnstile.js'

export interface CallRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** It waits so long for something to happen, beside the time for an answer. */
  readonly waitMs?: number
}

/** What came of asking once: an answer, or why there is none and whether to ask again. */
type Asked =
  | { readonly isAnswered: true; readonly answer: unknown }
  | {
      readonly isAnswered: false
      readonly problem: Problem | undefined
      readonly error: Error
      readonly isWorthAgain: boolean
      readonly afterMs: number
    }

const SHORTEST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
// A server that asks for more patience than that is asked again sooner.
const LONGEST_RETRY_AFTER_MS = 60_000
const busyStatuses: ReadonlySet<number> = new Set([429, 503])
// What a proxy says when the server behind it does not answer.
const proxyStatuses: ReadonlySet<number> = new Set([502, 503, 504])

/**
 * Requests to a server. Each that changes something carries an operation id, the same whenever it is sent again, so
 * that it is done once. What fails by no fault of its own (no connection, no answer in time, 429, 503) is sent again
 * a bounded number of times, after pauses that grow and differ; what is refused fails with its typed error.
 */
export class HttpCalls {
  readonly #options: CompleteClientOptions
  readonly #turnstile: Turnstile

  constructor(options: CompleteClientOptions) {
    this.#options = options
    this.#turnstile = new Turnstile(options.concurrency)
  }

  /** The answer; fails with the error that the server or the connection had. */
  async send<Answer>(request: CallRequest): Promise<Answer> {
    return await this.sendOr<Answer>(request, (_, error) => {
      throw error
    })
  }

  /** The same, where some problems are answers too. */
  async sendOr<Answer>(
    request: CallRequest,
    answerOf: (problem: Problem | undefined, error: Error) => Answer,
  ): Promise<Answer> {
    const { retries } = this.#options
    const init = this.#initOf(request)
    for (let attempt = 1; ; attempt++) {
      const asked = await this.#inTurn(request, init)
      if (asked.isAnswered) return asked.answer as Answer
      if (!asked.isWorthAgain || attempt > retries) return answerOf(asked.problem, asked.error)
      await this.#pause(Math.max(asked.afterMs, this.#pauseMs(attempt)), request.signal)
    }
  }

  async #inTurn(request: CallRequest, init: RequestInit): Promise<Asked> {
    if (request.waitMs !== undefined) return await this.#ask(request, init)
    await this.#turnstile.enter()
    try {
      return await this.#ask(request, init)
    } finally {
      this.#turnstile.leave()
    }
  }

  async #ask(request: CallRequest, init: RequestInit): Promise<Asked> {
    const { url, clock, timeoutMs, fetch } = this.#options
    this.#checkSignals(request)
    const timeout = new AbortController()
    const alarm = clock.wakeAfter(timeoutMs + (request.waitMs ?? 0), () => timeout.abort())
    const signals = [timeout.signal, ...this.#signals(request)]
    try {
      const response = await fetch(url + pathOf(request), { ...init, signal: AbortSignal.any(signals) })
      return this.#read(response, await response.text())
    } catch (error) {
      this.#checkSignals(request)
      const why = timeout.signal.aborted ? `it did not answer within ${timeoutMs} ms` : causeOf(error)
      return { isAnswered: false, problem: undefined, error: unreachable(url, why, error), ...again }
    } finally {
      alarm.cancel()
    }
  }

  #read(response: Response, text: string): Asked {
    const { status } = response
    const body = parsed(text)
    if (response.ok && body !== undefined) return { isAnswered: true, answer: body }
    const problem = problemIn(body)
    if (problem === undefined) {
      const error = unreachable(this.#options.url, `what answered there is no Carillon server (${status})`)
      return { isAnswered: false, problem, error, isWorthAgain: proxyStatuses.has(status), afterMs: 0 }
    }
    const afterMs = this.#retryAfterMs(response.headers.get('retry-after'))
    const isWorthAgain = busyStatuses.has(status)
    return { isAnswered: false, problem, error: errorOf(problem), isWorthAgain, afterMs }
  }

  #initOf({ method, body, headers }: CallRequest): RequestInit {
    const { apiKey, namespace } = this.#options
    return {
      method,
      // A key must not follow to wherever somebody points.
      redirect: 'error',
      headers: {
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
        ...(namespace !== undefined && { 'carillon-namespace': encodeURIComponent(namespace) }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method !== 'GET' && { 'idempotency-key': newOperationId() }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
  }

  /** Anything up to the doubled pause, so that clients which failed together do not return together. */
  #pauseMs(attempt: number): number {
    const longest = Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** attempt)
    return SHORTEST_PAUSE_MS / 2 + this.#options.random() * longest
  }

  #retryAfterMs(header: string | null): number {
    if (header === null) return 0
    const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - this.#options.clock.now()
    return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : 0
  }

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const signals = this.#signals({ signal })
    // One that was aborted before tells nobody any more.
    if (signals.some(({ aborted }) => aborted)) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        wake.cancel()
        for (const each of signals) each.removeEventListener('abort', end)
        resolve()
      }
      const wake = this.#options.clock.wakeAfter(ms, end)
      for (const each of signals) each.addEventListener('abort', end)
    })
  }

  #signals({ signal }: Pick<CallRequest, 'signal'>): AbortSignal[] {
    return [signal, this.#options.signal].filter((each) => each !== undefined)
  }

  /** Whoever does not want the answer any more hears why, in his own words. */
  #checkSignals(request: CallRequest): void {
    for (const signal of this.#signals(request)) signal.throwIfAborted()
  }
}

const again = { isWorthAgain: true, afterMs: 0 } as const

function pathOf({ path, query = {} }: CallRequest): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  const text = given.toString()
  return text === '' ? path : `${path}?${text}`
}

/** A name for one change, so that it is done once however often it is sent. */
function newOperationId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) =>
    word.toString(16).padStart(8, '0'),
  ).join('')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function unreachable(url: string, why: string, cause?: unknown): StoreError {
  return new StoreError('server-unreachable', `the server at ${url} cannot be reached: ${why}`, { cause })
}

/** What `fetch` says is the same for everything; its cause tells more. */
function causeOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string }
  return cause?.code ?? cause?.message ?? message ?? 'no connection'
}
