import { checkFunction, checkOptions, checkInteger, InvalidInputError, shown } from '../error/index.js'
import { type Clock, type Duration, parseDuration, systemClock } from '../time/index.js'
import { CONCURRENCY, RETRIES, TIMEOUT } from './defaults.js'

/** The options of a `Client`. */
export interface ClientOptions {
  /** An API key of the server, `ck_…`. It may be the password of the URL instead. */
  readonly apiKey?: string
  /** The namespace of the timers. Default: that of the API key, or `default`. */
  readonly namespace?: string
  /** How long to wait for each response. Default 30 s. */
  readonly timeout?: Duration
  /** How often a call is retried after a temporary failure. Default 5. */
  readonly retries?: number
  /** The most requests at once; more wait. Requests that wait for firings do not count. Default 64. */
  readonly concurrency?: number
  /** Aborts all calls. */
  readonly signal?: AbortSignal
  readonly fetch?: typeof fetch
  readonly clock?: Clock
  readonly random?: () => number
}

export interface CompleteClientOptions {
  /** Without a trailing slash, and without the API key. */
  readonly url: string
  readonly apiKey: string | undefined
  readonly namespace: string | undefined
  readonly timeoutMs: number
  readonly retries: number
  readonly concurrency: number
  readonly signal: AbortSignal | undefined
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly random: () => number
  /** Reads the JSON of a response. The web page keeps numbers exact that `JSON.parse` would round. */
  readonly parse?: (text: string) => unknown
}

const optionNames = [
  'apiKey',
  'namespace',
  'timeout',
  'retries',
  'concurrency',
  'signal',
  'fetch',
  'clock',
  'random',
]

/** Checks the options and adds the defaults. No error message contains the API key. */
export function clientOptions(url: string | URL, options: ClientOptions): CompleteClientOptions {
  checkOptions('a client', options, optionNames)
  const { timeout = TIMEOUT, retries = RETRIES, concurrency = CONCURRENCY, namespace, signal } = options
  checkInteger('retries', retries, 0, 100)
  checkInteger('concurrency', concurrency, 1, 10_000)
  const given = options.fetch ?? fetch
  checkFunction('fetch', given)
  const [base, password] = baseOf(url)
  return {
    url: base,
    apiKey: apiKeyOf(options.apiKey ?? password),
    namespace,
    timeoutMs: parseDuration(timeout),
    retries,
    concurrency,
    signal,
    // Browsers refuse `fetch` with another `this`.
    fetch: (...args) => given(...args),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  }
}

function baseOf(url: string | URL): [base: string, password: string | undefined] {
  const parsed = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new InvalidInputError(
      'invalid-url',
      'the URL of a server must begin with http:// or https://, for example http://127.0.0.1:7750',
    )
  }
  if (parsed.search !== '' || parsed.hash !== '') {
    throw new InvalidInputError('invalid-url', 'the URL of a server must not contain ? or #')
  }
  const password = parsed.password === '' ? undefined : decodeURIComponent(parsed.password)
  return [(parsed.origin + parsed.pathname).replace(/\/+$/, ''), password]
}

/** Refuses an API key that no HTTP header can contain. */
function apiKeyOf(apiKey: unknown): string | undefined {
  if (apiKey === undefined) return undefined
  if (typeof apiKey === 'string' && /^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw new InvalidInputError(
    'invalid-option',
    `apiKey must be a string of visible ASCII characters, got ${typeof apiKey === 'string' ? 'another string' : shown(apiKey)}`,
  )
}
