import { type GuardOptions, leaseMsOf } from '../delivery/index.js'
import type { EngineSettings, Peers } from '../engine/index.js'
import { checkFunction, checkOptions, InvalidInputError, shown } from '../error/index.js'
import { openStore, type Store, type Strategy } from '../store/index.js'
import { type Clock, type Duration, parseDuration, systemClock } from '../time/index.js'
import { checkNamespace } from '../timer/index.js'
import type { HistoryPolicy } from './history-policy.js'
import { RemoteTimers } from './remote/remote-timers.js'
import { Timers } from './timers.js'
import type { Tracing } from './tracing.js'
import { logEvent, type Logger, type TimersEvent } from './timers-event.js'

export interface TimersOptions {
  /** Where timers are kept: `'memory:'`, `'file:./folder'`, a server `'http://…'`, or a store that is open already. */
  readonly store: string | Store
  /** Timers of different namespaces know nothing of each other. Default `'default'`. */
  readonly namespace?: string
  readonly clock?: Clock
  /** From 0 to 1, as `Math.random`, which is the default. */
  readonly random?: () => number
  /**
   * Takes every shard at once, before `start` too: for a store that others could share and that no other instance has
   * open. Default only where nobody can share it.
   */
  readonly alone?: boolean
  /** How the engine behaves; the names and defaults are in docs/engine.md. */
  readonly engine?: Partial<EngineSettings>
  /** What the history keeps, and for how long. Default failures, for 7 days. */
  readonly history?: HistoryPolicy
  readonly historyRetention?: Duration
  /**
   * Keeps webhooks on the public internet, but for what is allowed. Left out, those that targets in the store name are
   * kept there and those that the program itself names are not, unless they say so; `false` keeps none.
   */
  readonly guard?: GuardOptions | false
  /** Of a server: a key of it, `ck_…`, unless it stands in the URL as its password. */
  readonly apiKey?: string
  /** Of a server: how long a firing stays with this process without a word of it. Default 30 s, extended meanwhile. */
  readonly lease?: Duration
  /** A way to the other instances of the store that is quicker than by it; a server brings one. */
  readonly peers?: Peers
  /**
   * Traces timers from `set` to delivery by OpenTelemetry, with whatever SDK the program has set up. Needs the package
   * `@opentelemetry/api`. Default false: nothing of it is loaded.
   */
  readonly tracing?: boolean
  readonly logger?: Logger
  readonly onEvent?: (event: TimersEvent) => void
}

const known = [
  'store',
  'namespace',
  'clock',
  'random',
  'alone',
  'engine',
  'history',
  'historyRetention',
  'guard',
  'apiKey',
  'lease',
  'peers',
  'tracing',
  'logger',
  'onEvent',
]

// What is for a server to say, and what is for its clients.
const ofServer = ['alone', 'engine', 'history', 'historyRetention', 'guard', 'peers', 'tracing'] as const
const ofClient = ['apiKey', 'lease'] as const

/** Where a server is. */
type ServerUrl = `http://${string}` | `https://${string}`

/** Opens timers on a store. They can be set at once; they fire after `start()`. */
export async function openTimers(
  options: TimersOptions & { readonly store: ServerUrl },
): Promise<RemoteTimers>
export async function openTimers(options: TimersOptions): Promise<Timers>
export async function openTimers(options: TimersOptions): Promise<Timers | RemoteTimers> {
  checkOptions('openTimers', options, known)
  const { store } = options
  const isAtServer = typeof store === 'string' && /^https?:/i.test(store)
  checkNotGiven(options, isAtServer ? ofServer : ofClient, isAtServer)
  return isAtServer ? await openRemote(store, options) : await openLocal(options)
}

async function openRemote(url: string, options: TimersOptions): Promise<RemoteTimers> {
  const { namespace = 'default', clock = systemClock, random = Math.random, apiKey, lease = '30s' } = options
  checkNamespace(namespace)
  const timers = new RemoteTimers({
    url,
    options: apiKey === undefined ? {} : { apiKey },
    namespace,
    clock,
    random,
    leaseMs: leaseMsOf('lease', lease),
    onEvent: listenerOf(options),
  })
  await timers.open()
  return timers
}

async function openLocal(options: TimersOptions): Promise<Timers> {
  const { namespace = 'default', clock = systemClock, random = Math.random, history = 'failures' } = options
  checkNamespace(namespace)
  if (!['none', 'failures', 'all'].includes(history)) {
    throw new InvalidInputError(
      'invalid-option',
      `history must be none, failures or all, got ${shown(history)}`,
    )
  }
  if (options.store === undefined) {
    throw new InvalidInputError(
      'invalid-store-url',
      `openTimers needs a store such as 'memory:' or 'file:./timers', got ${shown(options.store)}`,
    )
  }
  const historyMs = parseDuration(options.historyRetention ?? '7d')
  const ownsStore = typeof options.store === 'string'
  const store =
    typeof options.store === 'string'
      ? await openStore(options.store, { clock, ...strategyOf(options.engine) })
      : options.store
  try {
    const tracing = options.tracing === true ? await loadTracing() : undefined
    const timers = new Timers({
      store,
      ownsStore,
      // One that nobody else can have open has nobody to share its shards with.
      holdsAll:
        options.alone === true || !store.capabilities.shared || (ownsStore && !store.capabilities.durable),
      clock,
      random,
      namespace,
      settings: options.engine ?? {},
      history,
      historyMs,
      guard: options.guard,
      peers: options.peers,
      tracing,
      onEvent: listenerOf(options),
    })
    await timers.open()
    return timers
  } catch (error) {
    if (ownsStore) await store.stop()
    throw error
  }
}

async function loadTracing(): Promise<Tracing> {
  return await (await import('./tracing.js')).Tracing.load()
}

/** What the store must be made for; nothing when any will do. */
function strategyOf(engine: TimersOptions['engine']): { readonly strategy?: Strategy } {
  const { strategy } = engine ?? {}
  return strategy === undefined ? {} : { strategy: strategy === 'claim' ? 'claim' : 'owned' }
}

function listenerOf({ logger, onEvent }: TimersOptions): (event: TimersEvent) => void {
  if (onEvent !== undefined) checkFunction('onEvent', onEvent)
  return (event) => {
    if (logger !== undefined) logEvent(logger, event)
    onEvent?.(event)
  }
}

function checkNotGiven(
  options: TimersOptions,
  names: readonly (keyof TimersOptions)[],
  isAtServer: boolean,
): void {
  const name = names.find((each) => options[each] !== undefined)
  if (name === undefined) return
  const why = isAtServer ? 'is for the server to say, not for its clients' : 'is for timers of a server'
  throw new InvalidInputError('invalid-option', `${name} ${why}`)
}
