import { type CallLimit, Semaphore } from '../async/index.js'
import { StoreError } from '../error/index.js'
import type { CompleteClientOptions } from './client-options.js'
import { MAX_PAUSE_MS, MAX_RETRY_AFTER_MS, MIN_PAUSE_MS } from './defaults.js'
import { errorOf, type Problem, problemIn } from './problem-error.js'

export interface CallRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** How long the server may wait for an event. It is added to the timeout. */
  readonly waitMs?: number
}

/** The result of one request: an answer, or an error and whether to retry. */
type RequestResult =
  | { readonly isAnswered: true; readonly answer: unknown }
  | {
      readonly isAnswered: false
      readonly problem: Problem | undefined
      readonly error: Error
      readonly isRetryable: boolean
      readonly afterMs: number
    }

/** What `fetch` gets at each attempt, besides the number of the attempt. */
type CallInit = Omit<RequestInit, 'headers'> & { readonly headers: Readonly<Record<string, string>> }

/** Whether the server may have got the change of a call. */
interface SendState {
  isSent: boolean
  /** How often the request was sent. */
  attempts: number
}

const busyStatuses: ReadonlySet<number> = new Set([429, 503])
// A proxy sends these when the server behind it does not respond.
const proxyStatuses: ReadonlySet<number> = new Set([502, 503, 504])

/**
 * Sends requests to a server. A request that changes something has an operation id, which stays the same in retries, so
 * that the server executes it once. Temporary failures (no connection, timeout, 429, 503) are retried a limited number
 * of times, with growing random pauses. A refusal throws its typed error. Proven by test/client/client.test.ts.
 */
export class HttpCalls {
  readonly #options: CompleteClientOptions
  readonly #semaphore: Semaphore
  readonly #limit: CallLimit | undefined

  constructor(
    options: CompleteClientOptions,
    shared?: { readonly semaphore: Semaphore; readonly limit: CallLimit },
  ) {
    this.#options = options
    this.#semaphore = shared?.semaphore ?? new Semaphore(options.concurrency)
    this.#limit = shared?.limit
  }

  /** The same connection for one call. When the call is over, its requests are aborted, and no more are sent. */
  limitedBy(limit: CallLimit): HttpCalls {
    return new HttpCalls(this.#options, { semaphore: this.#semaphore, limit })
  }

  /** Returns the answer, or throws the error of the server or the connection. */
  async send<Answer>(request: CallRequest): Promise<Answer> {
    return await this.sendOr<Answer>(request, (_, error) => {
      throw error
    })
  }

  /** The same, but `answerOf` may turn a problem into an answer. */
  async sendOr<Answer>(
    request: CallRequest,
    answerOf: (problem: Problem | undefined, error: Error) => Answer,
  ): Promise<Answer> {
    const { retries } = this.#options
    const init = this.#initOf(request)
    const state: SendState = { isSent: false, attempts: 0 }
    for (let attempt = 1; ; attempt++) {
      const result = await this.#inTime(this.#limited(request, init, state), state)
      if (result.isAnswered) return result.answer as Answer
      if (!result.isRetryable || attempt > retries) return answerOf(result.problem, result.error)
      await this.#pause(Math.max(result.afterMs, this.#pauseMs(attempt)), request.signal)
    }
  }

  /** How often a call is retried after a temporary failure. */
  get retries(): number {
    return this.#options.retries
  }

  /** Waits as long as before another attempt at a request. */
  async pauseAfter(attempt: number): Promise<void> {
    await this.#pause(this.#pauseMs(attempt), undefined)
  }

  /** The result of a request; as soon as the call is over, its error. */
  async #inTime(requesting: Promise<RequestResult>, state: SendState): Promise<RequestResult> {
    const limit = this.#limit
    if (limit === undefined) return await requesting
    const result = await limit.orOver(requesting)
    if (result !== undefined) return result
    const error = state.isSent ? limit.unknownOutcome() : limit.notDone()
    return { isAnswered: false, problem: undefined, error, isRetryable: false, afterMs: 0 }
  }

  async #limited(request: CallRequest, init: CallInit, state: SendState): Promise<RequestResult> {
    if (request.waitMs !== undefined) return await this.#request(request, init, state)
    return await this.#semaphore.run(() => this.#request(request, init, state))
  }

  async #request(request: CallRequest, init: CallInit, state: SendState): Promise<RequestResult> {
    const { url, clock, timeoutMs, fetch } = this.#options
    this.#checkSignals(request)
    state.attempts++
    const [wasSent, hadActed] = [state.isSent, this.#limit?.hasActed ?? false]
    if (request.method !== 'GET') {
      state.isSent = true
      this.#limit?.act()
    }
    const timeout = new AbortController()
    const alarm = clock.wakeAfter(timeoutMs + (request.waitMs ?? 0), () => timeout.abort())
    const unwatch = this.#limit?.onOver(() => timeout.abort())
    const signals = [timeout.signal, ...this.#signals(request)]
    try {
      const response = await fetch(url + pathOf(request), {
        ...init,
        ...(request.method !== 'GET' && {
          headers: { ...init.headers, 'carillon-attempt': String(state.attempts) },
        }),
        signal: AbortSignal.any(signals),
      })
      return this.#read(response, await response.text())
    } catch (error) {
      this.#checkSignals(request)
      // Nobody listens there, so the server did not get it.
      if (causeOf(error) === 'ECONNREFUSED') {
        state.isSent = wasSent
        if (this.#limit !== undefined) this.#limit.hasActed = hadActed
      }
      const why = timeout.signal.aborted ? `no response within ${timeoutMs} ms` : causeOf(error)
      return { isAnswered: false, problem: undefined, error: unreachable(url, why, error), ...again }
    } finally {
      alarm.cancel()
      unwatch?.()
    }
  }

  #read(response: Response, text: string): RequestResult {
    const { status } = response
    const body = parsed(text, this.#options.parse)
    if (response.ok && body !== undefined) return { isAnswered: true, answer: body }
    const problem = problemIn(body)
    if (problem === undefined) {
      const error = unreachable(this.#options.url, `the response is not from a Carillon server (${status})`)
      return { isAnswered: false, problem, error, isRetryable: proxyStatuses.has(status), afterMs: 0 }
    }
    const afterMs = this.#retryAfterMs(response.headers.get('retry-after'))
    const isRetryable = busyStatuses.has(status)
    return { isAnswered: false, problem, error: errorOf(problem), isRetryable, afterMs }
  }

  #initOf({ method, body, headers }: CallRequest): CallInit {
    const { apiKey, namespace } = this.#options
    return {
      method,
      // A redirect must not carry the API key to another server.
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

  /** A random pause up to a doubling limit, so that clients which failed together do not retry together. */
  #pauseMs(attempt: number): number {
    const longest = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** attempt)
    return MIN_PAUSE_MS / 2 + this.#options.random() * longest
  }

  #retryAfterMs(header: string | null): number {
    if (header === null) return 0
    const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - this.#options.clock.now()
    return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : 0
  }

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#limit?.isOver === true) return Promise.resolve()
    const signals = this.#signals({ signal })
    // An aborted signal emits no more events.
    if (signals.some(({ aborted }) => aborted)) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        wake.cancel()
        unwatch?.()
        for (const each of signals) each.removeEventListener('abort', end)
        resolve()
      }
      const wake = this.#options.clock.wakeAfter(ms, end)
      const unwatch = this.#limit?.onOver(end)
      for (const each of signals) each.addEventListener('abort', end)
    })
  }

  #signals({ signal }: Pick<CallRequest, 'signal'>): AbortSignal[] {
    return [signal, this.#options.signal].filter((each) => each !== undefined)
  }

  /** Throws the caller's own reason if a signal is aborted. */
  #checkSignals(request: CallRequest): void {
    if (this.#limit?.isOver === true) throw this.#limit.error()
    for (const signal of this.#signals(request)) signal.throwIfAborted()
  }
}

const again = { isRetryable: true, afterMs: 0 } as const

function pathOf({ path, query = {} }: CallRequest): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  const text = given.toString()
  return text === '' ? path : `${path}?${text}`
}

/** Names one change, so that the server executes it once however often it is sent. */
function newOperationId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) =>
    word.toString(16).padStart(8, '0'),
  ).join('')
}

function parsed(text: string, parse: (json: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

function unreachable(url: string, why: string, cause?: unknown): StoreError {
  return new StoreError('server-unreachable', `cannot reach the server at ${url}: ${why}`, { cause })
}

/** The message of `fetch` is always the same, but its cause is specific. */
function causeOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string }
  return cause?.code ?? cause?.message ?? message ?? 'no connection'
}
