import type { LookupAddress, LookupOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { CarillonError, WebhookError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import { Deadlines, type Timed } from './deadlines.js'
import type { Guard } from './guard.js'
import { NameResolver } from './name-resolver.js'

export interface Message {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface HttpAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly contentType: string
  /** Undefined if it is longer than `maxAnswerBytes`. */
  readonly body: string | undefined
}

interface SenderOptions {
  readonly clock: Clock
  readonly origin: string
  readonly path: string
  readonly guard: Guard | undefined
  readonly timeoutMs: number
  /** Connections to one target. */
  readonly connections: number
  /** Requests on one connection that wait for their answers. */
  readonly pipelining: number
  readonly maxAnswerBytes: number
}

/**
 * Sends messages by POST. It limits the time from the first byte sent to the last byte read, and the size of the answer.
 * It follows no redirects and decompresses nothing. Every error is a `WebhookError`.
 */
export class HttpSender {
  readonly #pool: Pool
  readonly #path: string
  readonly #deadlines: Deadlines
  readonly #timeoutMs: number
  readonly #maxAnswerBytes: number

  constructor(options: SenderOptions) {
    this.#path = options.path
    this.#deadlines = new Deadlines(options.clock, options.timeoutMs)
    this.#timeoutMs = options.timeoutMs
    this.#maxAnswerBytes = options.maxAnswerBytes
    this.#pool = new Pool(options.origin, {
      connections: options.connections,
      pipelining: options.pipelining,
      // `Deadlines` limits the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connectorFor(options.guard, options.timeoutMs),
    })
  }

  /** Begins an exchange. It can be aborted until its `answer` resolves. */
  send({ headers, body }: Message): Exchange {
    const exchange = new Exchange(this.#deadlines, this.#timeoutMs, this.#maxAnswerBytes)
    this.#pool.dispatch({ path: this.#path, method: 'POST', headers, body }, exchange)
    return exchange
  }

  /** Sends nothing more, and closes all connections when the exchanges under way have ended. */
  async retire(): Promise<void> {
    await this.#pool.close()
  }

  /** Aborts the exchanges under way, and closes all connections. */
  async stop(): Promise<void> {
    await this.#pool.destroy(new WebhookError('webhook-unreachable', 'the sender was stopped'))
  }
}

/** One request and its answer. It ends once, with an answer or an error. */
export class Exchange implements Dispatcher.DispatchHandler, Timed {
  readonly answer: Promise<HttpAnswer>
  dueAt = 0
  before: Timed | undefined = undefined
  after: Timed | undefined = undefined
  readonly #deadlines: Deadlines
  readonly #timeoutMs: number
  readonly #maxBytes: number
  #resolve!: (answer: HttpAnswer) => void
  #reject!: (error: Error) => void
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #retryAfter: string | undefined
  #contentType = ''
  #bytes = 0
  #chunks: Buffer[] | undefined
  #isOver = false

  constructor(deadlines: Deadlines, timeoutMs: number, maxBytes: number) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#maxBytes = maxBytes
    this.#deadlines = deadlines
    this.#timeoutMs = timeoutMs
    deadlines.begin(this)
  }

  late(): void {
    this.abort(
      new WebhookError('webhook-timeout', `the target took more than ${this.#timeoutMs} ms to answer`),
    )
  }

  abort(reason: Error): void {
    this.#fail(reason)
    this.#controller?.abort(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // It was aborted while it waited for a connection.
    if (this.#isOver)
      controller.abort(new WebhookError('webhook-timeout', 'it was given up before it was sent'))
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status
    this.#retryAfter = only(headers['retry-after'])
    this.#contentType = only(headers['content-type']) ?? ''
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= this.#maxBytes) {
      if (this.#chunks === undefined) this.#chunks = [chunk]
      else this.#chunks.push(chunk)
      return
    }
    this.#answer(undefined)
    controller.abort(
      new WebhookError('webhook-unreadable', `the answer has more than ${this.#maxBytes} bytes`),
    )
  }

  onResponseEnd(): void {
    this.#answer(this.#chunks === undefined ? '' : Buffer.concat(this.#chunks).toString())
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #answer(body: string | undefined): void {
    if (this.#isOver) return
    this.#end()
    this.#resolve({
      status: this.#status,
      retryAfter: this.#retryAfter,
      contentType: this.#contentType,
      body,
    })
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#end()
    this.#reject(error instanceof CarillonError ? error : unreachable(error))
  }

  #end(): void {
    this.#isOver = true
    this.#deadlines.end(this)
  }
}

/** Connects to the address that the guard has checked, and to no other. */
function connectorFor(guard: Guard | undefined, timeoutMs: number): buildConnector.connector {
  if (guard === undefined) {
    const lookup = lookupOf(new NameResolver())
    return buildConnector({ timeout: timeoutMs, allowH2: false, lookup })
  }
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false })
  return (options, callback) => {
    const { hostname, servername = isIP(hostname) === 0 ? hostname : '' } = options
    void guard.addressOf(hostname).then(
      (address) => connect({ ...options, hostname: address, servername }, callback),
      // oxlint-disable-next-line promise/no-callback-in-promise -- undici wants a callback
      (error: unknown) => callback(error as Error, null),
    )
  }
}

/** A lookup for sockets that does not use the thread pool, as the one of Node does. */
function lookupOf(resolver: NameResolver): LookupFunction {
  const find = async (hostname: string, { family = 0 }: LookupOptions): Promise<LookupAddress[]> => {
    const wanted = Number(String(family).slice(-1))
    const addresses = await resolver.addressesOf(hostname)
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    return found.filter((each) => wanted === 0 || each.family === wanted)
  }
  const answer = async (...[hostname, options, callback]: Parameters<LookupFunction>): Promise<void> => {
    const found = await find(hostname, options)
    const [first] = found
    if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '')
    else if (options.all === true) callback(null, found)
    else callback(null, first.address, first.family)
  }
  return (...asked) => void answer(...asked)
}

function only(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** The error, without the address in its message. */
function unreachable(error: Error): WebhookError {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return new WebhookError('webhook-unreachable', `the target could not be reached: ${code}`, { cause: error })
}
