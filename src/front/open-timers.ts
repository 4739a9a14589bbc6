import type { GuardOptions } from '../delivery/index.js'
import type { EngineSettings } from '../engine/index.js'
import { checkFunction, checkOptions, InvalidInputError, shown } from '../error/index.js'
import { openStore, type Store, type Strategy } from '../store/index.js'
import { type Clock, type Duration, parseDuration, systemClock } from '../time/index.js'
import { checkNamespace } from '../timer/index.js'
import type { HistoryPolicy } from './history-policy.js'
import { Timers } from './timers.js'
import { logEvent, type Logger, type TimersEvent } from './timers-event.js'

export interface TimersOptions {
  /** Where timers are kept: `'memory:'`, `'file:./folder'`, or a store that is open already. */
  readonly store: string | Store
  /** Timers of different namespaces know nothing of each other. Default `'default'`. */
  readonly namespace?: string
  readonly clock?: Clock
  /** From 0 to 1, as `Math.random`, which is the default. */
  readonly random?: () => number
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
  readonly logger?: Logger
  readonly onEvent?: (event: TimersEvent) => void
}

const known = [
  'store',
  'namespace',
  'clock',
  'random',
  'engine',
  'history',
  'historyRetention',
  'guard',
  'logger',
  'onEvent',
]

/** Opens timers on a store. They can be set at once; they fire after `start()`. */
export async function openTimers(options: TimersOptions): Promise<Timers> {
  checkOptions('openTimers', options, known)
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
    const timers = new Timers({
      store,
      ownsStore,
      // One that nobody else can have open has nobody to share its shards with.
      holdsAll: !store.capabilities.shared || (ownsStore && !store.capabilities.durable),
      clock,
      random,
      namespace,
      settings: options.engine ?? {},
      history,
      historyMs,
      guard: options.guard,
      onEvent: listenerOf(options),
    })
    await timers.open()
    return timers
  } catch (error) {
    if (ownsStore) await store.stop()
    throw error
  }
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
