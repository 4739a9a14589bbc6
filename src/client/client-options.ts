import { checkFunction, checkOptions, checkWhole, InvalidInputError, shown } from '../error/index.js'
import { type Clock, type Duration, parseDuration, systemClock } from '../time/index.js'

export interface ClientOptions {
  /** A key of the server, `ck_…`. It may stand in the URL as its password instead. */
  readonly apiKey?: string
  /** Which timers are meant. Default: those of the key's namespace, else `default`. */
  readonly namespace?: string
  /** How long the server has for an answer, each time it is asked. Default 30 s. */
  readonly timeout?: Duration
  /** How often a call is sent again after it failed by no fault of its own. Default 5. */
  readonly retries?: number
  /** Calls under way at once; others wait their turn. Calls that wait for firings do not count. Default 64. */
  readonly concurrency?: number
  /** Ends everything that is under way. */
  readonly signal?: AbortSignal
  readonly fetch?: typeof fetch
  readonly clock?: Clock
  readonly random?: () => number
}

export interface CompleteClientOptions {
  /** Without a slash at its end, without the key. */
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
}

const known = [
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

/** Checks options and fills in the defaults. The key never stands in a message. */
export function clientOptions(url: string | URL, options: ClientOptions): CompleteClientOptions {
  checkOptions('a client', options, known)
  const { timeout = '30s', retries = 5, concurrency = 64, namespace, signal } = options
  checkWhole('retries', retries, 0, 100)
  checkWhole('concurrency', concurrency, 1, 10_000)
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
    // Browsers want it called on nothing else than where it comes from.
    fetch: (...args) => given(...args),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  }
}

function baseOf(url: string | URL): [base: string, password: string | undefined] {
  const parsed = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new InvalidInputError('invalid-url', 'a server is at a URL such as http://127.0.0.1:7750')
  }
  if (parsed.search !== '' || parsed.hash !== '') {
    throw new InvalidInputError('invalid-url', 'the URL of a server has no ? and no #')
  }
  const password = parsed.password === '' ? undefined : decodeURIComponent(parsed.password)
  return [(parsed.origin + parsed.pathname).replace(/\/+$/, ''), password]
}

/** What cannot go into a header is no key. */
function apiKeyOf(apiKey: unknown): string | undefined {
  if (apiKey === undefined) return undefined
  if (typeof apiKey === 'string' && /^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw new InvalidInputError(
    'invalid-option',
    `apiKey must be a text as the server gave it, got ${typeof apiKey === 'string' ? 'another text' : shown(apiKey)}`,
  )
}
