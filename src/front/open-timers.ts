import { type GuardOptions, leaseMsOf, TargetSeal } from '../delivery/index.js'
import type { EngineSettings, Peers } from '../engine/index.js'
import { checkFunction, checkOptions, InvalidInputError, shown, StoreError } from '../error/index.js'
import type { FineClock } from '../parallel/index.js'
import { openStore, type Store, type StoreMode, type StoreUrl } from '../store/index.js'
import { type Clock, type Duration, parseDuration, systemClock } from '../time/index.js'
import { checkNamespace } from '../timer/index.js'
import { Calls } from './call/calls.js'
import { timersDefaults } from './defaults.js'
import { eventLog } from './event/event-log.js'
import type { HistoryPolicy } from './read/history-policy.js'
import { RemoteTimers } from './remote/remote-timers.js'
import { Timers } from './timers.js'
import type { Tracing } from './event/tracing.js'
import type { Logger, TimersEvent } from './event/timers-event.js'

/** The options of `openTimers`. */
export interface TimersOptions {
  /** A store (`'memory:'`, `'file:./folder'`, `'postgres://…'`, `'redis://…'`), a server (`'http://…'`), or an open store. */
  readonly store: string | Store
  /** Namespaces are separate sets of timers. Default `'default'`. */
  readonly namespace?: string
  readonly clock?: Clock
  /**
   * `'fine'`: a thread wakes the engine as soon as a timer is due, not up to a millisecond later as timers of Node do.
   * For `memory:` and `file:`. It needs more processor time. Default `'normal'`.
   */
  readonly precision?: 'normal' | 'fine'
  /** Returns a number from 0 to 1. Default `Math.random`. */
  readonly random?: () => number
  /**
   * Acquires every shard at once, even before `start`: for a store that no other instance has open. Default: true only
   * if the store cannot be shared.
   */
  readonly alone?: boolean
  /** Settings of the engine; docs/engine.md lists them. */
  readonly engine?: Partial<EngineSettings>
  /** What the history keeps. Default `'failures'`. */
  readonly history?: HistoryPolicy
  /** How long the history keeps it. Default 7 days. */
  readonly historyRetention?: Duration
  /**
   * Keeps webhooks on the public internet, with exceptions. Default: guards webhooks of targets in the store, but not
   * those that the program itself names. `false` guards none.
   */
  readonly guard?: GuardOptions | false
  /**
   * Encrypts the targets in the store, with their secrets and headers: 32 bytes in base64 or hexadecimal digits.
   * Several, separated by commas, while one replaces another: the first encrypts. All instances need the same ones.
   * Default: targets are stored as they are.
   */
  readonly secretKey?: string
  /**
   * How long a call may take, up to a day. After that it fails: with 'not-done' if nothing happened, and with
   * 'unknown-outcome' if it may have happened. Default 10 s. Each call accepts a `timeout` of its own.
   */
  readonly callTimeout?: Duration
  /** For a server: its API key, `ck_…`. It may be the password of the URL instead. */
  readonly apiKey?: string
  /** For a server: how long a worker lease lasts. It is extended while a handler runs. Default 30 s. */
  readonly lease?: Duration
  /** A faster way to the other instances than through the store. A server has one. */
  readonly peers?: Peers
  /**
   * Traces timers from `set` to delivery with OpenTelemetry and the SDK that the program set up. Needs the package
   * `@opentelemetry/api`. Default false: the package is not loaded.
   */
  readonly tracing?: boolean
  /**
   * pino, or anything with `info` and `warn`. Default: warnings go to the console, each cause once a minute at most.
   * `false`: nothing is logged.
   */
  readonly logger?: Logger | false
  readonly onEvent?: (event: TimersEvent) => void
}

const optionNames = [
  'store',
  'namespace',
  'clock',
  'precision',
  'random',
  'alone',
  'engine',
  'history',
  'historyRetention',
  'guard',
  'secretKey',
  'callTimeout',
  'apiKey',
  'lease',
  'peers',
  'tracing',
  'logger',
  'onEvent',
]

// Options that only make sense for a store, and only for a server.
const storeOnly = [
  'precision',
  'alone',
  'engine',
  'history',
  'historyRetention',
  'guard',
  'secretKey',
  'peers',
  'tracing',
] as const
const serverOnly = ['apiKey', 'lease'] as const

/** The URL of a server. */
export type ServerUrl = `http://${string}` | `https://${string}`

/**
 * Opens timers on a store or a server. They can be set at once. They fire after `start()`. If the compiler cannot know
 * which of the two the URL names, the result has what both have: `instanceof Timers` tells them apart.
 *
 * @example
 * ```ts
 * const timers = await openTimers({ store: 'file:./timers' })
 * timers.handle(remind, (firing) => console.log(firing.key))
 * await timers.start()
 * await timers.set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * ```
 */
export async function openTimers(
  options: TimersOptions & { readonly store: StoreUrl | Store },
): Promise<Timers>
export async function openTimers(
  options: TimersOptions & { readonly store: ServerUrl },
): Promise<RemoteTimers>
export async function openTimers(options: TimersOptions): Promise<Timers | RemoteTimers>
export async function openTimers(options: TimersOptions): Promise<Timers | RemoteTimers> {
  checkOptions('openTimers', options, optionNames)
  const { store } = options
  const isAtServer = typeof store === 'string' && /^https?:/i.test(store)
  checkAbsent(options, isAtServer ? storeOnly : serverOnly, isAtServer)
  return isAtServer ? await openRemote(store, options) : await openLocal(options)
}

async function openRemote(url: string, options: TimersOptions): Promise<RemoteTimers> {
  const { apiKey, clock = systemClock, random = Math.random } = options
  const { namespace = timersDefaults.namespace, lease = timersDefaults.lease } = options
  checkNamespace(namespace)
  const calls = callsOf(options, clock)
  const timers = new RemoteTimers({
    url,
    options: apiKey === undefined ? {} : { apiKey },
    namespace,
    clock,
    random,
    leaseMs: leaseMsOf('lease', lease),
    onEvent: listenerOf(options, clock),
    calls,
  })
  await inTime(calls, timers.open(), () => {
    return new StoreError('server-unreachable', `the server did not answer within ${calls.timeoutMs} ms`)
  })
  return timers
}

async function openLocal(options: TimersOptions): Promise<Timers> {
  if (!isFine(options)) return await openOnStore(options)
  const clock = await (await import('../parallel/index.js')).FineClock.start()
  try {
    return await openOnStore({ ...options, clock }, clock)
  } catch (error) {
    await clock.stop()
    throw error
  }
}

function isFine({ precision = timersDefaults.precision, clock, store }: TimersOptions): boolean {
  if (precision !== 'normal' && precision !== 'fine')
    throw new InvalidInputError(
      'invalid-option',
      `precision must be 'normal' or 'fine', got ${shown(precision)}`,
    )
  if (precision === 'normal') return false
  if (clock !== undefined)
    throw new InvalidInputError('invalid-option', "precision 'fine' has a clock of its own: leave out clock")
  if (typeof store === 'string' && /^(memory|file):/i.test(store)) return true
  throw new InvalidInputError(
    'invalid-option',
    "precision 'fine' is for stores that use the clock of this machine: memory: and file:",
  )
}

async function openOnStore(options: TimersOptions, fineClock?: FineClock): Promise<Timers> {
  const { clock = systemClock, random = Math.random } = options
  const { namespace = timersDefaults.namespace, history = timersDefaults.history } = options
  checkNamespace(namespace)
  if (!['none', 'failures', 'all'].includes(history)) {
    throw new InvalidInputError(
      'invalid-option',
      `history must be 'none', 'failures' or 'all', got ${shown(history)}`,
    )
  }
  if (options.store === undefined) {
    throw new InvalidInputError(
      'invalid-store-url',
      `openTimers needs a store such as 'memory:' or 'file:./timers', got ${shown(options.store)}`,
    )
  }
  const historyMs = parseDuration(options.historyRetention ?? timersDefaults.historyRetention)
  const seal = options.secretKey === undefined ? undefined : TargetSeal.parse(options.secretKey)
  const calls = callsOf(options, clock)
  const ownsStore = typeof options.store === 'string'
  const store =
    typeof options.store === 'string'
      ? await openStore(options.store, { clock, ...storeModeOf(options.engine) })
      : options.store
  let isLate = false
  try {
    const tracing = options.tracing === true ? await loadTracing() : undefined
    const timers = new Timers({
      store,
      ownsStore,
      // No other instance can have such a store open, so there is nobody to share shards with.
      holdsAll:
        options.alone === true || !store.capabilities.shared || (ownsStore && !store.capabilities.durable),
      clock,
      fineClock,
      random,
      namespace,
      settings: options.engine ?? {},
      history,
      historyMs,
      guard: options.guard,
      seal,
      peers: options.peers,
      tracing,
      onEvent: listenerOf(options, clock),
      calls,
    })
    await inTime(calls, timers.open(), () => {
      isLate = true
      // Its heartbeats end, and the store is stopped, as soon as it answers.
      void timers.stop().catch(() => undefined)
      return new StoreError('store-unavailable', `the store did not answer within ${calls.timeoutMs} ms`)
    })
    return timers
  } catch (error) {
    if (ownsStore && !isLate) await inTime(calls, store.stop(), () => error as Error)
    throw error
  }
}

function callsOf({ callTimeout = timersDefaults.callTimeout }: TimersOptions, clock: Clock): Calls {
  return new Calls(clock, callTimeout)
}

/** Waits for one step of opening, for as long as a call may take. */
async function inTime(calls: Calls, step: Promise<void>, errorOf: () => Error): Promise<void> {
  await calls.run(undefined, async (limit) => {
    await limit.selfEnding(limit.orOver(step))
    if (limit.isOver) throw errorOf()
  })
}

async function loadTracing(): Promise<Tracing> {
  return await (await import('./event/tracing.js')).Tracing.load()
}

/** The mode that the store must have; empty if any will do. */
function storeModeOf(engine: TimersOptions['engine']): { readonly strategy?: StoreMode } {
  const { strategy } = engine ?? {}
  return strategy === undefined ? {} : { strategy: strategy === 'claim' ? 'claim' : 'owned' }
}

function listenerOf({ logger, onEvent }: TimersOptions, clock: Clock): (event: TimersEvent) => void {
  if (onEvent !== undefined) checkFunction('onEvent', onEvent)
  const log = eventLog(logger, clock)
  return (event) => {
    log(event)
    onEvent?.(event)
  }
}

function checkAbsent(
  options: TimersOptions,
  names: readonly (keyof TimersOptions)[],
  isAtServer: boolean,
): void {
  const name = names.find((each) => options[each] !== undefined)
  if (name === undefined) return
  const why = isAtServer ? 'is an option of the server, not of its clients' : 'is only for timers of a server'
  throw new InvalidInputError('invalid-option', `${name} ${why}`)
}
